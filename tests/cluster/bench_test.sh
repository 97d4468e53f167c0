#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# NCCL on the GPUs of hosts, as `train check --bench` measures it, with stand-ins for NVIDIA's driver, for
# CUDA and for NCCL.   bench_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the hosts are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 4 --gpus 'NVIDIA A100-SXM4-80GB:2'
use_train "${1:-}"
built=$(dirname "$1")/../tests
hosts='node01:2,node02:2,node03:2'

# The libraries that the kernel's driver goes with, on each host; node04 has none of NCCL. A GPU moves a
# gigabyte in a second: what is measured does not depend on this machine.
install_libraries() {
    local host
    cp "$built/fake_nvml/libnvidia-ml.so.1" "$built/fake_cuda_driver/libcuda.so.1" "$built/fake_nccl_ranks/libnccl.so.2" "$shared/" || exit 1
    for host in "${nodes[@]}"; do
        on "$host" 'mkdir -p /srv/lib'
        [ "$host" = node04 ] || on "$host" 'cp /srv/shared/libnccl.so.2 /srv/lib/'
        # This machine may have an NCCL in a folder of CUDA.
        on "$host" 'cp /srv/shared/libnvidia-ml.so.1 /srv/shared/libcuda.so.1 /srv/lib/ &&
            printf "%s\n" /srv/lib "include /etc/ld.so.conf.d/x86_64*.conf" >/etc/ld.so.conf && ldconfig && mkdir -p /etc/fake_nvml /etc/fake_cuda &&
            echo "NVIDIA A100-SXM4-80GB:2" >/etc/fake_nvml/FAKE_NVML_GPUS &&
            nvidia-smi --query-gpu=uuid --format=csv,noheader | paste -sd, >/etc/fake_nvml/FAKE_NVML_UUIDS
            echo /srv/shared >/etc/fake_cuda/FAKE_NCCL_FOLDER
            echo 1000000000 >/etc/fake_cuda/FAKE_NCCL_PACE'
    done
}

# pretend HOST VARIABLE VALUE: the libraries there say it from now on; nothing: as usual.
pretend() { on "$1" "if [ -n '${3:-}' ]; then echo '${3:-}' >/etc/fake_cuda/$2; else rm -f /etc/fake_cuda/$2; fi"; }

field() { /usr/bin/python3 -c 'import json, sys; d = json.load(open(sys.argv[2])); print(eval(sys.argv[1]))' "$1" "$work/out"; }
check() { run_on_head "$train" check -H "$hosts" --bench "$@"; }
expect_said() { expect_equal "what is said" "$1" "$(grep -c '^node[^ ]*: ' "$work/out")"; }

healthy() {
    check
    expect_status 0
    expect_said 0
    expect_out '^3 links: '
    expect_out '^NCCL 2\.28\.9 over 6 GPUs of 3 hosts by Socket: [0-9.]+ [GM]B/s bus bandwidth at [0-9]+ [KM]iB, [0-9.]+ [mu]s at 8 B$'
    expect_out '^inside a host: [0-9.]+ [GM]B/s \(slowest node0[1-3]: [0-9.]+ [GM]B/s\)$'
    expect_out '^between two hosts: [0-9.]+ [GM]B/s \(slowest node0[12] - node0[23]: [0-9.]+ [GM]B/s\)$'
    expect_out '^copies to a GPU: [0-9.]+ GB/s \(slowest node0[1-3] GPU [01]: [0-9.]+ GB/s\), from it: '
    check --json
    expect_status 0
    expect_schema check "$work/out"
    expect_equal "groups" "[['node01'], ['node02'], ['node03'], ['node01', 'node02'], ['node01', 'node02', 'node03'], ['node01', 'node03'], ['node02', 'node03']]" \
        "$(field "sorted(g['hosts'] for g in d['nccl'] if len(g['hosts']) == 1) + sorted(g['hosts'] for g in d['nccl'] if len(g['hosts']) > 1)")"
    expect_equal "GPUs" "[2, 4, 6]" "$(field "sorted({g['gpus'] for g in d['nccl']})")"
    expect_equal "sums that are wrong" 0 "$(field "sum(r['wrong_sums'] for g in d['nccl'] for r in g['ranks'])")"
    expect_idle 2 "${nodes[@]}"
}

