#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Events of a task, for files and commands.   events_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

# kinds FILE: what each line says has happened.
kinds() { /usr/bin/python3 -c 'import json, sys; print(*[json.loads(line)["what"] for line in open(sys.argv[1])])' "$1"; }

# value_of FILE KIND KEY: of the last line of that kind.
value_of() {
    /usr/bin/python3 -c 'import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
print([line for line in lines if line["what"] == sys.argv[2]][-1][sys.argv[3]])' "$@"
}

expect_valid() { # FILE: each line is as the schema says
    local line
    while read -r line; do
        echo "$line" >line.json
        expect_schema event line.json
    done <"$1"
}

a_file_has_them_all() {
    echo "what was there" >events
    run launch -n 2 -H localhost:2 --events events --set max_restarts=1 --set restart_delay=0 -- \
        /bin/sh -c 'exit $((3 * (1 - TRAIN_RESTART_COUNT)))'
    expect_status 0
    expect_equal "the first line" "what was there" "$(head -1 events)"
    sed -i 1d events
    expect_valid events
    expect_equal "events" "supervised attempt_begun ranks_started attempt_failing attempt_over attempt_begun ranks_started task_over" "$(kinds events)"
    expect_equal "task" "$(task_id)" "$(value_of events task_over task)"
    expect_equal "exit code" 0 "$(value_of events task_over exit_code)"
    expect_equal "state" succeeded "$(value_of events task_over state)"
    expect_equal "attempt" 1 "$(value_of events ranks_started attempt)"
    expect_equal "host" localhost "$(value_of events attempt_failing host)"
    run launch -n 1 --events failed -- /bin/sh -c 'exit 5'
    expect_equal "exit code" 5 "$(value_of failed task_over exit_code)"
    expect_equal "state" failed "$(value_of failed task_over state)"
    value_of failed task_over cause | grep -q 'exited with code 5' || note_failure "no cause: $(tail -1 failed)"
}

a_command_gets_each() {
    mkdir deep
    run launch -n 1 --set 'on_event=cat >>got; echo >>calls' -- /bin/sh -c 'cd deep; exit 0'
    expect_status 0
    expect_valid got
    expect_equal "events" "supervised attempt_begun ranks_started task_over" "$(kinds got)"
    expect_equal "calls" 4 "$(wc -l <calls)"
}

# What they do never harms the task; the user is told once.
faults_of_targets() {
    run launch -n 1 --set 'on_event=echo "no mail here" >&2; exit 3' -- true
    expect_status 0
    expect_equal "warnings" 1 "$(grep -c "warning: 'on_event' has failed: it ended with code 3: no mail here" "$work/err")"
    run launch -n 1 --set 'on_event=exit 0' -- true
    expect_no_err warning
    run launch -n 1 --events /dev/full -- true
    expect_status 0
    expect_equal "warnings" 1 "$(grep -c "warning: events are missing in '/dev/full'" "$work/err")"
    run launch -n 1 --events no/folder -- touch started
    expect_status 64
    expect_err "events: cannot write 'no/folder'"
    [ ! -e started ] || note_failure "it was launched"
}

# A command that hangs delays neither the ranks nor the file.
a_command_that_hangs() {
    start launch -n 1 --events events --set 'on_event=until [ -e go ]; do sleep 0.05; done' -- touch started
    eventually 60 grep -qs task_over events
    [ -e started ] || note_failure "no rank has started"
    touch go
    await
    expect_status 0
}

# Who takes a task over goes on with its events.
adopted_tasks_go_on() {
    start launch --events events --set on_launcher_loss=5m --set 'on_event=cat >>got' -n 1 -- /bin/sh -c 'touch runs; until [ -e end ]; do sleep 0.05; done'
    eventually 60 test -e "$work/here/runs"
    eventually 60 grep -qs ranks_started got
    kill -KILL "$launcher"
    await
    touch end
    run task attach "$(task_id)"
    expect_status 0
    # The end is recorded before it is an event.
    eventually 60 grep -qs task_over events
    eventually 60 grep -qs task_over got
    expect_equal "events" "supervised attempt_begun ranks_started supervised task_over" "$(kinds events)"
    expect_equal "events for the command" "$(kinds events)" "$(kinds got)"
}

# Events of trials name them.
trials_are_named() {
    printf 'slots_per_trial: 1\nhyperparameters: {x: {type: categorical, vals: [1, 2]}}\nsearcher: {name: grid, metric: loss}\nentrypoint: train report --step 1 loss=1\n' >x.yaml
    run launch x.yaml --events events
    expect_status 0
    expect_valid events
    expect_equal "trials that were over" "0 1" "$(/usr/bin/python3 -c 'import json
print(*sorted(e["trial"] for e in map(json.loads, open("events")) if e["what"] == "trial_over"))')"
    expect_equal "trial of the end" None "$(value_of events task_over trial)"
}

test_case "--events appends each event to a file" a_file_has_them_all
test_case "on_event gets each event on its standard input" a_command_gets_each
test_case "targets that fail are reported once, and the task goes on" faults_of_targets
test_case "a command that hangs delays nothing but itself" a_command_that_hangs
test_case "a launcher that takes a task over goes on with its events" adopted_tasks_go_on
test_case "events of a search name the trial" trials_are_named
finish
