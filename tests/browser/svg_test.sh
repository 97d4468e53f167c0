#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What --svg writes, of plans and of searches, is a picture in a browser: Chromium, headless, without network.
#   svg_test.sh path/to/train
#
# check.html measures each picture there; a screenshot of it in light and dark must not be blank.
# TRAIN_TEST_PICTURES=DIR keeps the pictures and screenshots there.
. "$(dirname "$0")/lib.sh"
use_browser "${1:-}" browser_gallery
pictures=${TRAIN_TEST_PICTURES:-$work}
mkdir -p "$pictures"

# trouble_of NAME PARTS: what the browser finds wrong with a picture, inline in a page.
trouble_of() {
    sed -e "s/PARTS_EXPECTED/$2/" -e "/PICTURE_HERE/{r $pictures/$1.svg
d}" "$here/check.html" >"$work/$1.html"
    chromium --dump-dom "file://$work/$1.html" >"$work/$1.dom"
    told_trouble "$work/$1.dom"
}

in_page() { test_case "$1 is drawn as it should be" is_drawn "$@"; }

is_drawn() { # is_drawn NAME PARTS: of so many slots or trials.
    local trouble
    trouble=$(trouble_of "$1" "$2")
    [ "$trouble" = nothing ] || note_failure "${trouble//$'\n'/$'\n'    }"
}

# damaged WHAT SCRIPT REGEX [NAME PARTS]: the check finds what a sed script does to a good picture.
damaged() { test_case "$1 is noticed" is_noticed "${@:2}"; }

is_noticed() {
    local trouble name=${3:-held_slots}
    sed "$1" "$pictures/$name.svg" >"$pictures/damaged.svg"
    if cmp -s "$pictures/$name.svg" "$pictures/damaged.svg"; then
        note_failure "nothing was damaged"
        return
    fi
    trouble=$(trouble_of damaged "${4:-28}")
    [[ $trouble =~ $2 ]] || note_failure "${trouble//$'\n'/$'\n'    }"
}

# shot NAME SCHEME: how many colours a screenshot has, and the colour of a corner.
shot() {
    local scheme=1 height
    [ "$2" = light ] || scheme=0
    height=$(sed -n 's/.*viewBox="0 0 960 \([0-9]*\)".*/\1/p' "$pictures/$1.svg")
    chromium --blink-settings=preferredColorScheme="$scheme" --window-size="960,$height" \
        --screenshot="$pictures/$1-$2.png" "file://$(realpath "$pictures/$1.svg")" >"$work/talk.out"
    /usr/bin/python3 "$here/colors.py" "$pictures/$1-$2.png"
}

is_not_blank() { # is_not_blank NAME
    local light dark
    light=$(shot "$1" light)
    dark=$(shot "$1" dark)
    [ "${light%% *}" -ge 5 ] || note_failure "light: '$light'"
    [ "${dark%% *}" -ge 5 ] || note_failure "dark: '$dark'"
    expect_equal "the light page" 255,255,255 "${light#* }"
    expect_equal "the dark page" 16,21,28 "${dark#* }"
}

# plan NAME SLOTS ARGUMENT...: a picture of the program, checked; SLOTS are those of its rows.
plan() {
    local name=$1 slots=$2
    shift 2
    if ! (cd "$work" && env -i PATH="$PATH" HOME="$work" "$train" plan "$@" \
        --svg "$(realpath "$pictures")/$name.svg" -- true >"$work/out" 2>"$work/err"); then
        test_case "$name is planned" note_failure "$(cat "$work/err")"
        return
    fi
    in_page "$name" "$slots"
}

# A search of 24 trials as it is launched, and its picture.
search() {
    local task
    cat >"$work/search.yaml" <<'YAML'
entrypoint: ["/bin/sh", "-c", "for step in 1 2 3; do echo \"{\\\"loss\\\": 0.$TRAIN_TRIAL_SEED, \\\"batches\\\": $step}\"; done >>$TRAIN_METRICS_FILE"]
hyperparameters: {lr: {type: log, base: 10, minval: -4, maxval: -1}}
searcher: {name: random, metric: loss, max_trials: 24, max_concurrent_trials: 4}
resources: {slots_per_trial: 1}
leases: none
YAML
    (
        cd "$work" || exit 1
        export XDG_STATE_HOME=$work/state TRAIN_HOST_DIRECTORY=$work/host
        task=$("$train" launch -d -H localhost:4 search.yaml 2>err) &&
            "$train" task wait "$task" 2>err &&
            "$train" task show "$task" --svg "$(realpath "$pictures")/launched_search.svg" >out 2>err
    ) || {
        test_case "a search is drawn" note_failure "$(cat "$work/err")"
        return
    }
    in_page launched_search 24
}