wrong_sums() {
    local hosts=node01:2,node02:2
    pretend node02 FAKE_NCCL_WRONG 1
    check
    expect_status 1
    expect_out '^node02: unfit: NCCL adds wrong numbers on its GPU 1: [0-9]+ of [0-9]+ sums$'
    expect_out "^  'nvidia-smi -q -d ECC,ROW_REMAPPER' shows errors of its memory"
    expect_said 1
    pretend node02 FAKE_NCCL_WRONG
}

# A twentieth of what the others have.
slow_host() {
    pretend node03 FAKE_NCCL_PACE 50000000
    check
    expect_status 1
    expect_out "^node03: unfit: NCCL's all-reduce inside it carries [0-9.]+ MB/s, where most hosts have "
    expect_out "^node03: unfit: NCCL's all-reduce with others carries [0-9.]+ MB/s, where most hosts have "
    expect_said 2
    pretend node03 FAKE_NCCL_PACE 1000000000
}

slow_copies() {
    pretend node01 FAKE_CUDA_SLOW 1
    check
    expect_status 1
    expect_out '^node01: unfit: copies to its GPU 1 run at [0-9.]+ MB/s, where most have '
    expect_out '^node01: unfit: copies from its GPU 1 run at [0-9.]+ MB/s, where most have '
    expect_said 2
    pretend node01 FAKE_CUDA_SLOW
}

# The others measure without it, also where it ends or says what is wrong while they wait for it.
failing_host() {
    pretend node02 FAKE_NCCL_FAIL ncclCommInitRank=2
    check
    expect_status 1
    expect_out "^node02: unfit: NCCL's all-reduce fails on its GPU 0: cannot join the other ranks: unhandled system error"
    expect_out '^NCCL 2\.28\.9 over 4 GPUs of 2 hosts by Socket: '
    expect_said 1
    pretend node02 FAKE_NCCL_FAIL
    pretend node02 FAKE_CUDA_FAIL cuMemAlloc_v2=2
    check --json
    expect_status 1
    expect_schema check "$work/out"
    expect_equal "errors" "[('node02', 0, 'cannot allocate memory of the GPU: unknown error'), ('node02', 1, 'cannot allocate memory of the GPU: unknown error')]" \
        "$(field "[(e['host'], e['gpu'], e['error']) for g in d['nccl'] for e in g['errors']]")"
    pretend node02 FAKE_CUDA_FAIL
}

no_library() {
    run_on_head "$train" check -H 'node01:2,node04:2' --bench
    expect_status 1
    expect_out "^node04: unfit: NCCL's all-reduce fails on its GPU 0: cannot load a library: libnccl\.so\.2: "
    expect_said 1
}

# Other tasks keep what they hold.
held_slots() {
    local id
    rm -f "$shared/go"
    id=$(on head "$train" launch -d -H 'node02:2' -n 1 -- /bin/sh -c 'while [ ! -e /srv/shared/go ]; do sleep 0.05; done' 2>"$work/err") ||
        note_failure "it does not start: $(cat "$work/err")"
    check
    expect_status 2
    expect_out '^node\[01-03\]: unknown: NCCL was not measured: '
    touch "$shared/go"
    on head "$train" task wait "$id" >"$work/wait" 2>&1 || note_failure "it fails: $(cat "$work/wait")"
}

no_gpu() {
    run_on_head "$train" check -H localhost:1 --bench
    expect_status 0
    expect_err '^train: no slot of a host that is fit is a GPU of NVIDIA: NCCL was not measured$'
}

by_hand() {
    run_on_head "$train" measure-allreduce
    expect_status 64
    expect_err '^train: measure-allreduce runs as the ranks of a task$'
    expect_err "^  'train check --bench' starts it$"
}

install_libraries
test_case "NCCL is measured inside hosts, between two and over all" healthy
test_case "a GPU that adds wrong is named" wrong_sums
test_case "a host whose NCCL is slow is named" slow_host
test_case "a GPU whose copies are slow is named" slow_copies
test_case "a host where NCCL fails is named, and the others are measured" failing_host
test_case "a host without NCCL is named" no_library
test_case "where a GPU is held nothing is measured, and that is said" held_slots
test_case "hosts without GPUs are told of" no_gpu
test_case "nobody calls it by hand" by_hand
finish
