#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What one rank of a host runs before all of them.   setup_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

runs_once_before_all() {
    run launch -H localhost:3 -n 3 --set 'setup=echo "rank $RANK sets up"; sleep 0.3; echo "$TRAIN_TASK_ID" >>made' \
        -- /bin/sh -c 'echo "$0 $1 has $(wc -l <made)"' 'a  b' '$c'
    expect_status 0
    expect_equal "ranks that found it done" 3 "$(grep -c '\] a  b \$c has 1$' "$work/out")"
    expect_equal "its output" 1 "$(grep -c '^\[\([0-2]\)\] rank \1 sets up$' "$work/out")"
    printf 'slots_per_trial: 2\nsetup: |\n  echo x >>lines\n  echo y >>lines\nentrypoint: cat lines | tr -d "\\n"; echo .\n' >experiment.yaml
    run launch -H localhost:2 experiment.yaml
    expect_equal "a setup of two lines" 2 "$(grep -c '\] xy\.$' "$work/out")"
}

its_failure_is_the_cause() {
    run launch -H localhost:2 -n 2 --set 'setup=echo "no such disk" >&2; exit 9' -- touch started
    expect_status 9
    [ ! -e started ] || note_failure "a rank has started"
    expect_err "no such disk"
    expect_err "^  it reported: 'setup' of the experiment has failed: exit code 9"
    expect_err "^  \| no such disk"
    expect_err "rank [01] was stopped by train"
    expect_equal "ranks that report it" 1 "$(grep -c "^\[[01]\] train: 'setup' of" "$work/err")"
    run launch -n 1 --set framework=none --set 'setup=kill -KILL $$' -- touch started
    expect_status 137
    expect_err "'setup' of the experiment has failed: exit code 137"
}

each_attempt_has_its_own() {
    run launch -n 1 --set max_restarts=1 --set restart_delay=0 --set 'setup=echo x >>made' -- /bin/sh -c 'exit $((1 - TRAIN_RESTART_COUNT))'
    expect_status 0
    expect_equal "runs" 2 "$(wc -l <made)"
}

is_stopped_like_ranks() {
    start launch -n 1 --set 'setup=touch begun; sleep 1000' -- touch started
    eventually 60 test -e "$work/here/begun"
    kill -INT "$launcher"
    await
    expect_status 130
    [ ! -e started ] || note_failure "a rank has started"
}

what_is_missing_is_said_first() {
    run launch -n 1 --set 'setup=touch made' -- nonesuch
    expect_status 72
    expect_err "program 'nonesuch' was not found"
    [ ! -e made ] || note_failure "setup has run"
}

other_launchers_do_not_run_it() {
    run plan -n 1 --set 'setup=touch made' --format slurm -- true
    expect_status 0
    expect_err "warning: --format slurm does not run 'setup' on the hosts"
    run plan -n 1 --set 'setup=touch made' -- true
    expect_no_err setup
}

hook_of_a_context() {
    mkdir -p code/sub
    printf 'echo "hook of rank $RANK"\nexport LOST=1\necho hook >>sub/order\n' >code/startup-hook.sh
    run launch -H localhost:2 -n 2 --context code --set working_directory=sub --set 'setup=echo setup >>order' \
        -- /bin/sh -c 'echo "$(cat order | tr "\n" " ")lost=$LOST"'
    expect_status 0
    expect_equal "ranks that found both done" 2 "$(grep -c '\] hook setup lost=$' "$work/out")"
    expect_equal "its output" 1 "$(grep -c '^\[\([01]\)\] hook of rank \1$' "$work/out")"
    printf '#!/usr/bin/python3\nprint("hook of", "a program")\n' >code/startup-hook.sh
    chmod +x code/startup-hook.sh
    run launch -n 1 --context code -- true
    expect_status 0
    expect_out 'hook of a program$'
    # Without a context there is none.
    cd code || return
    run launch -n 1 -- true
    expect_no_out 'hook'
    cd ..
}

failure_of_a_hook_is_the_cause() {
    mkdir code
    printf 'cat /no/such/file\ntouch further\n' >code/startup-hook.sh
    run launch -H localhost:2 -n 2 --context code --set 'setup=touch further' -- touch further
    expect_status 1
    expect_err "^  it reported: 'startup-hook.sh' of the context has failed: exit code 1"
    expect_err "^  \| cat: /no/such/file"
    expect_equal "what came after it" "" "$(find "$work/home" -name further)"
}

plan_tells_of_a_hook() {
    mkdir code
    echo true >code/startup-hook.sh
    run plan -n 1 --context code -- true
    expect_status 0
    expect_err "'startup-hook.sh' of the context runs once on each host, before its ranks"
    run plan -n 1 --context code --format slurm -- true
    expect_err "warning: --format slurm does not run 'startup-hook.sh' on the hosts"
}

test_case "setup runs once on a host, before its ranks" runs_once_before_all
test_case "setup that fails is the cause of the end" its_failure_is_the_cause
test_case "each attempt sets its hosts up" each_attempt_has_its_own
test_case "setup is stopped like ranks" is_stopped_like_ranks
test_case "a missing program is found before setup runs" what_is_missing_is_said_first
test_case "what plan writes for other launchers says that it does not run setup" other_launchers_do_not_run_it
test_case "startup-hook.sh of a context runs once on a host, before setup" hook_of_a_context
test_case "startup-hook.sh that fails is the cause of the end" failure_of_a_hook_is_the_cause
test_case "plan tells of startup-hook.sh" plan_tells_of_a_hook
finish
