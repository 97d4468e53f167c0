#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Examples that have no script of their own here, each as its first lines say.   examples_test.sh path/to/train
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"
fake=$(dirname "$train")/../tests/fake_nvml

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

# Rank 1 fails after step 25, once rank 0 is in step 15, and that waits there until it is told to stop,
# however long that takes this machine: else it might be through before, or stopped before.
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
rank = os.environ.get("RANK")
there = os.path.join(os.path.dirname(__file__), "there")

def await_other_rank(*arguments):
    calls.append(arguments)
    if (rank, len(calls)) == ("0", 15):
        open(there, "w").close()
        wait_for(os.environ["TRAIN_STOP_FILE"])  # the launcher has seen that rank 1 failed
    if (rank, len(calls)) == ("1", 25):
        wait_for(there)
    return gauss(*arguments)

def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.01)  # waits: for that

if os.environ.get("TRAIN_RESTART_COUNT") == "0" and rank is not None:
    random.gauss = await_other_rank
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

halves_of_gpus() {
    local example=$root/examples/fractional
    run plan "$example/experiment.yaml" --hostfile "$example/hosts.example.yaml"
    expect_status 0
    expect_out '^trials: 4 of 4 at once, as many as fit these hosts'
    run plan "$example/experiment.yaml" --hostfile "$example/hosts.example.yaml" --json --set scaling_config.num_workers=4
    expect_status 0
    expect_schema plan "$work/out"
    expect_equal "devices of the ranks" '[[0], [0], [1], [1]]' \
        "$(field "[r['devices'] for r in d['trials'][0]['ranks']]" "$work/out")"
    expect_equal "what ranks see" "['0', '0', '1', '1']" \
        "$(field "[r['env']['CUDA_VISIBLE_DEVICES'] for r in d['trials'][0]['ranks']]" "$work/out")"
}

trials_on_halves() {
    [ -e "$fake/libnvidia-ml.so.1" ] || { skip "there is no $fake"; return; }
    [ ! -e /proc/driver/nvidia/gpus ] || { skip "this machine has GPUs"; return; }
    environment=("LD_LIBRARY_PATH=$fake" "FAKE_NVML_GPUS=NVIDIA A100-SXM4-80GB:2")
    launch_example fractional
    expect_err ', 4 at once, with 1 rank each of '
    expect_equal "learning rates" "0.003 0.01 0.03 0.1" \
        "$(sed -nE 's/^\[[0-3]\] learning rate (.*) on GPU [01]$/\1/p' "$work/out" | sort -g | paste -sd ' ')"
    expect_equal "trials on each GPU" "2 0,2 1" \
        "$(sed -n 's/.* on GPU //p' "$work/out" | sort | uniq -c | awk '{ print $1, $2 }' | paste -sd ,)"
    expect_err '^train: best: trial 3, '
}

cpp_ranks() {
    local id rank
    { command -v cmake && command -v c++; } >/dev/null || { skip "there is no cmake or no c++"; return; }
    cp -r "$root/examples" .
    { cmake -S examples/cpp_worker -B build/cpp_worker -DCMAKE_CXX_FLAGS=-Werror && cmake --build build/cpp_worker; } \
        >"$work/build" 2>&1 || { note_failure "$(cat "$work/build")"; return; }
    launch_example cpp_worker -H localhost:4
    expect_equal "sums" "[0] rank 0 of 4: 1, and 30 over all
[1] rank 1 of 4: 4, and 30 over all
[2] rank 2 of 4: 9, and 30 over all
[3] rank 3 of 4: 16, and 30 over all" "$(sort "$work/out")"
    id=$(task_id)
    for rank in 0 1 2 3; do
        expect_equal "what rank $rank has reported" '{"sum": 30}' \
            "$(cat "$work/state/train/tasks/$id/logs/metrics-$rank.0.log")"
    done
}

test_case "resume: after a failure ranks go on where they were, to the same result" resumed
test_case "uneven: parts by weight learn what even parts do" uneven_parts
test_case "fractional: a plan puts two ranks on each GPU" halves_of_gpus
test_case "fractional: four trials run on halves of two GPUs" trials_on_halves
test_case "cpp_worker: four ranks of a program without dependencies meet" cpp_ranks
finish
