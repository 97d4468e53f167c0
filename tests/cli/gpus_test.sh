#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# GPUs of this machine, as the stand-in for NVIDIA's library shows them.   gpus_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

fake=$(dirname "$train")/../tests/fake_nvml

# with_gpus GPUS [NAME=VALUE...]: the machine has these, such as "NVIDIA A100-SXM4-80GB:4".
with_gpus() { environment=("LD_LIBRARY_PATH=$fake" "FAKE_NVML_GPUS=$1" "${@:2}"); }

has_fake() { [ -e "$fake/libnvidia-ml.so.1" ] || { skip "there is no $fake"; return 1; }; }

devices_of() { field "[r['devices'] for r in d['trials'][0]['ranks']]" "$work/out"; }
visible_of() { field "sorted(set(r['env']['CUDA_VISIBLE_DEVICES'] for r in d['trials'][0]['ranks']))" "$work/out"; }

write_experiment() {
    printf '%s\n' 'name: gpus' \
        'entrypoint: ["/bin/sh", "-c", "echo $RANK sees $CUDA_VISIBLE_DEVICES at $TRAIN_DEVICE_INDICES"]' \
        "slots_per_trial: $1" 'scaling_config: {use_gpu: true}' >experiment.yaml
}

four_gpus() {
    has_fake || return
    with_gpus 'NVIDIA A100-SXM4-80GB:4'
    write_experiment 4
    run plan experiment.yaml --json
    expect_status 0
    expect_schema plan "$work/out"
    expect_equal "devices" '[[0], [1], [2], [3]]' "$(devices_of)"
    expect_equal "CUDA_VISIBLE_DEVICES" "['0,1,2,3']" "$(visible_of)"
    run launch experiment.yaml
    expect_status 0
    expect_equal "what the ranks see" "$(for i in 0 1 2 3; do echo "[$i] $i sees 0,1,2,3 at $i"; done)" "$(sort "$work/out")"
    write_experiment 5
    run plan experiment.yaml
    expect_status 69
    expect_err '5 GPUs asked, localhost has 4'
    expect_err 'nearest count that fits: 4'
}

visible_ones_only() {
    has_fake || return
    with_gpus 'NVIDIA A100-SXM4-80GB:4' CUDA_VISIBLE_DEVICES=2,3
    write_experiment 2
    run plan experiment.yaml --json
    expect_status 0
    expect_equal "devices" '[[2], [3]]' "$(devices_of)"
    expect_equal "CUDA_VISIBLE_DEVICES" "['2,3']" "$(visible_of)"
    run launch experiment.yaml
    expect_status 0
    expect_out '^\[1\] 1 sees 2,3 at 1$'
    write_experiment 3
    run plan experiment.yaml
    expect_status 69
    expect_err '3 GPUs asked, localhost has 2'
}

chosen_slots() {
    has_fake || return
    with_gpus 'NVIDIA A100-SXM4-80GB:4'
    write_experiment 2
    run plan experiment.yaml --json --include localhost:1,3
    expect_equal "devices" '[[1], [3]]' "$(devices_of)"
    run launch experiment.yaml --exclude localhost:0-1
    expect_status 0
    expect_equal "what the ranks see" "$(for i in 0 1; do echo "[$i] $i sees 2,3 at $i"; done)" "$(sort "$work/out")"
    run plan experiment.yaml --include localhost:4
    expect_status 78
    expect_err "'localhost' has no slot 4"
    with_gpus 'NVIDIA A100-SXM4-80GB:4' CUDA_VISIBLE_DEVICES=3,0,1
    run plan experiment.yaml --json --exclude localhost:1
    expect_equal "devices of visible ones" '[[3], [1]]' "$(devices_of)"
}

gpus_of_a_job() {
    has_fake || return
    with_gpus 'NVIDIA A100-SXM4-80GB:4' CUDA_VISIBLE_DEVICES=2,3 "SLURM_JOB_NODELIST=$(hostname)" \
        SLURM_GPUS_ON_NODE=2 SLURM_TASKS_PER_NODE=1 SLURM_JOB_CPUS_PER_NODE=8
    write_experiment 2
    run plan experiment.yaml --json
    expect_status 0
    expect_equal "devices" '[[2], [3]]' "$(devices_of)"
    write_experiment 3
    run plan experiment.yaml
    expect_status 69
    expect_err '3 GPUs asked, .* has 2'
}

none_visible() {
    has_fake || return
    with_gpus 'NVIDIA A100-SXM4-80GB:4' CUDA_VISIBLE_DEVICES=
    write_experiment 1
    run plan experiment.yaml
    expect_status 69
    run launch -n 1 -- /bin/sh -c 'echo "sees <$CUDA_VISIBLE_DEVICES>"'
    expect_status 0
    expect_out '^\[0\] sees <>$'
}

