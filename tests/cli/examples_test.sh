#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Examples that have no script of their own here, each as its first lines say.   examples_test.sh path/to/train
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

# launch_example NAME ARGUMENT...: to its end, in a copy of the examples.
launch_example() {
    local name=$1
    shift
    [ -e examples ] || cp -r "$root/examples" .
    run launch "examples/$name/experiment.yaml" "$@"
    expect_status 0
}

# sorted REGEX: the lines of stdout that match.
sorted() { grep -E "$1" "$work/out" | sort; }

launch_resume() { launch_example resume -H localhost:2 --set checkpoint_storage.host_path="$PWD/shared" "$@"; }

# Rank 1 fails after step 25. Rank 0 is let wait in step 15 until it is told to stop, however long
# that takes this machine: else it might be through before.
resumed() {
    local unbroken
    mkdir shared first_attempt
    launch_resume
    unbroken=$(sorted slope)
    expect_equal "ranks that end" 2 "$(grep -cE '^\[[01]\] slope [23]\.[0-9]+ after 100 steps$' <<<"$unbroken")"
    expect_no_out 'goes on|stops'
    cat >first_attempt/sitecustomize.py <<'END'
import os, random, time

gauss, calls = random.gauss, []

def wait_in_step_15(*arguments):
    calls.append(arguments)
    while len(calls) == 15 and not os.path.exists(os.environ["TRAIN_STOP_FILE"]):
        time.sleep(0.01)  # waits: for the launcher, which has seen that rank 1 failed
    return gauss(*arguments)

if os.environ.get("RANK") == os.environ.get("TRAIN_RESTART_COUNT") == "0":
    random.gauss = wait_in_step_15
END
    environment=("PYTHONPATH=$PWD/first_attempt")
    launch_resume --set hyperparameters.fail_at=25 --set restart_delay=0.1s
    expect_err '^\[1\] fails at step 25$'
    expect_err '^train: restart 1 of 3 '
    expect_equal "where ranks left and began" "[0] goes on after step 15
[0] stops after step 15
[1] goes on after step 20" "$(sorted 'goes on|stops')"
    expect_equal "results of the ranks" "$unbroken" "$(sorted slope)"
}

loss() { sed -n 's/^\[0\] loss \([0-9.]*\) after 20 steps$/\1/p' "$work/out"; }
batches() { sed -nE 's/^\[([0-9])\] ([0-9]+) of 64 samples, from sample ([0-9]+) on$/\1: \2 from \3/p' "$work/out" | sort; }

uneven_parts() {
    local weighted
    /usr/bin/python3 -c 'import torch' 2>/dev/null || { skip "/usr/bin/python3 has no torch (python3-torch)"; return; }
    sed 's/name: fast/name: localhost/; s/name: slow/name: 127.0.0.1/' "$root/examples/uneven/hosts.example.yaml" >hosts.yaml
    launch_example uneven --hostfile hosts.yaml
    expect_equal "batches by weight" "0: 28 from 0
1: 27 from 28
2: 9 from 55" "$(batches)"
    weighted=$(loss)
    [[ $weighted =~ ^0\.0[0-9]+$ ]] || note_failure "the loss is '$weighted'"
    launch_example uneven -H localhost:2 -n 2 --set resources.batch_split=even
    expect_equal "even batches" "0: 32 from 0
1: 32 from 32" "$(batches)"
    expect_equal "loss with even batches" "$weighted" "$(loss)"
    launch_example uneven -H localhost:1 -n 1
    expect_equal "loss of one rank" "$weighted" "$(loss)"
}

test_case "resume: after a failure ranks go on where they were, to the same result" resumed
test_case "uneven: parts by weight learn what even parts do" uneven_parts
finish
