#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Scripts (files with a shell's first line, and *.sh) are such that shellcheck has nothing to say.
set -u
cd "$(dirname "$0")/../.." || exit 1

command -v shellcheck >/dev/null || {
    echo "SKIPPED: there is no shellcheck"
    exit 77
}
mapfile -t scripts < <(
    {
        grep -rlIE --exclude='*.md' '^#!/bin/(ba)?sh' .ci cli config_schema examples launcher tests
        find examples tests -name '*.sh'
    } | sort -u
)
[ ${#scripts[@]} -gt 0 ] || {
    echo "no script was found"
    exit 1
}
shellcheck "${scripts[@]}"
