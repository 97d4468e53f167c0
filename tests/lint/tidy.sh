#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: clang-tidy 14 (Debian 12's) with the checks of .clang-tidy has nothing to say.   tidy.sh [OPTION]...
#:
#:   --deep    with the static analyzer, which takes twice as long as all other checks together
#:   --tests   the sources of the tests as well
#:   FILE...   only these sources
#:
#: Prints what was found, and ends like every test script: "N passed, N failed, N skipped", a test
#: for each source.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=build/tidy

skip() {
    echo "SKIPPED: $*"
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
}

# Asio in the form that leaves its bodies to a library: nobody checks those here. The compile commands
# are g++'s, which knows warnings that clang does not.
options=(--quiet -p "$build" --extra-arg=-DASIO_SEPARATE_COMPILATION
    --extra-arg=-Wno-unknown-warning-option)
analyzer=no
folders=(cli backends launcher config_schema examples)
sources=()
for argument in "$@"; do
    case $argument in
        --deep) analyzer=yes ;;
        --tests) folders+=(tests) ;;
        -*) sed -n 's/^#: \{0,1\}//p' "$0" >&2; exit 64 ;;
        *.cpp) sources+=("$argument") ;;
        *) ;; # the program under test, which every test script is given
    esac
done

tidy=$(command -v clang-tidy-14 || command -v clang-tidy) || skip "there is no clang-tidy"
version=$("$tidy" --version | grep -o 'version [0-9]*')
[ "$version" = "version 14" ] || skip "clang-tidy 14 is needed, $tidy is $version"
[ $analyzer = yes ] || options+=("--checks=-clang-analyzer-*")
# clang cannot read the precompiled headers of another compiler.
mkdir -p "$(dirname "$build")"
cmake -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DTRAIN_UNITY=OFF \
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >"$build.log" 2>&1 || {
    cat "$build.log"
    exit 1
}
[ ${#sources[@]} -gt 0 ] || mapfile -t sources < <(find "${folders[@]}" -name '*.cpp' | sort)

# check SOURCE: prints its findings, and its name behind "FAILED" when there are some.
check() {
    local output
    output=$("$tidy" "${options[@]}" "$1" 2>/dev/null) && return
    printf '%s\nFAILED %s\n' "$output" "$1"
}

findings=$(mktemp)
trap 'rm -f "$findings"' EXIT
for source in "${sources[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
    check "$source" &
done >>"$findings"
wait
cat "$findings"
failed=$(grep -c '^FAILED ' "$findings")
echo "$((${#sources[@]} - failed)) passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
