#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# examples/nccl_allreduce under train, without GPUs: as it is, and with stand-ins for CUDA and NCCL.
#   nccl_allreduce_test.sh path/to/train
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

build=$(dirname "$train")/..
program=$build/examples/nccl_allreduce/nccl_allreduce
on_fakes=$build/tests/examples/nccl_allreduce/nccl_allreduce_on_fakes
fake_nccl=$build/tests/examples/nccl_allreduce/libfake_nccl.so

if [ ! -x "$program" ]; then
    echo "SKIPPED: examples/nccl_allreduce was not built: there is no nvcc or no nccl.h"
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
fi

# launch_fakes RANKS [NAME=VALUE...] [--flag...]: with that many ranks on GPUs that are not there.
launch_fakes() {
    local ranks=$1 variables=()
    shift
    while [[ ${1:-} == *=* && $1 != -* ]]; do variables+=("$1"); shift; done
    run launch -H "localhost:$ranks" -- "$env" "FAKE_NCCL_FOLDER=$PWD" "${variables[@]}" \
        "$on_fakes" --nccl "$fake_nccl" --max 64K --iterations 3 "$@"
}

# What rank 0 has printed, as it did.
table() { sed -n 's/^\[0\] //p' "$work/out"; }

# rows: the sizes of the table, and how many of their elements are wrong.
rows() { table | awk '!/^#/ { print $1, $6 }'; }
expect_rows() { expect_equal "sizes and wrong elements" "$1" "$(rows | paste -sd ,)"; }

no_driver() {
    run launch -n 2 -- "$program"
    expect_status 69
    expect_err 'nccl_allreduce: rank [01] on .*: no GPU was given to this rank \(CUDA_VISIBLE_DEVICES is empty\): run it on a host with GPUs'
    expect_no_out .
}

hidden_gpus() {
    ! ldconfig -p | grep -q 'libcuda\.so\.1' || { skip "there is a driver"; return; }
    run launch -H localhost:2 -- "$env" CUDA_VISIBLE_DEVICES=0 "$program"
    expect_status 69
    expect_err 'rank [01] on .*: there is no NVIDIA driver on this host, and this program needs one for CUDA [0-9.]+: see what .nvidia-smi. says'
}

wrong_flags() {
    run launch -n 2 -- "$program" --factor 9
    expect_status 64
    expect_err '--factor is .9., and must be a number from 2 to 8; see --help'
}

no_nccl() {
    run launch -n 1 -- "$on_fakes" --nccl "$PWD/nothing.so"
    expect_status 69
    expect_err "cannot load NCCL: $PWD/nothing.so: .*; install it, or name the file with --nccl"
}

measured() {
    launch_fakes 4 --factor 8
    expect_status 0
    expect_rows '8 0,64 0,512 0,4096 0,32768 0'
    expect_equal "first line" '# NCCL 2.28.9, 4 ranks, fake GPU 0 on rank 0; sums of floats, out of place' "$(table | head -n 1)"
    expect_equal "bus bandwidth is 1.5 times the other" '' "$(table | awk '!/^#/ && ($5 < $4 * 1.5 - 0.02 || $5 > $4 * 1.5 + 0.02)')"
    [[ $(table | tail -n 1) =~ ^'# bus bandwidth: average '[0-9.]+' GB/s, maximal '[0-9.]+' GB/s at '[0-9]+' bytes'$ ]] ||
        note_failure "the last line is: $(table | tail -n 1)"
}

reported() {
    launch_fakes 2 --factor 8
    expect_status 0
    grep -q '"step": 5, "bytes": 32768, "time_us": [0-9.]*, "algbw": [0-9.]*, "busbw": ' "$(dirname "$(log_of 0)")/metrics-0.0.log" ||
        note_failure "the fifth size is not reported"
}

alone() {
    launch_fakes 1 --min 1K
    expect_status 0
    expect_rows '1024 0,2048 0,4096 0,8192 0,16384 0,32768 0,65536 0'
    expect_equal "bus bandwidths" '0.00' "$(table | awk '!/^#/ { print $5 }' | sort -u)"
    [[ $(table | tail -n 1) =~ ^'# bus bandwidth: 0 by definition, as one rank sends nothing; algbw: maximal '[0-9.]+' GB/s' ]] ||
        note_failure "the last line is: $(table | tail -n 1)"
}

little_memory() {
    launch_fakes 2 FAKE_GPU_MEMORY=20000 --factor 2 --min 1K
    expect_status 0
    expect_rows '1024 0,2048 0,4096 0,8192 0'
    expect_out '^\[0\] # larger sizes are left out: the GPUs lack the memory for them$'
    launch_fakes 2 FAKE_GPU_MEMORY=20000 --min 16K
    expect_status 69
    expect_err 'the GPUs have memory for 9000 bytes only: choose a smaller --min'
}

wrong_sum() {
    launch_fakes 1 FAKE_NCCL_FAULT=wrong FAKE_NCCL_RANK=0 --factor 8
    expect_status 1
    expect_err 'wrong sums in an all-reduce of 4096 bytes: 1; the GPUs, their links or NCCL cannot be trusted'
    expect_rows '8 0,64 0,512 0,4096 1'
}

lost_peer() {
    launch_fakes 2 FAKE_NCCL_FAULT=lost FAKE_NCCL_RANK=1
    expect_status 1
    expect_err "rank 1 on .*: cannot finish an all-reduce: NCCL says 'remote error'; see what the other ranks say first"
}

# A peer that has gone for good, and of which neither NCCL nor the launcher says anything.
silent_peer() {
    launch_fakes 2 FAKE_NCCL_FAULT=dies FAKE_NCCL_RANK=1 --timeout "$(paced 3)"
    expect_status 1
    expect_err 'rank 0 on .*: .*all-reduces? of 4096 bytes has taken more than its time: a rank or its GPU hangs or was lost'
}

missing_gpu() {
    launch_fakes 2 FAKE_GPUS=1
    expect_status 69
    expect_err 'rank 1 on .*: LOCAL_RANK is 1, and the GPUs are 1 visible.*: start no more ranks than GPUs on a host'
}

missing_rank() {
    environment=(RANK=0 WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 "MASTER_PORT=$(free_port)" "FAKE_NCCL_FOLDER=$PWD")
    # waits: for ranks that never come, however slow the machine
    with_environment "$on_fakes" --nccl "$fake_nccl" --timeout 1 >"$work/out" 2>"$work/err"
    expect_equal "exit status" 1 $?
    expect_err 'rank 0 on .*: not all ranks have come to rank 0 at 127\.0\.0\.1:[0-9]+ within 1\.0 s; missing: 1-2 \(2 of 3\)'
}

free_port() {
    /usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

test_case "without a GPU all ends with one sentence and what to do" no_driver
test_case "without a driver all ends with one sentence and what to do" hidden_gpus
test_case "flags that make no sense are named" wrong_flags
test_case "an NCCL that is not there is named" no_nccl
test_case "four ranks measure, check and print every size" measured
test_case "every size is reported to train" reported
test_case "one rank measures, and says what its bus bandwidth is" alone
test_case "sizes for which there is no memory are left out" little_memory
test_case "a wrong sum is told and ends the launch" wrong_sum
test_case "a peer that NCCL has lost ends the launch" lost_peer
test_case "a peer that is gone without a word ends the launch" silent_peer
test_case "more ranks than GPUs are named" missing_gpu
test_case "ranks that never come are named" missing_rank
finish
