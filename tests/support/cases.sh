# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Cases of shell tests, and how they end. Who sources this may have a `begin_case`, `check_case` (more
# assertions at the end of each), `show_case` (of one that failed: what was seen) and `end_case` of its own.
# TRAIN_TEST_FILTER=REGEX runs only the cases whose sentence matches, TRAIN_TEST_ONLY=SENTENCE that one.

passed=0
failed=0
skipped=0
case_number=0
case_failed=no
case_skipped=''

# What the user who runs the tests has set for all commands is none of theirs.
export XDG_CONFIG_HOME=/nonexistent

begin_case() { :; }
check_case() { :; }
show_case() { :; }
end_case() { :; }

note_failure() {
    case_failed=yes
    printf '    %s\n' "$@"
}

expect_equal() { # WHAT EXPECTED ACTUAL
    [ "$2" = "$3" ] || note_failure "$1" "  expected: $2" "  actual:   $3"
}

# skip REASON: what this machine lacks for the case.
skip() { case_skipped=$1; }

# test_case SENTENCE FUNCTION [ARGUMENT...]: where it fails, tests/run.sh tries it again alone.
test_case() { [ -n "${TRAIN_SOAK:-}" ] || run_case '' "$@"; }

# The same, for what must not be tried again: a fault that shows once in many runs of it is one. In a
# soak it runs as well, where it reads how often from TRAIN_RACES and the like.
race_case() { run_case ', no second try' "$@"; }

# What takes 15 s or more of an idle machine, or is worth many runs: in `tests/run.sh soak` (TRAIN_SOAK), and
# where it alone is asked for.
soak_case() {
    if [ -n "${TRAIN_SOAK:-}" ] || [ "${TRAIN_TEST_ONLY:-}" = "$1" ]; then run_case ', no second try' "$@"; fi
}

# run_case NOTE SENTENCE FUNCTION [ARGUMENT...]
run_case() {
    local note=$1 sentence=$2 began=$SECONDS took
    shift 2
    [[ $sentence =~ ${TRAIN_TEST_FILTER:-.} && $sentence = "${TRAIN_TEST_ONLY:-$sentence}" ]] || return 0
    case_number=$((case_number + 1)) case_failed=no case_skipped=''
    begin_case
    "$@"
    check_case
    took="$((SECONDS - began)) s"
    if [ -n "$case_skipped" ] && [ $case_failed = no ]; then
        skipped=$((skipped + 1))
        echo "SKIPPED: $sentence: $case_skipped"
    elif [ $case_failed = no ]; then
        passed=$((passed + 1))
        echo "ok     $sentence ($took)"
    else
        failed=$((failed + 1))
        echo "FAILED $sentence ($took$note)"
        show_case
    fi
    end_case
}

finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ $failed -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
    exit
}
