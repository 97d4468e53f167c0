#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How a task is brought to its end: max_runtime, stop_signal, and the stop file.
# ending_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

forever='echo up; while :; do sleep 0.05; done'
# Says when its stop file is there, and what it has got when it ends. The shell waits for each `sleep`.
watching='trap "echo signalled \$RANK; exit 0" TERM INT USR1
    [ ! -e "$TRAIN_STOP_FILE" ] && echo "up $RANK"
    until [ -e "$TRAIN_STOP_FILE" ]; do sleep 0.05; done
    echo "seen $RANK"
    while :; do sleep 0.05; done'
# Ends when its stop file is there, as a loop that saves and goes.
leaving='[ ! -e "$TRAIN_STOP_FILE" ] && echo "up $RANK"
    until [ -e "$TRAIN_STOP_FILE" ]; do sleep 0.05; done
    echo "saved $RANK"'

elapsed_since() { echo $(((${EPOCHREALTIME/./} - $1) / 1000)); } # milliseconds
at_least() { [ "$2" -ge "$3" ] || note_failure "$1: $2, not at least $3"; }

# What a task whose time was over is called everywhere.
expect_timeout() { # expect_timeout ID
    expect_equal "state" timeout "$(state_of "$1")"
    run task show "$1"
    expect_out '^state      timeout$'
    expect_out '^exit code  124$'
    expect_out '^cause      timeout: max_runtime is over$'
    run task show "$1" --json
    expect_schema task "$work/out"
    expect_equal "class" timeout "$(field 'd["error_class"]' "$work/out")"
    run task list --all --json
    expect_schema task "$work/out"
    run task wait "$1"
    expect_status 124
    expect_last_err "task $1: timeout: timeout: max_runtime is over (exit 124)"
}

time_is_over() {
    local began=${EPOCHREALTIME/./}
    start launch -H localhost:2 -n 2 --max-runtime 1500ms --set max_restarts=3 -- /bin/sh -c "$forever"
    await
    at_least "milliseconds" "$(elapsed_since "$began")" 1500
    expect_status 124
    expect_err '^train: max_runtime is over: stopping all ranks$'
    expect_last_err 'failed: timeout: max_runtime is over (exit 124)'
    expect_no_err 'restart'
    expect_timeout "$(task_id)"
}

time_is_enough() {
    run launch -n 1 --max-runtime 1h -- true
    expect_status 0
}

flag_wins() {
    printf 'entrypoint: sleep 4711\nmax_runtime: 1h\n' >e.yaml
    run launch e.yaml --set max_runtime=2h --max-runtime 300ms
    expect_status 124
    run launch e.yaml --set max_runtime=300ms
    expect_status 124
    run launch -n 1 --max-runtime soon -- true
    expect_status 78
    expect_err "^train: --max-runtime: 'max_runtime' must be a duration such as 10s"
    run launch -n 1 --max-runtime= -- true
    expect_status 64
}

# The time goes on over the attempts: none of them alone takes as long.
restarts_are_included() {
    start launch -n 1 --max-runtime "$(paced 3)s" --set max_restarts=100 --set restart_delay=100ms -- \
        /bin/sh -c 'echo "attempt $TRAIN_RESTART_COUNT"; sleep 1; exit 1'
    await
    expect_status 124
    expect_out 'attempt 1$'
    expect_last_err 'failed: timeout: max_runtime is over (exit 124)'
}

waiting_for_a_restart() {
    start launch -n 1 --max-runtime 1s --set max_restarts=1 --set restart_delay=1h -- false
    await
    expect_status 124
    expect_last_err 'failed: timeout: max_runtime is over (exit 124)'
}

fails_first() {
    run launch -n 1 --max-runtime 1h -- /bin/sh -c 'exit 7'
    expect_status 7
}

# detach ARGUMENT...: sets `id`.
detach() {
    id=$(with_environment "$train" launch -d "$@" 2>"$work/err") || note_failure "it was not launched"
}
kill_launcher() {
    end_process "$(pids_of 'launch -d')"
    within 20 "nobody attends the task" state_is "$id" unattended
}

