#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What one rank of a host does for all of them.   once_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

# ran FILE: how often a command has run that appends a line there.
ran() { wc -l <"$1"; }

one_rank_runs_it() {
    run launch -H localhost:4 -n 4 -- /bin/sh -c '
        train once-per-host -- /bin/sh -c "sleep 0.3; echo $TRAIN_TASK_ID >>'"$work"'/ran; echo done >'"$work"'/there" || exit
        cat '"$work"'/there
        train once-per-host -- /bin/sh -c "sleep 0.3; echo $TRAIN_TASK_ID >>'"$work"'/ran; echo done >'"$work"'/there" || exit
        train once-per-host -- /bin/sh -c "echo other >>'"$work"'/other"'
    expect_status 0
    expect_equal "ranks that found it done" 4 "$(grep -c 'done$' "$work/out")"
    expect_equal "runs" 1 "$(ran "$work/ran")"
    expect_equal "runs of another command" 1 "$(ran "$work/other")"
}

all_have_its_code() {
    run launch -H localhost:3 -n 3 -- /bin/sh -c 'train once-per-host -- /bin/sh -c "echo x >>'"$work"'/failed; exit 7"; echo "code $?"'
    expect_status 0
    expect_equal "codes" 3 "$(grep -c 'code 7$' "$work/out")"
    expect_equal "runs" 1 "$(ran "$work/failed")"
    run launch -H localhost:2 -n 2 -- /bin/sh -c 'train once-per-host -- /bin/sh -c "kill -TERM \$\$"; echo "code $?"'
    expect_equal "codes of a command that was killed" 2 "$(grep -c 'code 143$' "$work/out")"
    run launch -H localhost:2 -n 2 -- /bin/sh -c 'train once-per-host -- no-such-program; echo "code $?"'
    expect_err "cannot execute 'no-such-program': no such file"
    expect_equal "codes of none" 2 "$(grep -c 'code 72$' "$work/out")"
    run launch -H localhost:1 -n 1 -- /bin/sh -c 'train once-per-host --name a -- train once-per-host --name a -- true; echo "code $?"'
    expect_err 'it is called by the command that it runs'
    expect_out 'code 64$'
}

# The first waits for a second one to come before it is killed.
its_rank_is_killed() {
    run launch -H localhost:2 -n 2 -- /bin/sh -c '
        [ "$RANK" = 0 ] || while [ ! -e '"$work"'/begun ]; do sleep 0.02; done
        train once-per-host --name load -- /bin/sh -c "touch '"$work"'/begun; kill -KILL \$PPID"; echo "code $?"'
    expect_status 0
    expect_out '^\[0\] code 137$'
    expect_out '^\[1\] code 76$'
    expect_err "rank 0 was killed while it ran '/bin/sh' for all ranks of this host"
}

names_and_attempts() {
    run launch -H localhost:2 -n 2 -- /bin/sh -c 'train once-per-host --name data -- /bin/sh -c "echo $RANK >>'"$work"'/named"'
    expect_status 0
    expect_equal "runs by name" 1 "$(ran "$work/named")"
    run launch -H localhost:2 -n 2 --set max_restarts=1 --set restart_delay=0 -- /bin/sh -c '
        train once-per-host -- /bin/sh -c "echo x >>'"$work"'/attempts"; exit $((1 - TRAIN_RESTART_COUNT))'
    expect_status 0
    expect_equal "runs in two attempts" 2 "$(ran "$work/attempts")"
}

outside_of_a_task() {
    run once-per-host -- /bin/sh -c 'echo here; exit 3'
    expect_status 3
    expect_out '^here$'
    run once-per-host
    expect_status 64
    expect_err 'no command'
    run once-per-host --name 'a/b' -- true
    expect_status 64
    expect_err "'a/b' is no name"
}

inference() { # inference RANKS: every sample once, whatever the number of ranks
    run launch -H "localhost:$1" -n "$1" -- /usr/bin/python3 "$root/examples/inference/infer.py" --samples 1797 --output "$work/answers"
    expect_status 0
    expect_equal "samples, and different ones" "1797 1797" \
        "$(wc -l <"$work/answers/all.csv") $(cut -d, -f1 "$work/answers/all.csv" | sort -un | wc -l)"
    expect_equal "loads of the data" 1 "$(grep -c 'data loaded' "$work/out")"
    rm -r "$work/answers"
}

inference_example() {
    /usr/bin/python3 -c 'import torch, sklearn' 2>/dev/null || { skip "/usr/bin/python3 has no torch or no sklearn"; return; }
    inference 1
    inference 4
}

test_case "one rank of a host runs a command, the others wait for it" one_rank_runs_it
test_case "all ranks see how it ended" all_have_its_code
test_case "a rank that is killed while it runs the command fails the others" its_rank_is_killed
test_case "a command is known by its name, and is run again in another attempt" names_and_attempts
test_case "outside of a task a command is run, and what is none is refused" outside_of_a_task
test_case "inference over shards by rank answers every sample once" inference_example
finish
