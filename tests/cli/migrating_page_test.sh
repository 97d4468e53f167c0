#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What train-migrating(7) says is so.   migrating_page_test.sh path/to/train
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"
page=$root/man/train-migrating.7
launchers=(torchrun DeepSpeed Determined 'Ray Train' 'Ray Tune' Slurm mpirun)

# section NAME: its lines, as roff.
section() { awk -v wanted=".Ss $1" '/^\.S[hs] / { on = $0 == wanted } on' "$page"; }

# take_blocks SECTION: its experiments are experiment.1 and so on, the first one experiment.yaml as well;
# its commands of train are lines of `commands`, its Python is script.py.
take_blocks() {
    local block
    rm -f block.* experiment.* script.py
    : >commands
    section "$1" | sed -E ':a; /\\e$/{N; s/ *\\e\n */ /; ba}' |
        awk '/^\.Ed/ { on = 0 } on { print >"block." n } /^\.Bd -literal/ { on = 1; n++ }'
    for block in block.*; do
        if grep -qE '^(entrypoint|name):' "$block"; then
            mv "$block" "experiment.${block#block.}"
            [ -e experiment.yaml ] || cp "experiment.${block#block.}" experiment.yaml
        elif grep -q '^train ' "$block"; then
            cat "$block" >>commands
        elif grep -q 'fit()$' "$block"; then
            mv "$block" script.py
        fi
    done
    printf 'node01 slots=8\nnode02 slots=8\n' >hosts
}

# The ranks of a plan: a line for each.
ranks_of() {
    field "'\n'.join(repr([r['rank'], r['host'], r['local_rank'], r['devices']]) for t in d['trials'] for r in t['ranks'])" "$1"
}

# same_job SECTION RANKS: its commands and its first experiment place the same ranks, so many; what the
# command sets of their variables the experiment sets as well.
same_job() {
    local line words=() hosts=(--hostfile hosts) other
    take_blocks "$1"
    if [ "$1" = Slurm ]; then
        environment=(SLURM_JOB_ID=1 'SLURM_JOB_NODELIST=node[01-02]' SLURM_GPUS_PER_NODE=8)
        hosts=()
    fi
    [ -s commands ] || note_failure "no command is shown"
    run plan experiment.yaml "${hosts[@]}" --json
    expect_status 0
    expect_equal "ranks of the experiment" "$2" "$(field "len(d['trials'][0]['ranks'])" "$work/out")"
    cp "$work/out" of_file
    while read -r line; do
        read -ra words <<<"$line"
        run plan --json "${words[@]:2}"
        expect_status 0
        expect_equal "ranks of: $line" "$(ranks_of of_file)" "$(ranks_of "$work/out")"
        other=$(/usr/bin/python3 - "$work/out" of_file <<'END'
import json, sys
command, file = (json.load(open(name))["trials"][0]["ranks"][0]["env"] for name in sys.argv[1:])
print([name for name in command if command[name] != file.get(name)])
END
        )
        expect_equal "variables that differ between the file and: $line" "[]" "$other"
    done <commands
}

experiments_are_legal() {
    local file count=0
    for file in experiment.[0-9]*; do
        count=$((count + 1))
        run config check "$file"
        expect_status 0
        run plan "$file" --hostfile hosts
        expect_status 0
    done
    [ "$count" -gt 0 ] || note_failure "no experiment is shown"
    [ ! -e script.py ] || /usr/bin/python3 -m py_compile script.py || note_failure "this is no Python"
}

page_is_whole() {
    local name
    expect_equal "launchers" "$(printf '%s\n' "${launchers[@]}")" "$(sed -n '/^\.Sh LAUNCHERS/,$s/^\.Ss //p' "$page")"
    for name in "${launchers[@]}"; do
        take_blocks "$name"
        experiments_are_legal
    done
}

# Our words in the tables: the second column.
our_words() { sed -n 's/^\.It .* Ta //p' "$page" | grep -v '^Sy ' | sed 's/\\-/-/g'; }

words_are_there() {
    local word command
    # Options
    for command in launch 'task logs'; do
        # shellcheck disable=SC2086 # two words
        with_environment "$train" $command --help
    done >help
    our_words | grep -oE '(^| )--?[a-zA-Z][a-z-]*' | tr -d ' ' | sort -u | grep -vx -e -m >words
    [ "$(wc -l <words)" -ge 8 ] || note_failure "few options are named"
    while read -r word; do
        grep -qE -- "(^|[ ,])$word([ ,]|$)" help || note_failure "train has no option $word"
    done <words
    # Keys
    our_words | grep -oE '\b[a-z]+(_[a-z]+)+(\.[A-Za-z_]+)?\b' | grep -v '^train_report\.' | sort -u >words
    [ "$(wc -l <words)" -ge 12 ] || note_failure "few keys are named"
    while read -r word; do
        grep -qE "^\.It Ic ([a-z_]+\.)*$word( |$)|\{$word:| $word( |$)" "$root/man/train-config.5" ||
            note_failure "experiments have no key $word"
    done <words
    # Variables
    take_blocks torchrun
    printf '%s\n' 'hyperparameters: {lr: 0.1}' 'checkpoint_storage: {type: shared_fs, host_path: /shared}' >>experiment.yaml
    run plan experiment.yaml --hostfile hosts --json
    our_words | grep -oE '\b(TRAIN_|LOCAL_|GROUP_|WORLD_)[A-Z_]+' | sort -u >words
    [ "$(wc -l <words)" -ge 6 ] || note_failure "few variables are named"
    while read -r word; do grep -q "\"$word\":" "$work/out" || note_failure "a plan has no $word"; done <words
}

mpi_is_refused() {
    run launch -H localhost:1 --set framework=mpi -- touch started
    expect_status 78
    [ ! -e started ] || note_failure "a rank was started"
}

# Debian 12's torchrun (1.13, under Python 3.11) fails where nothing is redirected.
exit_codes_differ() {
    [ -x /usr/bin/torchrun ] || { skip "there is no torchrun"; return; }
    echo 'raise SystemExit(7)' >train.py
    run launch -H localhost:1 -- /usr/bin/python3 train.py
    expect_status 7
    mkdir logs
    with_environment "$env" PET_REDIRECTS=1 PET_TEE=1 TMPDIR=logs /usr/bin/torchrun --standalone train.py >"$work/out" 2>"$work/err"
    status=$?
    expect_status 1
}

test_case "train-migrating(7) has all launchers, and its experiments are legal" page_is_whole
for launcher in "${launchers[@]}"; do
    case $launcher in 'Ray Tune') ranks=1 ;; *) ranks=16 ;; esac
    test_case "the command and the experiment for $launcher are the same job" same_job "$launcher" "$ranks"
done
test_case "the options, keys and variables in its tables are there" words_are_there
test_case "MPI is refused, as it says" mpi_is_refused
test_case "torchrun exits with 1, train with the code of the rank" exit_codes_differ
finish