# Its launcher dies before the time is over; attach comes then, or `late`.
time_of_an_adopted_task() {
    local seconds began=${EPOCHREALTIME/./} # the time is that from when its ranks have started
    seconds=$(paced 3)
    detach -n 1 --max-runtime "${seconds}s" -- /bin/sh -c "$forever"
    kill_launcher
    [ "$1" != late ] || sleep "$seconds" # not to wait for something: nobody attends it for so long
    run task attach "$id"
    expect_status 124
    at_least "milliseconds" "$(elapsed_since "$began")" $((seconds * 1000))
    expect_timeout "$id"
}

plan_shows_it() {
    run plan -n 1 --max-runtime 90m --set stop_notice=30s --set stop_signal=SIGUSR1 -- true
    expect_status 0
    expect_out '^end: stopped 1 h 30 min after its ranks have started, restarts included$'
    expect_out '^stop: TRAIN_STOP_FILE appears, 30 s later SIGUSR1, 10 s later SIGKILL$'
    run plan -n 1 --max-runtime 90m --json -- true
    expect_schema plan "$work/out"
    expect_equal "in JSON" 5400000 "$(field 'd["max_runtime_ms"]' "$work/out")"
    run plan -n 1 -- true
    expect_no_out '^(end|stop): '
}

signal_is() {
    start launch -n 1 --set "stop_signal=$1" --set stop_grace=30s -- /bin/sh -c \
        "trap 'echo got $2; exit 0' $2; $forever"
    within 30 "it is up" out_has up
    kill -INT "$launcher"
    await
    expect_status 130
    expect_out "got $2"
}

signal_is_refused() {
    local word
    for word in KILL SIGSTOP usr1 9; do
        run launch -n 1 --set "stop_signal=$word" -- true
        expect_status 78
        expect_err "'stop_signal' must be one of TERM, INT, HUP, QUIT, USR1, USR2, "
    done
}

start_watching() { # start_watching [ARGUMENT...]
    start launch -H localhost:2 -n 2 --set stop_grace=30s "$@" -- /bin/sh -c "$watching"
    within 30 "both ranks are up" out_count_is 2 'up [01]$'
}

# A rank that is signalled before it has seen the file says no more than that.
file_then_signal() {
    local seconds began
    seconds=$(paced 2)
    start_watching --set "stop_notice=${seconds}s"
    began=${EPOCHREALTIME/./}
    kill "-$1" "$launcher"
    await
    at_least "milliseconds" "$(elapsed_since "$began")" $((seconds * 1000))
    expect_status "$2"
    expect_err "stopping all ranks; the signal follows in $seconds s, or at once with another Ctrl-C$"
    out_count_is 2 'seen [01]$' || note_failure "not both have seen the file"
    out_count_is 2 'signalled [01]$' || note_failure "not both were signalled"
}

second_ctrl_c() {
    start_watching --set stop_notice=1h
    kill -INT "$launcher"
    within 20 "both have seen the file" out_count_is 2 'seen [01]$'
    kill -INT "$launcher"
    await
    expect_status 130
    out_count_is 2 'signalled [01]$' || note_failure "not both were signalled"
}

second_kill() {
    start_watching --set stop_notice=1h
    with_environment "$train" task kill "$(task_id)" 2>"$work/first" &
    local first=$!
    within 20 "both have seen the file" out_count_is 2 'seen [01]$'
    run_kill "$(task_id)"
    await
    expect_status 143
    out_count_is 2 'signalled [01]$' || note_failure "not both were signalled"
    wait "$first" || note_failure "the first kill: $(cat "$work/first")"
}

third_ctrl_c() {
    start launch -n 1 --set stop_notice=1h --set stop_grace=1h -- /bin/sh -c \
        'trap "echo signalled" TERM; echo up; while :; do sleep 0.05; done'
    within 30 "it is up" out_has up
    kill -INT "$launcher"
    within 20 "the stop is said" err_has 'SIGINT: stopping'
    kill -INT "$launcher"
    within 20 "it has the signal" out_has signalled
    kill -INT "$launcher"
    await
    expect_status 130
}

start_leaving() { start launch -H localhost:2 -n 2 --set stop_notice=1h "$@" -- /bin/sh -c "$leaving"; }

leaves_at_the_file() {
    start_leaving
    within 30 "both ranks are up" out_count_is 2 'up [01]$'
}

leaves_when_stopped() {
    leaves_at_the_file
    kill -INT "$launcher"
    await
    expect_status 130
    out_count_is 2 'saved [01]$' || note_failure "not both have saved"
}

