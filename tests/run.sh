#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: Installs what the tests need, builds, and runs them.   tests/run.sh [OPTION] [SUITE]
#:
#:   unit      unit tests and linters (CTest)
#:   cli       the command line, on this machine
#:   cluster   launches over real SSH on hosts made of namespaces; needs root
#:   browser   pictures of plans in headless Chromium
#:   fuzz      what reads foreign text and bytes, each target for FUZZ_SECONDS (30); needs clang++
#:   all       these five (the default), with what needs only the program first
#:   tidy      clang-tidy over the sources of the program, without its slow analyzer: about as long as
#:             all the others together, so before a change lands, and not in CI
#:
#:   --no-install   take the machine as it is
#:
#: Ends with what failed and what was skipped, once more, and "N passed, N failed, N skipped"; fails
#: when a test failed, or when nothing passed. With CI=true a skipped test is a failure.
set -u
cd "$(dirname "$0")/.." || exit 1
build=build/release
program=$build/cli/train

passed=0
failed=0
skipped=0
reasons=()  # "suite: reason" for each that was skipped
failures=() # "suite: what failed" for each, with what its test said of it, at most $most_said lines
most_said=12

# Only those that run: the number of one that has ended may be another one's by now.
end_groups() {
    local group
    for group in $(jobs -pr); do kill -TERM -- "-$group" 2>/dev/null; done
}
trap end_groups EXIT

# beside COMMAND...: runs it in a process group of its own, which ends with this one; its number is $!.
beside() {
    set -m
    "$@" &
    set +m
}

# With the time that all before it took.
step() { printf '\n=== %s (after %d min %d s)\n' "$*" $((SECONDS / 60)) $((SECONDS % 60)); }

count() { # count PASSED FAILED SKIPPED
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
}

# fail WHAT: one failure that no test has counted.
fail() {
    echo "$1"
    failures+=("$1")
    count 0 1 0
}

run_unit() {
    local report=$PWD/$build/ctest.xml total good idle said reason
    step "unit tests and linters"
    rm -f "$report"
    # What a test has printed is in the report: of one that passed, a kilobyte if nothing else is said.
    ctest --preset release --output-junit "$report" --test-output-size-passed 1000000 -j $(($(nproc) + 1))
    if [ ! -s "$report" ]; then
        fail "unit: CTest left no report"
        return
    fi
    # A test whose program is not there is "skipped" to CTest; here only one that says so is.
    total=$(grep -c '<testcase ' "$report")
    good=$(grep -c '<testcase .* status="run"' "$report")
    idle=$(grep -c '<skipped message="SKIP_RETURN_CODE' "$report")
    while read -r reason; do failures+=("unit: $reason"); done < <(
        sed -nE '/status="(run|notrun|disabled)"/!s/.*<testcase name="([^"]*)".*/\1/p' "$report")
    # A program of unit tests passes although it skips some of its cases, and says so for each.
    said=$(grep -c 'SKIPPED: ' "$report")
    count "$good" $((total - good - idle)) $((said > idle ? said : idle))
    while read -r reason; do reasons+=("unit: $reason"); done < <(grep -o 'SKIPPED: .*' "$report")
}

# run_script FILE: a test script that is given the program, says "SKIPPED: why" where it skips, and
# ends with the line that this one ends with.
run_script() {
    local output verdict
    step "${1#tests/}"
    output=$(mktemp)
    "$1" "$PWD/$program" 2>&1 | tee "$output"
    verdict=${PIPESTATUS[0]}
    count_script "${1#tests/}" "$verdict" "$output"
    rm -f "$output"
}

