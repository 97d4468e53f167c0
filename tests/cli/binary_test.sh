#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The programs themselves: `train`, and beside it the agent, which must run on hosts that have nothing
# but sshd, and train-devices, which must start wherever a driver of NVIDIA is.   binary_test.sh path/to/train
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"
agent=$(dirname "$train")/train-agent
devices=$(dirname "$train")/train-devices

newest_glibc=2.34 # Debian 12, Ubuntu 22.04, RHEL 9

libraries() {
    expect_equal "libraries" "libc.so.6 libm.so.6" \
        "$(objdump -p "$train" | awk '$1 == "NEEDED" { print $2 }' | sort | grep -v '^ld-linux' | xargs)"
    expect_equal "what ldd adds" "" \
        "$(ldd "$train" | awk '{ print $1 }' | grep -Ev '^(linux-vdso\.so\.1|libc\.so\.6|libm\.so\.6|/lib.*/ld-linux.*)$')"
}

glibc_floor() {
    local floor
    floor=$(objdump -T "$train" | grep -o 'GLIBC_[0-9.]*' | sort -u -V | tail -n 1)
    expect_equal "the newer of GLIBC_$newest_glibc and what is needed" "GLIBC_$newest_glibc" \
        "$(printf '%s\n' "GLIBC_$newest_glibc" "$floor" | sort -V | tail -n 1)"
    expect_equal "other versioned libraries" "" "$(objdump -T "$train" | grep -oE '\((GLIBCXX|CXXABI|GCC|OPENSSL)_[^)]*' | sort -u)"
    echo "    it needs $floor, and is $(stat -c %s "$train") bytes large ($(gzip -c "$train" | wc -c) gzipped)"
}

# stripped FILE MOST
stripped() {
    expect_equal "symbols that are left" "" "$(objdump -h "$1" | grep -Eo '\.(symtab|debug_[a-z]+)')"
    [ "$(stat -c %s "$1")" -lt "$2" ] || note_failure "it is $(stat -c %s "$1") bytes large"
}

agent_needs_nothing() {
    expect_equal "what it is linked against" "" \
        "$(objdump -p "$agent" | grep -E 'NEEDED|INTERP'; readelf -l "$agent" | grep -i interpreter)"
    expect_equal "where it may be loaded" "DYN" "$(readelf -h "$agent" | awk '$1 == "Type:" { print $2 }')"
    expect_equal "what it says of itself" "the agent of $("$train" --version | head -n 1)" "$(env -i "$agent" --version)"
    echo "    it is $(stat -c %s "$agent") bytes large ($(gzip -9c "$agent" | wc -c) gzipped)"
}

agent_is_not_for_people() {
    local status=0
    "$agent" launch >"$work/out" 2>"$work/err" || status=$?
    expect_equal "exit status" 64 "$status"
    grep -q 'train starts this program on hosts' "$work/err" || note_failure "it said '$(cat "$work/err")'"
}

devices_need_an_old_c_library() {
    expect_equal "libraries" "libc.so.6 libdl.so.2" \
        "$(objdump -p "$devices" | awk '$1 == "NEEDED" { print $2 }' | sort | grep -v '^ld-linux' | xargs)"
    expect_equal "the newer of GLIBC_2.17 and what is needed" "GLIBC_2.17" \
        "$({ echo GLIBC_2.17; objdump -T "$devices" | grep -o '(\?GLIBC_[0-9.]*' | tr -d '('; } | sort -V | tail -n 1)"
    expect_equal "other versions that are needed" "" \
        "$(objdump -p "$devices" | sed -n '/^Version References/,$p' | grep -E '0x[0-9a-f]+ ' | grep -v 'GLIBC_[0-9.]*$')"
}

devices_answer() {
    LD_LIBRARY_PATH=$(dirname "$train")/../tests/fake_nvml FAKE_NVML_GPUS="NVIDIA H200" "$devices" >"$work/out" ||
        note_failure "it ended with $?"
    expect_equal "the GPU's name" '"name":"NVIDIA H200"' "$(grep -o '"name":"[^"]*"' "$work/out")"
    expect_equal "its lines" 1 "$(wc -l <"$work/out")"
}

carries_devices() {
    python3 - "$agent" "$devices" <<'PYTHON' || note_failure "it does not"
import sys
agent, devices = (open(name, "rb").read() for name in sys.argv[1:])
sys.exit(devices not in agent)
PYTHON
}

no_path_of_the_build() {
    # Such a path would tell all users where somebody built it, and change its hash from place to place.
    expect_equal "mentions of the source folder" 0 "$(cat "$train" "$agent" "$devices" | grep -aoF "$root/" | wc -l)"
}

test_case "libc and libm are the only libraries" libraries
test_case "no function of a newer C library than documented is needed" glibc_floor
test_case "it is stripped" stripped "$train" 17250000
test_case "the agent is stripped, and small enough to be sent" stripped "$agent" 3165000
test_case "the agent needs nothing of a host, and is loaded anywhere" agent_needs_nothing
test_case "the agent called by hand says that it is none of that" agent_is_not_for_people
test_case "train-devices is stripped, and small" stripped "$devices" 40001
test_case "train-devices needs libc and libdl of glibc 2.17" devices_need_an_old_c_library
test_case "train-devices says in one line what the driver's library says" devices_answer
test_case "the agent carries train-devices" carries_devices
test_case "none says where it was built" no_path_of_the_build
finish
