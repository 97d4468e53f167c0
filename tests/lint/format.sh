#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every C++ and CUDA source is as clang-format 14 (Debian 12's) leaves it; other versions differ in details.
set -u
cd "$(dirname "$0")/../.." || exit 1

formatter=$(command -v clang-format-14 || command -v clang-format) || {
    echo "SKIPPED: there is no clang-format"
    exit 77
}
version=$("$formatter" --version | grep -o 'version [0-9]*')
if [ "$version" != "version 14" ]; then
    echo "SKIPPED: clang-format 14 is needed, $formatter is $version"
    exit 77
fi
find backends cli config_schema examples launcher tests \( -name '*.[ch]pp' -o -name '*.cu' \) -print0 |
    xargs -0 -n 40 -P 2 "$formatter" --dry-run -Werror
