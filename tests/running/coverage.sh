#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs unit tests and those of the command line with counters in the program, and says which lines were
# never reached. tests/run.sh coverage calls it.
set -eu
cd "$(dirname "$0")/../.."
build=build/coverage

[ -f $build/build.ninja ] || cmake --preset coverage
cmake --build --preset coverage
find $build -name '*.gcda' -delete
# A failed test does not make the table wrong: tests/run.sh finds those.
/usr/bin/python3 tests/running/run.py $build unit || true
/usr/bin/python3 tests/running/run.py $build cli || true

gcovr --root . --object-directory $build --filter 'cli/' --filter 'backends/' --filter 'launcher/' \
    --filter 'config_schema/' --exclude-throw-branches --gcov-ignore-parse-errors -j "$(nproc)" \
    --txt $build/lines.txt --json-summary $build/lines.json
/usr/bin/python3 tests/running/coverage_table.py $build/lines.json
echo "by file: $build/lines.txt"
