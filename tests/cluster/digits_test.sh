#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The digits example, over SSH on four hosts.   digits_test.sh path/to/train
. "$(dirname "$0")/lib.sh"

if ! /usr/bin/python3 -c 'import torch, sklearn' 2>/dev/null; then
    echo "SKIPPED: /usr/bin/python3 has no torch or no sklearn (python3-torch, python3-sklearn)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
fi
use_cluster 4 --slots 1
use_train "${1:-}"
# Every host has the repository at the same path.
mkdir -p "$shared/project"
cp -r "$(dirname "$0")/../../examples" "$shared/project/"

# expect_accuracy RANKS: as many lines with a test accuracy, all the same, at least 0.95.
expect_accuracy() {
    local found
    expect_equal "ranks that print their accuracy" "$1" "$(grep -c 'test accuracy' "$work/out")"
    found=$(sed -n 's/.*test accuracy //p' "$work/out" | sort -u)
    expect_equal "different accuracies ($(xargs <<<"$found"))" 1 "$(wc -l <<<"$found")"
    awk -v found="${found%%$'\n'*}" 'BEGIN { exit !(found >= 0.95) }' ||
        note_failure "the test accuracy is below 0.95: $found"
}

digits_on_four_hosts() {
    launch_in /srv/shared/project examples/digits/experiment.yaml --hostfile /srv/shared/hosts.yaml
    expect_status 0
    expect_out '^\[3\] rank 3 of 4: .* in batches of 16,'
    expect_accuracy 4
    expect_idle 2 "${nodes[@]}"
}

digits_on_one_machine() {
    launch_in /srv/shared/project examples/digits/experiment.yaml
    expect_status 0
    expect_accuracy 4
    expect_idle 2 head
}

digits_with_one_rank() {
    launch_in /srv/shared/project examples/digits/experiment.yaml --set scaling_config.num_workers=1
    expect_status 0
    expect_out 'rank 0 of 1: .* in batches of 64,'
    expect_accuracy 1
}

digits_without_a_file() {
    launch_in /srv/shared/project --hostfile /srv/shared/hosts.yaml -n 4 --batch 64 \
        -- /usr/bin/python3 examples/digits/train.py
    expect_status 0
    expect_accuracy 4
}

accuracies() { sed -n 's/.*test accuracy //p' "$work/out" | sort -u | xargs; }

# learn_unbroken: sets `unbroken`, the accuracies of a run to which nothing happens.
learn_unbroken() {
    launch_in /srv/shared/project examples/digits/experiment.yaml --hostfile /srv/shared/hosts.yaml
    expect_status 0
    unbroken=$(accuracies)
    mkdir -p "$shared/checkpoints"
}
with_checkpoints=(examples/digits/experiment.yaml --hostfile /srv/shared/hosts.yaml
    --set 'checkpoint_storage={type: shared_fs, host_path: /srv/shared, storage_path: checkpoints}')

# A rank is killed in the middle: all go on after the last whole epoch, to where they would have got.
digits_after_a_failure() {
    local unbroken
    learn_unbroken
    start_on_head env --chdir=/srv/shared/project "$train" launch "${with_checkpoints[@]}"
    within 60 "four epochs are over" out_has '^\[0\] epoch 4/12'
    on node03 "pkill -KILL -f '^/usr/bin/python3 examples/digits/train.py'"
    await_launch 120
    expect_status 0
    expect_err "^train: rank 2 on 'node03' was killed by SIGKILL"
    expect_err '^train: restart 1 of 5 '
    expect_out '^\[0\] going on after epoch ([4-9]|1[01])/12'
    expect_equal "epochs that were learned" 12 "$(grep -oE 'epoch [0-9]+/12: ' "$work/out" | sort -u | wc -l)"
    expect_accuracy 4
    expect_equal "test accuracy" "$unbroken" "$(accuracies)"
    expect_idle 2 "${nodes[@]}"
}

# The launcher dies as well, before the failure and after it, and others go on with the task.
digits_after_adoptions() {
    local unbroken id
    learn_unbroken
    start_on_head env --chdir=/srv/shared/project "$train" launch -d "${with_checkpoints[@]}"
    await_launch 60
    expect_status 0
    id=$(cat "$work/out")
    eventually 60 has_logged "$id" '^epoch 2/12' || note_failure "epoch 2 does not come"
    take_over "$id"
    eventually 60 has_logged "$id" '^epoch 4/12' || note_failure "epoch 4 does not come"
    on node03 "pkill -KILL -f '^/usr/bin/python3 examples/digits/train.py'"
    eventually 60 has_logged "$id" '^going on after epoch' || note_failure "it is not started again"
    take_over "$id"
    train_on_head task wait "$id"
    expect_status 0
    expect_equal "attempts" "[0, 1]" "$(on head "$train task show $id --json" |
        python3 -c 'import json, sys; print([a["number"] for a in json.load(sys.stdin)["attempts"]])')"
    on head "$train task logs $id" >"$work/out"
    expect_accuracy 4
    expect_equal "test accuracy" "$unbroken" "$(accuracies)"
    on head "$train task logs $id --rank 0 --attempt all" >"$work/out"
    expect_equal "epochs that were learned" 12 "$(grep -oE 'epoch [0-9]+/12: ' "$work/out" | sort -u | wc -l)"
    expect_idle 5 head "${nodes[@]}"
}
has_logged() { on head "$train task logs $1 --rank 0 | grep -q '$2'"; }
# take_over ID: kills its launcher, has another one made, and leaves the view.
take_over() {
    local id=$1
    kill_supervisor
    start_on_head "$train" task attach "$id"
    within 20 "somebody attends it" err_has "^train: task $1 is attended again"
    signal_launcher INT
    await_launch 5
}

test_case "four hosts train one model" digits_on_four_hosts
test_case "a rank that is killed costs no accuracy: all go on from their checkpoint" digits_after_a_failure
soak_case "launchers that are killed cost none either" digits_after_adoptions
test_case "the same file trains on one machine, with no hosts file" digits_on_one_machine
test_case "one rank with the same global batch reaches the same accuracy" digits_with_one_rank
test_case "four hosts train without a configuration file" digits_without_a_file
finish
