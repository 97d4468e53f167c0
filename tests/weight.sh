#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How large the product is: sources, lines, and lines that are not empty or a comment, by layer; then the folders
# with the most sources.   weight.sh [ROOT]
set -eu
cd "${1:-$(dirname "$0")/..}"

sources() { find "$@" \( -name '*.cpp' -o -name '*.hpp' \) -print0; }
row() { # NAME FOLDER...
    local name=$1
    shift
    printf '%-14s %8d %8d %8d\n' "$name" "$(sources "$@" | tr -dc '\0' | wc -c)" \
        "$(sources "$@" | xargs -0 cat | wc -l)" "$(sources "$@" | xargs -0 cat | grep -cvE '^[[:space:]]*(//.*)?$')"
}

layers=(cli backends launcher config_schema)
printf '%-14s %8s %8s %8s\n' LAYER SOURCES LINES CODE
for layer in "${layers[@]}"; do row "$layer" "$layer"; done
row all "${layers[@]}"
row tests tests
echo
find "${layers[@]}" -name '*.[ch]pp' -printf '%h\n' | sort | uniq -c | sort -rn | awk 'NR <= 5 { print $2 ": " $1 " sources" }'