count_script() { # count_script SUITE VERDICT OUTPUT
    local suite=$1 verdict=$2 output=$3 reason
    if [[ $(tail -n 1 "$output") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
        count "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" "${BASH_REMATCH[3]}"
        # A script may also fail after its last test: while it cleans up.
        if [ "$verdict" -ne 0 ] && [ "$verdict" -ne 77 ] && [ "${BASH_REMATCH[2]}" -eq 0 ]; then
            fail "$suite: ended with $verdict although no test failed"
        fi
        collect_failures "$suite" "$output"
    else
        fail "$suite: ended with $verdict and without a summary; its last lines:
$(tail -n $most_said "$output" | sed 's/^/    /')"
    fi
    while read -r reason; do reasons+=("$suite: $reason"); done < <(grep '^SKIPPED: ' "$output")
}

# collect_failures SUITE OUTPUT: what a script says of a failure is indented, before or behind FAILED.
collect_failures() {
    local failure
    while IFS= read -r -d '' failure; do failures+=("$1: $failure"); done < <(
        awk -v most=$most_said '
            function told() { if (said != "") printf "%s%c", said, 0; said = "" }
            /^(FAILED|FAIL) / { told(); said = $0 before; lines = held; before = ""; held = 0; next }
            !/^    / { told(); before = ""; held = 0; next }
            said != "" { if (lines++ < most) said = said "\n" $0; next }
            held < most { before = before "\n" $0; held++ }
            END { told() }' "$2")
}

scripts_in() { find "$@" -maxdepth 1 -name '*.sh' -perm -u+x | sort; }

run_scripts() { # run_scripts FOLDER
    local script
    for script in $(scripts_in "$1"); do run_script "$script"; done
}

# Those that take a minute or more, longest first: one that is begun last is waited for alone.
longest=(cluster/{network,flood,hostile,digits,openssh,kill,attach,launch,context} cli/{attach,logs,digits_search})
longest_first() { # longest_first FOLDER...: its scripts
    local script
    {
        for script in "${longest[@]}"; do echo "tests/${script}_test.sh"; done
        scripts_in "$@"
    } | awk -v folders="$*" '
        BEGIN { count = split(folders, wanted, " "); for (i = 1; i <= count; i++) asked[wanted[i]] }
        { folder = $0; sub("/[^/]*$", "", folder) }
        folder in asked && !seen[$0]++'
}

# The same, three at a time: for tests that wait more than they work and do not meet. Each is shown
# when it has ended, in the order in which they were begun.
lanes=3
run_scripts_in_lanes() { # run_scripts_in_lanes FOLDER...
    local script results result suite all
    results=$(mktemp -d)
    mapfile -t all < <(longest_first "$@")
    printf '%s\n' "${all[@]}" >"$results/scripts"
    # shellcheck disable=SC2016 # expanded by the shell of each
    beside xargs -a "$results/scripts" -P "$lanes" -I{} /bin/bash -c '
        result=$2/${3//\//_}
        "$3" "$1" >"$result" 2>&1
        echo $? >"$result.verdict"' - "$PWD/$program" "$results" {} </dev/null
    local running=$!
    for script in "${all[@]}"; do
        suite=${script#tests/} result=$results/${script//\//_}
        until [ -s "$result.verdict" ]; do sleep 0.2; done
        step "$suite"
        cat "$result"
        count_script "$suite" "$(cat "$result.verdict")" "$result"
    done
    wait "$running" 2>/dev/null # the last verdict is written: it has nothing left to do
    rm -rf "$results"
}

run_cli() { run_scripts_in_lanes tests/cli; }
run_cluster() { run_scripts_in_lanes tests/cluster; }
run_browser() { run_scripts tests/browser; }
run_fuzz() { run_script tests/fuzz/fuzz.sh; }

# meanwhile COMMAND...: beside tests that wait more than they work; it takes only what they leave.
# What it prints goes to the file `said`, what it ends with to `said`.verdict; its number is `job`.
meanwhile() {
    rm -f "$said.verdict"
    # shellcheck disable=SC2016 # expanded by the shell of the job
    beside nice -n 19 /bin/bash -c '"${@:2}"; echo $? >"$1"' - "$said.verdict" "$@" >"$said" 2>&1
    job=$!
}
# The verdict is in a file because bash forgets that of a job whose number another child has got since.
join_meanwhile() {
    wait "$job" 2>/dev/null
    [ "$(cat "$said.verdict")" = 0 ]
}
run_all() {
    local said job
    said=$(mktemp)
    meanwhile cmake --build --preset release
    run_scripts_in_lanes tests/cluster tests/cli
    step "build of the tests"
    tail -n 100 "$said"
    join_meanwhile || fail "the tests could not be built"
    meanwhile tests/fuzz/fuzz.sh --build
    run_unit
    run_browser
    join_meanwhile # run_fuzz says what is wrong
    rm -f "$said" "$said.verdict"
    run_fuzz
}
run_tidy() { run_script tests/lint/tidy.sh; }

install=yes suite=all
for argument in "$@"; do
    case $argument in
        --no-install) install=no ;;
        unit | cli | cluster | browser | fuzz | tidy | all) suite=$argument ;;
        *) sed -n 's/^#: \{0,1\}//p' "$0" >&2; exit 64 ;;
    esac
done

if [ $install = yes ]; then
    step "install what is missing"
    tests/install_packages build examples tests || exit 1
fi
step "build ($build)"
[ -f $build/build.ninja ] || cmake --preset release || exit 1
case $suite in
    all | cli | cluster) target=script_tests ;; # for all: the others meanwhile
    *) target=all ;;
esac
cmake --build --preset release --target $target || exit 1

"run_$suite"

step "summary"
for failure in "${failures[@]}"; do echo "$failure"; done
for reason in "${reasons[@]}"; do echo "$reason"; done
if [ "${CI:-}" = true ] && [ $skipped -gt 0 ]; then
    echo "nothing may be skipped here (CI=true): $skipped skipped tests count as failed"
    failed=$((failed + skipped)) skipped=0
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
