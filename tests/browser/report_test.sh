#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `train task report` writes is a page in a browser: Chromium, headless, without network.
#   report_test.sh path/to/train
#
# check_report.html measures each page there, 360 and 1,600 pixels wide, and uses its fields; the
# console of the browser must stay empty. TRAIN_TEST_PICTURES=DIR keeps pages and screenshots there.
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_browser "${1:-}" report_gallery
pages=$(realpath "${TRAIN_TEST_PICTURES:-$work}")
mkdir -p "$pages"

# The page that checks may look into the page that is checked.
limit=180
page_access=(--disable-web-security --allow-file-access-from-files --enable-logging=stderr)

# trouble_of FILE: what the browser finds wrong with a page.
trouble_of() {
    sed "s|PAGE_HERE|file://$1|" "$here/check_report.html" >"$work/check.html"
    chromium "${page_access[@]}" --virtual-time-budget=60000 --window-size=1700,1800 --dump-dom "file://$work/check.html" >"$work/dom"
    told_trouble "$work/dom"
    grep -a ':CONSOLE' "$work/talk" | head -n 5
}

is_fine() { # is_fine NAME
    local trouble
    trouble=$(trouble_of "$pages/$1.html")
    [ "$trouble" = nothing ] || note_failure "${trouble//$'\n'/$'\n'    }"
}

# damaged WHAT SCRIPT REGEX: the check finds what a sed script does to a good page.
damaged() { test_case "$1 is noticed" is_noticed "${@:2}"; }

is_noticed() {
    local trouble
    sed "$1" "$pages/ranks_4.html" >"$work/damaged.html"
    if cmp -s "$pages/ranks_4.html" "$work/damaged.html"; then
        note_failure "nothing was damaged"
        return
    fi
    trouble=$(trouble_of "$work/damaged.html")
    [[ $trouble =~ $2 ]] || note_failure "${trouble//$'\n'/$'\n'    }"
}

# shot NAME SCHEME WIDTH: how many colours a screenshot has, and the colour of a corner.
shot() {
    local scheme=1
    [ "$2" = light ] || scheme=0
    chromium "${page_access[@]}" --blink-settings=preferredColorScheme="$scheme" --window-size="$3,${shot_height:-1600}" \
        --screenshot="$pages/$1-$2-$3.png" "file://$pages/$1.html" >"$work/talk.out"
    /usr/bin/python3 "$here/colors.py" "$pages/$1-$2-$3.png"
}

is_not_blank() { # is_not_blank NAME WIDTH
    local light dark
    light=$(shot "$1" light "$2")
    dark=$(shot "$1" dark "$2")
    [ "${light%% *}" -ge 20 ] || note_failure "light: '$light'"
    [ "${dark%% *}" -ge 20 ] || note_failure "dark: '$dark'"
    expect_equal "the light page" 255,255,255 "${light#* }"
    expect_equal "the dark page" 16,21,28 "${dark#* }"
}

# A task that fails, as the program records it, and its page.
launched() {
    local task
    (
        cd "$work" || exit 1
        export XDG_STATE_HOME=$work/state TRAIN_HOST_DIRECTORY=$work/host
        "$train" launch -H localhost:4 -n 4 --set leases=none -- /bin/sh -c '
            for step in 1 2 3 4 5 6 7 8; do
                echo "step $step of $RANK"
                echo "{\"step\": $step, \"loss\": 0.$step}" >>"$TRAIN_METRICS_FILE"
            done
            printf "\033[31mred\033[0m </script> <b>bold</b>\n" >&2
            test $RANK != 2 || exit 3' >out 2>err
        task=$("$train" task list --all --csv | sed -n 's/^\([a-z2-7]\{8\}\),.*/\1/p') &&
            "$train" task report "$task" -o "$pages/launched.html" 2>err
    ) || {
        note_failure "$(cat "$work/err")"
        return
    }
    is_fine launched
}

written=$("$gallery" "$pages")
for name in bare ranks_4 ranks_512 trials_500; do
    test_case "the page $name is as it should be" is_fine "$name"
done
test_case "all pages of the gallery are looked at" expect_equal pages "$(printf '%s\n' bare ranks_4 ranks_512 trials_500)" "$written"
test_case "the page of a task that has failed is as it should be" launched
damaged "a page that is too wide" 's/max-width: 1440px/min-width: 1700px/' 'pixels wide in 360'
damaged "a changed script" 's/"use strict";/"use strict" ;/' CONSOLE
damaged "a link to nowhere" '0,/href="#logs"/s//href="#logged"/' 'nothing is at #logged'
damaged "a picture without a name" '0,/role="img" aria-label="[^"]*"/s//role="img"/' 'a picture has no name'
damaged "a search that finds nothing" 's/| step 7 of/| stop 7 of/' 'a search finds 0 logs'
for name in ranks_4 ranks_512 trials_500; do
    for width in 500 1600; do test_case "$name is not blank in $width pixels" is_not_blank "$name" "$width"; done
done
finish