leaves_when_its_time_is_over() {
    start_leaving --max-runtime 2s
    await
    expect_status 124
    out_count_is 2 'saved [01]$' || note_failure "not both have saved"
}

leaves_when_killed() {
    leaves_at_the_file
    run_kill "$(task_id)"
    await
    expect_status 143
    out_count_is 2 'saved [01]$' || note_failure "not both have saved"
}
run_kill() { with_environment "$train" task kill "$1" 2>"$work/kill" || note_failure "task kill: $(cat "$work/kill")"; }

leaves_when_another_fails() {
    start launch -H localhost:2 -n 2 --set stop_notice=1h -- /bin/sh -c \
        '[ "$RANK" = 0 ] || { '"$leaving"'; exit; }; until [ -e go ]; do sleep 0.05; done; exit 5'
    within 30 "the other one is up" out_has 'up 1'
    touch go
    await
    expect_status 5
    expect_out 'saved 1'
}

leaves_without_a_launcher() {
    start launch -H localhost:2 -n 2 --set stop_notice=1h -- /bin/sh -c "{ $leaving; }"' >saved.$RANK'
    within 30 "both ranks are up" are_there saved.0 saved.1
    kill -KILL "$launcher"
    await
    # 5 s, since it may only have been the network.
    within 20 "both have saved" grep -qs 'saved' saved.0
    within 20 "both have saved" grep -qs 'saved' saved.1
}
are_there() { [ -s "$1" ] && [ -s "$2" ]; }

killed_by_another_terminal() {
    leaves_at_the_file
    kill -KILL "$launcher"
    await
    run_kill "$(task_id)"
    expect_equal "state" killed "$(state_of "$(task_id)")"
}

file_of_every_attempt() {
    run launch -n 1 --set max_restarts=1 --set restart_delay=0 -- /bin/sh -c \
        'echo "$TRAIN_STOP_FILE"; [ ! -e "$TRAIN_STOP_FILE" ] || exit 0; exit 3'
    expect_status 3
    expect_equal "different files" 2 "$(sed -n 's/^\[0\] //p' "$work/out" | sort -u | wc -l)"
}

# Nothing can be made where the file is to be.
no_room_for_the_file() {
    start launch -n 1 -- /bin/sh -c \
        'rm -rf "$TRAIN_RUN_DIR"; trap "echo signalled; exit 0" TERM; echo up; while :; do sleep 0.05; done'
    within 30 "it is up" out_has up
    kill -INT "$launcher"
    await
    expect_status 130
    expect_out signalled
    expect_err "^train: host 'localhost': the stop file of its ranks is missing, and they are stopped without: "
}

test_case "a task is stopped when its time is over: exit 124, and said as such" time_is_over
test_case "a task that ends in its time is as ever" time_is_enough
test_case "--max-runtime wins over the file and --set" flag_wins
test_case "restarts are part of the time" restarts_are_included
test_case "the time passes while a restart is waited for" waiting_for_a_restart
test_case "a failure before the end of the time is the cause" fails_first
test_case "a task that is adopted has the time that is left" time_of_an_adopted_task early
test_case "a task that is adopted after its time is stopped at once" time_of_an_adopted_task late
test_case "train plan shows when and how a task is stopped" plan_shows_it
test_case "ranks get the signal that they want" signal_is USR1 USR1
test_case "SIG may stand before its name" signal_is SIGINT INT
test_case "signals that nobody can wait for are refused, with a list" signal_is_refused
test_case "the stop file is there for the notice, then the signal comes" file_then_signal INT 130
test_case "a second Ctrl-C ends the notice, and leaves the grace" second_ctrl_c
test_case "a second kill ends the notice, too" second_kill
test_case "a third Ctrl-C ends the grace" third_ctrl_c
test_case "ranks may save and go when their stop file appears" leaves_when_stopped
test_case "so they may when their time is over" leaves_when_its_time_is_over
test_case "so they may when their task is killed" leaves_when_killed
test_case "so they may when another rank fails" leaves_when_another_fails
test_case "so they may when their launcher has died" leaves_without_a_launcher
test_case "a task without its launcher is killed with its notice" killed_by_another_terminal
test_case "every attempt has a stop file of its own" file_of_every_attempt
test_case "a stop file that cannot be made keeps no stop from going on" no_room_for_the_file
finish
