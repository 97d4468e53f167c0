#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The program itself, which must run on hosts that have nothing but sshd.   binary_test.sh path/to/train
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

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

stripped() {
    expect_equal "symbols that are left" "" "$(objdump -h "$train" | grep -Eo '\.(symtab|debug_[a-z]+)')"
    [ "$(stat -c %s "$train")" -lt 12000000 ] || note_failure "it is $(stat -c %s "$train") bytes large"
}

no_path_of_the_build() {
    # Such a path would tell all users where somebody built it, and change its hash from place to place.
    expect_equal "mentions of the source folder" 0 "$(grep -aoF "$root/" "$train" | wc -l)"
}

test_case "libc and libm are the only libraries" libraries
test_case "no function of a newer C library than documented is needed" glibc_floor
test_case "it is stripped, and small enough to be sent" stripped
test_case "it does not say where it was built" no_path_of_the_build
finish
