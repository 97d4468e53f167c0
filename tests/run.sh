#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#: Installs what the tests need, builds, and runs them.   tests/run.sh [OPTION] [SUITE]
#:
#:   unit      unit tests and linters (what CTest knows)
#:   cli       the command line, on this machine
#:   cluster   launches over real SSH on hosts made of namespaces; needs root
#:   browser   pictures of plans in headless Chromium
#:   all       these four (the default), with what needs only the program first
#:   soak      what takes hours: cases that wait long, races and kills by the hundreds, 20,000 seeds of the
#:             simulation, every benchmark once, and `fuzz`
#:   fuzz      what reads foreign text and bytes, each target for FUZZ_SECONDS (30); needs clang++
#:   tidy      clang-tidy over the sources of the program, without its slow analyzer: about as long as
#:             all the others together, so before a change lands, and not in CI
#:   coverage  which lines of the program unit tests and the command line never reach, in a build of its
#:             own: a table of folders, and build/coverage/lines.txt. What is killed tells nothing
#:   steady [--rounds N] [NAME...]
#:             suites (cli, cli/exec, unit.backend_agent) and cases again and again, 5 times unless
#:             N says otherwise, beside two busy loops; says what failed how often
#:
#:   --only NAME    the suite or the case of that name, a sentence; may be given more than once
#:   --no-install   take the machine as it is
#:
#: A case that failed is tried again alone when all else has ended, twice at most; one that passes then
#: is "unsteady", named, and kept with what it said in build/unsteady.txt. More than three of them are a
#: failure. Races, what reads no clock, and what failed to build are not tried again.
#: Ends with what failed and what was skipped, once more, and "N passed, N failed, N skipped"; fails
#: when a test failed, or when nothing passed. With CI=true a skipped test is a failure.
set -u
cd "$(dirname "$0")/.." || exit 1
build=build/release
TRAIN_TESTS_BEGAN=$(date +%s)
export TRAIN_TESTS_BEGAN

usage() {
    sed -n 's/^#: \{0,1\}//p' "$0" >&2
    exit 64
}

install=yes suite='' rounds=5 names=()
while [ $# -gt 0 ]; do
    case $1 in
        --no-install) install=no ;;
        --only) suite=only names+=("${2:?}"); shift ;;
        --rounds) rounds=${2:?}; shift ;;
        unit | cli | cluster | browser | fuzz | tidy | coverage | all | soak | steady)
            if [ -z "$suite" ]; then suite=$1; else names+=("$1"); fi ;;
        -*) usage ;;
        *) names+=("$1") ;;
    esac
    shift
done
suite=${suite:-all}
case $suite in steady | only) ;; *) [ ${#names[@]} -eq 0 ] || usage ;; esac

step() { printf '\n=== %s (after %d min %d s)\n' "$*" $((SECONDS / 60)) $((SECONDS % 60)); }

if [ $install = yes ]; then
    step "install what is missing"
    tests/install_packages build examples tests || exit 1
fi
case $suite in
    fuzz) exec tests/fuzz/fuzz.sh ;;
    tidy) exec tests/lint/tidy.sh ;;
    coverage) exec tests/running/coverage.sh ;;
    all | cli | cluster) target=script_tests ;; # for all: the others meanwhile
    *) target=all ;;
esac
step "build of what is tested ($build)"
[ -f $build/build.ninja ] || cmake --preset release || exit 1
cmake --build --preset release --target "$target" || exit 1
exec /usr/bin/python3 tests/running/run.py $build "$suite" --rounds "$rounds" "${names[@]}"