cat >"$work/hosts.yaml" <<'YAML'
hosts:
  - {name: "big[1-2]", resources: {GPU: 8, CPU: 96}, accelerator_type: H100}
  - name: a-very-long-host-name-of-some-cloud-provider-eu-west-1-zone-b-instance-000017
    resources: {GPU: 4}
  - {name: small, resources: {GPU: 2}}
  - {name: cpu1, resources: {CPU: 192}}
YAML
name='{name: "実験 🚀 <b>&amp; a name that goes on and on until no title of any picture could ever hold all of it</b>"}'
echo "$name" >"$work/named.yaml"
pack=(--set resources.placement=pack)
fraction=(--set scaling_config.use_gpu=true --set scaling_config.resources_per_worker.GPU=0.5)

plan one 1 -H n1:1 -n 1
plan two_hosts 8 -H 'node[01-02]:4' -n 8 --batch 101
plan sixteen_hosts 132 -H 'node[01-16]:8,gpu-b:4' -n 128 --batch 1024
plan ten_thousand_hosts 8 -H 'n[00001-10000]:8' -n 80000 --batch 1000000
plan half_gpus 22 --hostfile hosts.yaml "${pack[@]}" "${fraction[@]}" \
    --set scaling_config.num_workers=7 --exclude 'big1:3,5@small'
plan two_gpus_each 22 --hostfile hosts.yaml "${pack[@]}" -n 20 --set resources.resources_per_worker.GPU=2
plan many_cpus 206 --hostfile hosts.yaml --set scaling_config.num_workers=3 \
    --set scaling_config.resources_per_worker.CPU=40
plan cpu_ranks 192 -H c1:192 -n 192
plan whole_hosts 16 -H 'n[1-2]:8' -n 16 --set processes=per_host
plan long_ranks 48 -H 'a[1-2000]:8,b1:32,c[1-2000]:8' -n 32032 "${pack[@]}"
plan strange_name 2 named.yaml -H n1:2 -n 2
while read -r name; do
    case $name in
        held_slots) in_page "$name" 28 ;;
        many_holders) in_page "$name" 96 ;;
        many_slots) in_page "$name" 65000 ;;
        search_of_*) in_page "$name" "${name#search_of_}" ;;
        strange_search) in_page "$name" 3 ;;
        *) test_case "$name is drawn" note_failure "how many slots it has is not said here" ;;
    esac
done < <("$gallery" "$pictures")
damaged "a moved cell" '0,/"cell used" x="288"/s//"cell used" x="330"/' 'cells overlap'
damaged "a cell too few" '0,/.*"cell free".*/s///' 'cells stand for 27 slots'
damaged "a long label" 's/>3</>1234567890123</' 'leaves its cell'
damaged "a long title" 's/class="title" x="24"/class="title" x="600"/' 'leaves the picture'
damaged "a short page" 's/viewBox="0 0 960 [0-9]*"/viewBox="0 0 960 200"/' 'leaves the picture'
damaged "a colour used twice" 's/var(--held/var(--used/g' 'held looks like'
damaged "a missing key" 's/"key excluded"\|"key free"/"key"/' 'the legend lacks free'
damaged "a line that leaves the plot" '0,/<path class="line" d="M/s//&2000 20L/' 'leaves the plot' search_of_24 24
damaged "a trial too few" '0,/data-trials="1"/s//data-trials="0"/' 'lines stand for 23 trials' search_of_24 24
damaged "two ticks at one place" 's/\(class="small tick-x" x\)="[0-9]*"/\1="400"/' 'ticks overlap' search_of_24 24
damaged "a name on the plot" 's/class="small axis" x="24" y="[0-9]*"/class="small axis" x="200" y="200"/' 'lies on the plot' search_of_24 24
damaged "one colour for all lines" 's/stroke: var(--[a-z]*)/stroke: red/g' 'looks like' search_of_24 24
damaged "a kind without a key" 's/"key stopped"/"key"/' 'the legend lacks stopped' search_of_24 24
search
for name in two_hosts held_slots half_gpus ten_thousand_hosts search_of_1 search_of_24 search_of_1000 \
    launched_search; do test_case "$name is not blank, light and dark" is_not_blank "$name"; done
finish
