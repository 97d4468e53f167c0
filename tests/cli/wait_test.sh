#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Launches that wait in line for slots of this machine.   wait_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

# hold: a task that holds both slots until `go` is there; sets `id`.
hold() {
    id=$(with_environment "$train" launch -d -H localhost:2 -n 2 -- /bin/sh -c 'while [ ! -e go ]; do sleep 0.02; done' 2>"$work/err") ||
        note_failure "it does not start: $(cat "$work/err")"
}

let_go() {
    touch go
    with_environment "$train" task wait "$id" 2>"$work/err" || note_failure "it fails: $(cat "$work/err")"
}

# line NAME ARGUMENT...: a launch that waits, in the background, and says its words in $work/NAME.
declare -A waiting
line() {
    local name=$1
    shift
    : >"$work/$name"
    output=$work/$name.out errors=$work/$name start "$@"
    waiting[$name]=$launcher
    within 20 "$name waits" grep -q 'waits for' "$work/$name"
}

ends_with() { # NAME STATUS
    launcher=${waiting[$1]}
    await
    expect_equal "exit status of $1" "$2" "$status"
}

ticket_count_is() { [ "$(find "$work/leases" -name 'ticket-*' | wc -l)" -eq "$1" ]; }

# With tasks that wait, one's own and those of another launcher.
expect_lists_as_published() {
    local state
    for state in "$work/state" "$work/other"; do
        with_environment "$env" XDG_STATE_HOME="$state" "$train" task list --json >"$work/out"
        expect_schema task "$work/out"
        expect_equal "states, with the records of $state" "['running', 'waiting', 'waiting']" \
            "$(field 'sorted(t["state"] for t in d["tasks"])' "$work/out")"
    done
}

is_served_in_order() {
    local first
    hold
    line first launch --wait -H localhost:2 -n 2 -- /bin/sh -c 'echo first >>order; sleep 0.1'
    line second launch --wait -H localhost:2 -n 1 -- /bin/sh -c 'echo second >>order'
    grep -Eq "^train: task [a-z2-7]{8}: waits for 2 slots on localhost, 1st in line$" "$work/first" ||
        note_failure "the first is told: $(cat "$work/first")"
    grep -Eq "^  task $id \('sh'\) of .* holds 2 slots of localhost, for [0-9][0-9a-z ]*$" "$work/first" ||
        note_failure "the first is told: $(cat "$work/first")"
    grep -Eq "waits for 1 slot on localhost, 2nd in line, behind task [a-z2-7]{8} \('sh'\) of " "$work/second" ||
        note_failure "the second is told: $(cat "$work/second")"
    with_environment "$train" task list --csv | tr -d '\r' >"$work/list"
    expect_equal "tasks that wait" 2 "$(grep -c ',waiting,' "$work/list")"
    expect_lists_as_published
    run launch -H localhost:2 -n 1 -- /bin/echo started
    expect_status 75
    expect_err "task [a-z2-7]{8} \('sh'\) of .*, which waits in line"
    let_go
    ends_with first 0
    ends_with second 0
    expect_equal "order" "first first second" "$(tr '\n' ' ' <order | sed 's/ $//')"
    ticket_count_is 0 || note_failure "a ticket is left"
    first=$(awk 'match($0, /task [a-z2-7]+: waits for 2/) { print $3 }' "$work/first" | tr -d : | head -n 1)
    rm go
    hold
    line again task rerun --wait "$first"
    let_go
    ends_with again 0
}

# A small one fits at once, and stands behind the large one all the same.
is_not_overtaken() {
    id=$(with_environment "$train" launch -d -H localhost:2 -n 1 -- /bin/sh -c 'while [ ! -e go ]; do sleep 0.02; done' 2>"$work/err")
    line large launch --wait -H localhost:2 -n 2 -- /bin/true
    run launch -H localhost:2 -n 1 -- /bin/echo started
    expect_status 75
    expect_no_out started
    let_go
    ends_with large 0
}

is_given_up() {
    hold
    local seconds
    seconds=$(paced 1)
    run launch --wait="${seconds}s" -H localhost:2 -n 1 -- /bin/echo started
    expect_status 75
    expect_err "^train: nothing was free for $seconds s: waited for 1 slot on localhost, 1st in line$"
    expect_last_err 'failed: busy (exit 75)'
    ticket_count_is 0 || note_failure "a ticket is left"
    run launch --wait=1 -H localhost:2 -n 1 -- /bin/echo started
    expect_status 75
    expect_err '^train: nothing was free for 1 s: '
    run launch --wait=soon -H localhost:2 -n 1 -- /bin/echo started
    expect_status 64
    expect_err "'soon' is no duration"
    let_go
}

# stops SIGNAL STATUS
stops() {
    hold
    line one launch --wait -H localhost:2 -n 1 -- /bin/echo started
    kill "-$1" "${waiting[one]}"
    ends_with one "$2"
    within 20 "its ticket is gone" ticket_count_is 0
    run launch -H localhost:2 -n 1 -- /bin/echo started
    expect_err "task $id .* holds 2 slots"
    expect_no_err 'waits in line'
    let_go
}

has_another_ticket() { # PID of the process that had the last
    local now
    now=$(pids_of 'agent wait')
    [ -n "$now" ] && [ "$now" != "$1" ] && ticket_count_is 1
}

loses_its_ticket() {
    hold
    line one launch --wait -H localhost:2 -n 1 -- /bin/echo started
    local keeper
    keeper=$(settled pids_of 'agent wait')
    kill -TERM "$keeper"
    within 20 "it is told" grep -q "host 'localhost' is not waited for until it can be reached" "$work/one"
    within 20 "there is another ticket" has_another_ticket "$keeper"
    let_go
    ends_with one 0
    ticket_count_is 0 || note_failure "a ticket is left"
}

is_killed() {
    hold
    line one launch -d --wait -H localhost:2 -n 1 -- /bin/echo started
    ends_with one 0
    local waits
    waits=$(cat "$work/one.out")
    state_is "$waits" waiting || note_failure "it is $(state_of "$waits")"
    run task kill "$waits"
    expect_status 0
    state_is "$waits" killed || note_failure "it is $(state_of "$waits")"
    ticket_count_is 0 || note_failure "a ticket is left"
    let_go
}

is_urgent() {
    hold
    line usual launch --wait -H localhost:2 -n 2 --set name=usual -- /bin/sh -c 'echo usual >>order'
    line urgent launch --wait -H localhost:2 -n 2 --set name=urgent --set resources.priority=1 -- /bin/sh -c 'echo urgent >>order'
    within 20 "the usual one has stepped behind" grep -q "2nd in line, behind task [a-z2-7]* ('urgent')" "$work/usual"
    let_go
    ends_with urgent 0
    ends_with usual 0
    expect_equal "order" "urgent urgent usual usual" "$(tr '\n' ' ' <order | sed 's/ $//')"
}

test_case "those who wait are served in order, and newcomers come behind them" is_served_in_order
test_case "a large request is not overtaken by small ones" is_not_overtaken
test_case "a limit ends the waiting with code 75" is_given_up
test_case "Ctrl-C while waiting leaves no trace" stops INT 130
test_case "a launcher that is killed gives its place up" stops KILL 137
test_case "a ticket that is lost is made anew" loses_its_ticket
test_case "a detached launch waits on its own, and 'task kill' ends it" is_killed
test_case "a more urgent task of the same user comes first" is_urgent
finish
