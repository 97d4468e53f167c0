#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the programs contain of others is named by `train --licenses`.   licenses_test.sh path/to/train
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

# Files of this section of the text: a line of = and a name begin it.
section() { awk -v name="$1" '/^=+$/ { on = 0; begins = 1; next } begins { on = ($0 ~ "^" name); begins = 0 } on' "$work/out"; }

is_one_text() {
    run --licenses
    expect_status 0
    cat "$root/cli/licenses.txt" "$root/LICENSE" >text
    expect_same "what is printed" text "$work/out"
    [ ! -s "$work/err" ] || note_failure "stderr has: $(cat "$work/err")"
}

# What CMake links as an archive, and what the static agent has of the compiler and the C library.
archives_are_named() {
    local name count=0
    run --licenses
    for name in $(sed -n 's/^train_find_archive([A-Z0-9_]* \(.*\))$/\1/p' "$root/CMakeLists.txt") stdc++ gcc gcc_eh c m; do
        count=$((count + 1))
        grep -qE "[ ]lib${name//+/\\+}\.a\b" "$work/out" || note_failure "lib$name.a is not named"
    done
    [ "$count" -ge 12 ] || note_failure "only $count archives were found"
}

# is_named PACKAGE HEADER: its folder of headers, or an archive of the package, stands in the text.
is_named() {
    grep -qF "Compiled in: ${2%%/*}/" "$work/out" && return
    dpkg -L "$1" | sed -n 's|.*/\(lib[^/]*\.a\)$|\1|p' | grep -qFf - "$work/out"
}

# Headers that sources include, and that no package of the C library or the kernel has.
headers_are_named() {
    local header package
    run --licenses
    grep -rhoE '^#include <[^>]+>' --include='*.[ch]pp' "$root"/{config_schema,launcher,backends,cli} |
        sed 's/#include <//; s/>//' | sort -u |
        while read -r header; do printf '%s\n' "/usr/include/$header" "/usr/include/$(gcc -print-multiarch)/$header"; done |
        xargs dpkg -S 2>/dev/null | sed -E 's/^([^:]*):.* \/usr\/include\//\1 /' | grep -vE '^(libc6-dev|linux-libc-dev) ' >headers
    [ "$(wc -l <headers)" -ge 20 ] || note_failure "few such headers were found"
    while read -r package header; do
        is_named "$package" "$header" || note_failure "$package, which has $header, is not named"
    done <headers
}

# Each license that is named has its text, but for the exceptions that want none.
texts_are_there() {
    local name
    run --licenses
    sed -n 's/^[^ :][^:]*: \([A-Z][A-Za-z0-9.-]*\)[,.] .*/\1/p' "$root/cli/licenses.txt" |
        sed 's/-or-later$//' | sort -u | grep -vx CC0-1.0 >names
    [ "$(wc -l <names)" -ge 6 ] || note_failure "few licenses were found"
    while read -r name; do
        [ "$(section "$name" | wc -l)" -gt 8 ] || note_failure "the text of $name is not there"
    done <names
    grep -q 'TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION' <(section Apache-2.0) || note_failure "Apache-2.0 is not whole"
}

test_case "--licenses prints one text, with the project's own license" is_one_text
test_case "it names each library that is linked into a program" archives_are_named
test_case "it names each library whose headers are compiled in" headers_are_named
test_case "it has the text of each license" texts_are_there
finish
