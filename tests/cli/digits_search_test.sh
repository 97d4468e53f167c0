#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The searches of examples/digits-search, on this machine.   digits_search_test.sh path/to/train
. "$(dirname "$0")/lib.sh"

if ! /usr/bin/python3 -c 'import torch, sklearn' 2>/dev/null; then
    echo "SKIPPED: /usr/bin/python3 has no torch or no sklearn (python3-torch, python3-sklearn)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
fi
use_train "${1:-}"
limit=120 # seconds for each command

# search NAME [ARGUMENT...]: that example, to its end, on two slots of this machine; sets `id`.
search() {
    local name=$1
    shift
    cp -r "$root/examples" .
    run launch "examples/digits-search/$name.yaml" -H localhost:2 "$@"
    expect_status 0
    expect_no_err warning
    id=$(task_id)
}

# learn HYPERPARAMETERS: launches the script alone with these, a file in YAML.
learn() { input=$1 run launch - -- /usr/bin/python3 examples/digits-search/train.py; }

# loss_of EPOCH: what was printed of it.
loss_of() { sed -nE "s|^\[0\] epoch $1/[0-9]+: loss ([0-9.]+),.*|\1|p" "$work/out"; }

# lowest_loss: of all epochs that were printed.
lowest_loss() { loss_of '[0-9]+' | sort -n | head -n 1; }

# best NAME FILE: a value of what `task best` printed.
best() { sed -n "s/^$1: //p" "$2"; }

better_than_fixed() {
    local step loss fixed
    search asha --set searcher.max_trials=4 --set searcher.max_time=16 --set hyperparameters.epochs=16
    expect_err '^train: 4 trials: [1-4] succeeded'
    run task best "$id"
    expect_status 0
    step=$(best step "$work/out") loss=$(best validation_loss "$work/out")
    with_environment "$train" task best "$id" --hyperparameters >best.yaml || note_failure "it has no best trial"
    learn best.yaml
    expect_status 0
    expect_equal "loss of the best trial after epoch $step, alone" "$(printf %.4f "$loss")" "$(loss_of "$step")"
    # The settings of examples/digits, which get as many epochs, and more than the 12 there.
    echo 'hyperparameters: {global_batch_size: 64, epochs: 16}' >fixed.yaml
    learn fixed.yaml
    expect_status 0
    expect_out '^\[0\] epoch 16/16: '
    fixed=$(lowest_loss)
    awk -v found="$loss" -v fixed="$fixed" 'BEGIN { exit !(found > 0 && found < fixed) }' ||
        note_failure "the search has found a loss of $loss, and the fixed settings have $fixed"
}

grid_is_searched() {
    search tune --set num_samples=1 --set param_space.epochs=2
    expect_err '^train: 4 trials: 4 succeeded$'
    expect_equal "points of the grid" 4 "$(sed -nE 's/^train: trial [0-9]+ on .*(global_batch_size [0-9]+, hidden [0-9]+),.*/\1/p' \
        "$work/err" | sort -u | wc -l)"
    run task best "$id"
    expect_out '^validation_accuracy: [01][.]'
    expect_out '^  epochs: 2$'
}

# The first is told to stop when it has come as far as the search wants, the second, which does worse,
# before that; by themselves they would go on.
two_ranks_leave_together() {
    local trial
    search distributed --set searcher.max_trials=2 --set searcher.max_time=16 --set hyperparameters.epochs=100000
    expect_err "^train: task $id: a search of 2 trials .* with 2 ranks each "
    expect_out '^\[0/0\] epoch 16/100000: '
    expect_err '^train: trial 0: succeeded, '
    expect_err '^train: trial 1: stopped, '
    expect_err '^train: 2 trials: 1 succeeded, 1 stopped$'
    for trial in 0 1; do
        expect_equal "ranks of trial $trial that stop, and the epochs after which they do" "2 1" \
            "$(sed -nE "s|^\[$trial/[01]\] rank [01]: stops after epoch ([0-9]+)$|\1|p" "$work/out" |
                sort | uniq -c | awk '{ ranks += $1 } END { print ranks + 0, NR }')"
    done
}

test_case "a search finds a better setting than the fixed one, and it can be repeated alone" better_than_fixed
test_case "a grid in Ray Tune's words is searched" grid_is_searched
test_case "trials of two ranks are compared, and both leave when it is stopped" two_ranks_leave_together
finish
