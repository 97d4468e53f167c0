#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The programs themselves: `train`, and the agent beside it, which must run on hosts that have nothing
# but sshd.   binary_test.sh path/to/train
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"
agent=$(dirname "$train")/train-agent

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
    expect_equal "what it says of itself" "the agent of $("$train" --version)" "$(env -i "$agent" --version)"
    echo "    it is $(stat -c %s "$agent") bytes large ($(gzip -9c "$agent" | wc -c) gzipped)"
}

agent_is_not_for_people() {
    local status=0
    "$agent" launch >"$work/out" 2>"$work/err" || status=$?
    expect_equal "exit status" 64 "$status"
    grep -q 'train starts this program on hosts' "$work/err" || note_failure "it said '$(cat "$work/err")'"
}

no_path_of_the_build() {
    # Such a path would tell all users where somebody built it, and change its hash from place to place.
    expect_equal "mentions of the source folder" 0 "$(cat "$train" "$agent" | grep -aoF "$root/" | wc -l)"
}

test_case "libc and libm are the only libraries" libraries
test_case "no function of a newer C library than documented is needed" glibc_floor
test_case "it is stripped" stripped "$train" 17000000
test_case "the agent is stripped, and small enough to be sent" stripped "$agent" 3050000
test_case "the agent needs nothing of a host, and is loaded anywhere" agent_needs_nothing
test_case "the agent called by hand says that it is none of that" agent_is_not_for_people
test_case "neither says where it was built" no_path_of_the_build
finish