wanted_type() {
    has_fake || return
    with_gpus 'NVIDIA A100-SXM4-80GB:2'
    write_experiment 2
    sed -i 's/use_gpu: true/use_gpu: true, accelerator_type: H100/' experiment.yaml
    run plan experiment.yaml
    expect_status 69
    expect_err 'H100'
    expect_err 'A100'
    sed -i 's/H100/A100/' experiment.yaml
    run plan experiment.yaml
    expect_status 0
}

tell='echo "sees <$CUDA_VISIBLE_DEVICES> at <${TRAIN_DEVICE_INDICES-nothing}> by $TRAIN_BACKEND"'

slots_are_gpus_or_places() {
    has_fake || return
    with_gpus 'NVIDIA A100-SXM4-80GB:4'
    run launch -H localhost:2 -n 2 -- /bin/sh -c "$tell"
    expect_status 0
    expect_out '^\[1\] sees <0,1> at <1> by nccl$'
    run launch -H localhost:8 -n 1 -- /bin/sh -c "$tell"
    expect_status 69
    expect_err "'localhost' says 8 slots and has 4 GPUs"
    expect_err "'slots: 4' takes them alone, 'slot_type: cpu' in a hosts file"
    echo 'localhost slots=8 slot_type=cpu' >places
    run launch --hostfile places -n 2 -- /bin/sh -c "$tell"
    expect_status 0
    expect_out '^\[1\] sees <> at <nothing> by gloo$'
    echo 'localhost slots=8 slot_type=cuda' >gpus
    run launch --hostfile gpus -n 8 -- touch started
    expect_status 76
    expect_err "host 'localhost': declares 8 GPUs, and has "
    [ ! -e started ] || note_failure "a worker was started"
}

declared_ones_are_not_there() {
    has_fake || return
    [ ! -e /proc/driver/nvidia/gpus ] || { skip "this machine has GPUs"; return; }
    environment=()
    echo 'hosts: [{name: localhost, resources: {GPU: 2}}]' >hosts.yaml
    run plan --hostfile hosts.yaml -n 2 -- true
    expect_status 0
    run launch --hostfile hosts.yaml -n 2 -- touch started
    expect_status 76
    expect_err "host 'localhost': declares 2 GPUs, and has no GPU"
    [ ! -e started ] || note_failure "a worker was started"
}

# launch_detached: a task that has half a GPU until `go` is there; sets `id`.
launch_detached() {
    id=$(with_environment "$train" launch -d experiment.yaml 2>"$work/err") ||
        note_failure "it does not start: $(cat "$work/err")"
}

# Each has half of it, however it numbers its ranks.
half_a_gpu_each() {
    local first each
    has_fake || return
    with_gpus 'NVIDIA A100-SXM4-80GB:1'
    printf '%s\n' 'name: half' 'entrypoint: ["/bin/sh", "-c", "while [ ! -e go ]; do sleep 0.05; done"]' \
        'num_workers: 1' 'resources_per_worker: {GPU: 0.5}' >experiment.yaml
    launch_detached
    first=$id
    launch_detached
    run launch experiment.yaml --set entrypoint='["touch", "started"]'
    expect_status 75
    [ ! -e started ] || note_failure "a third one was started"
    for each in "$first" "$id"; do
        expect_err "^  task $each \('half'\) of .* holds 0\\.5 slots of localhost, for [0-9]+ s$"
    done
    with_environment "$train" task kill "$first" 2>/dev/null
    run launch experiment.yaml --set entrypoint='["touch", "started"]'
    expect_status 0
    [ -e started ] || note_failure "the half that is free is not had"
    touch go
    with_environment "$train" task wait "$id" 2>"$work/err" || note_failure "it fails: $(cat "$work/err")"
}

broken_driver() {
    has_fake || return
    with_gpus 'NVIDIA A100-SXM4-80GB:2' FAKE_NVML_FAIL=nvmlInit_v2=18
    write_experiment 2
    run plan experiment.yaml
    expect_err 'Driver/library version mismatch'
    [ "$status" -ne 0 ] || note_failure "the driver is broken and nobody cares"
}

test_case "a plan counts this machine's GPUs, and the ranks see them" four_gpus
test_case "an inherited CUDA_VISIBLE_DEVICES is kept to" visible_ones_only
test_case "--include and --exclude choose GPUs among the visible ones" chosen_slots
test_case "the GPUs of a scheduler's job are those that it made visible" gpus_of_a_job
test_case "an empty CUDA_VISIBLE_DEVICES hides all GPUs" none_visible
test_case "another type of accelerator is refused" wanted_type
test_case "slots of this machine are GPUs if it has as many, and places if they are said to be" slots_are_gpus_or_places
test_case "declared GPUs that are not there start nothing" declared_ones_are_not_there
test_case "two tasks have half a GPU each, and a third one is told so" half_a_gpu_each
test_case "a broken driver is told" broken_driver
finish
