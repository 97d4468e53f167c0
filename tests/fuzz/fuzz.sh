#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: Builds the fuzz targets (preset "fuzz") and runs them, all at a time.   fuzz.sh [--build] [TARGET]...
#:
#:   --build        only builds them
#:
#:   FUZZ_SECONDS   for each target (30)
#:   FUZZ_JOBS      targets at a time (all)
#:
#: An input that shows a fault is left in build/fuzz/found/; mend the fault and keep the input, under a
#: name that says what it does, in tests/fuzz/regression/TARGET/. Inputs that reached new code stay in
#: build/fuzz/grown/ for the next run. Prints what each target did, and ends like every test script:
#: "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/../.." || exit 1
build=build/fuzz
seconds=${FUZZ_SECONDS:-30}
targets=()
only_build=no
for argument in "$@"; do
    case $argument in
        --build) only_build=yes ;;
        allocation | experiment | hosts | host_set | frame | context | agent) targets+=("$argument") ;;
        */train) ;; # the program under test, which every test script is given
        *) sed -n 's/^#: \{0,1\}//p' "$0" >&2; exit 64 ;;
    esac
done
[ ${#targets[@]} -gt 0 ] || targets=(allocation experiment hosts host_set frame context agent)
jobs=${FUZZ_JOBS:-${#targets[@]}}

skip() {
    echo "SKIPPED: $*"
    echo "0 passed, 0 failed, ${#targets[@]} skipped"
    exit 77
}

has_libfuzzer() {
    local program verdict
    program=$(mktemp)
    echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
        clang++ -fsanitize=fuzzer,address,undefined -x c++ - -o "$program" 2>/dev/null
    verdict=$?
    rm -f "$program"
    return $verdict
}

# What a target begins with: its own corpus, the inputs that once showed a fault, the golden cases
# and the examples.
gather_seeds() {
    local target folder file value
    rm -rf "$build/seeds"
    for target in "${targets[@]}"; do
        mkdir -p "$build/seeds/$target" "$build/grown/$target" "$build/found"
        cp tests/fuzz/corpus/"$target"/* tests/fuzz/regression/"$target"/* "$build/seeds/$target/" 2>/dev/null
    done
    for folder in tests/cases/*/*/; do
        file=$(basename "$folder")
        seed experiment "$file" "$folder/experiment.yaml"
        seed hosts "$file" "$folder/hosts"
        [ ! -f "$folder/environment" ] || seed_allocation "$file" "$folder"
        [ -f "$folder/args" ] || continue
        printf '\n--args\n' | cat - "$folder/args" | seed experiment "$file"
        value=$(sed -n 's/^-H //p' "$folder/args")
        [ -z "$value" ] || for target in hosts host_set; do printf '%s' "$value" | seed $target "$file"; done
    done
    for file in tests/accepted/*.yaml; do seed experiment "$(basename "$file")" "$file"; done
    for file in examples/*/experiment*.yaml; do seed experiment example "$file"; done
    for file in examples/*/hosts*.yaml; do seed hosts example "$file"; done
}

# seed TARGET NAME [FILE]: adds a file, when there is one, or standard input to a seed.
seed() {
    if [ ! -d "$build/seeds/$1" ]; then
        [ $# -eq 3 ] || cat >/dev/null
    elif [ $# -lt 3 ] || [ -f "$3" ]; then
        cat "${3:--}" >>"$build/seeds/$1/case_$2"
    fi
}

# seed_allocation NAME FOLDER: variables, an empty line, and the files beside them.
seed_allocation() {
    local file
    {
        cat "$2/environment"
        echo
        for file in "$2"/*; do
            case ${file##*/} in environment | error.txt) ;; *) cat "$file" ;; esac
        done
    } | seed allocation "$1"
}

write_dictionary() { # write_dictionary TARGET
    cat "tests/fuzz/words/$1.dict" || return 1
    case $1 in experiment | hosts) "$build/tests/fuzz/fuzz_dictionary" "$1" ;; esac
}

# fuzz TARGET: its log is $build/TARGET.log.
fuzz() {
    write_dictionary "$1" >"$build/$1.dict" || return 1
    # A slow input ends the target itself, by CPU time; -timeout, by the clock, is for what never ends.
    # AddressSanitizer keeps freed memory aside, which is none of the target's.
    ASAN_OPTIONS=quarantine_size_mb=16 \
        "$build/tests/fuzz/fuzz_$1" -max_total_time="$seconds" -max_len=4096 -timeout=120 -rss_limit_mb=512 \
        -malloc_limit_mb=128 -entropic_scale_per_exec_time=1 -dict="$build/$1.dict" -artifact_prefix="$build/found/$1-" \
        "$build/grown/$1" "$build/seeds/$1" >"$build/$1.log" 2>&1
}

# report TARGET VERDICT
report() {
    if [ "$2" -eq 0 ]; then
        printf 'ok   %-10s %s\n' "$1" "$(grep -a 'DONE ' "$build/$1.log" | tr -s '\t ' ' ')"
    else
        printf 'FAIL %-10s ended with %s; from %s:\n' "$1" "$2" "$build/$1.log"
        LC_ALL=C grep -avE '^(INFO:|#[0-9]+|\s+NEW_FUNC)|(in |::)fuzzer::|\(/lib/' "$build/$1.log" |
            tail -n 60 | cut -c 1-300 | LC_ALL=C tr -cd '\n\t -~'
    fi
}

command -v clang++ >/dev/null || skip "there is no clang++"
has_libfuzzer || skip "clang++ cannot link libFuzzer and its sanitizers (package libclang-rt-dev)"
if [ ! -f $build/build.ninja ]; then cmake --preset fuzz || exit 1; fi
cmake --build --preset fuzz || exit 1
[ $only_build = no ] || exit 0
gather_seeds
echo "${#targets[@]} targets, $seconds s each, $jobs at a time"

verdicts=$(mktemp -d)
trap 'rm -rf "$verdicts"' EXIT
trap 'exit 130' INT TERM
for target in "${targets[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    { fuzz "$target"; echo $? >"$verdicts/$target"; } &
done
wait
failed=0
for target in "${targets[@]}"; do
    verdict=$(cat "$verdicts/$target")
    [ "$verdict" -eq 0 ] || failed=$((failed + 1))
    report "$target" "$verdict"
done
echo "$((${#targets[@]} - failed)) passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
