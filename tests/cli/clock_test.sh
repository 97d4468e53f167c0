#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A wall clock that is set while a task runs, by a day or ten, forwards and back: nothing but what
# people are told of the time of day goes by it.   clock_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

day=86400

has_clock() {
    preload jumping_clock "JUMPING_CLOCK=$PWD/ahead" || return
    set_clock 0
}

# set_clock SECONDS: ahead of this machine's, in one write that nobody reads half of.
set_clock() { echo "$1" >ahead.new && mv ahead.new ahead; }

is_between() { [ "$1" -le "$2" ] && [ "$2" -le "$3" ]; }

# Thirty lines, of which the tenth and the twentieth come when there is a file of that name.
counts='i=0; while [ $i -lt 30 ]; do echo "line $i"; i=$((i+1))
    case $i in 10 | 20) until [ -e $i ]; do sleep 0.02; done ;; esac; sleep 0.05; done'

jumps_while_it_runs() {
    has_clock || return
    set_clock "$day"
    local before after ahead
    before=$(date +%s)
    start launch -n 2 --set reconnect_window=10s -- /bin/sh -c "$counts"
    within 20 "it prints" out_has 'line 9'
    after=$(date +%s)
    set_clock $((-10 * day))
    touch 10
    within 20 "it goes on" out_has 'line 19'
    set_clock "$day"
    touch 20
    await
    expect_status 0
    seq -f 'line %.0f' 0 29 >expected
    for rank in 0 1; do
        with_environment "$train" task logs "$(task_id)" --rank "$rank" >"$work/log" 2>&1
        expect_same "the log of rank $rank" expected "$work/log"
    done
    expect_no_err 'out of reach|heard|waited for'
    run task show "$(task_id)" --json
    # That the clock was wrong at all.
    ahead=$(field "d['created_ms'] // 1000" "$work/out")
    is_between $((before + day)) "$ahead" $((after + day)) || note_failure "the task was made $((ahead - before)) s ahead"
}

# tenths_since INSTANT: whole tenths of seconds, of this machine's clock.
tenths_since() { echo $(((${EPOCHREALTIME/./} - $1) / 100000)); }

grace_is_the_same() {
    has_clock || return
    local jump=$1 began tenths grace
    grace=$(paced 2) # within which the clock is set
    start launch -n 1 --set "stop_grace=${grace}s" -- /bin/sh -c 'trap "" TERM; echo ready; while :; do sleep 0.1; done'
    within 20 "it runs" out_has ready
    began=${EPOCHREALTIME/./}
    kill -INT "$launcher"
    set_clock "$jump"
    await
    tenths=$(tenths_since "$began")
    expect_status 130
    # A grace that goes by the wall clock ends at once, or after a day.
    [ "$tenths" -ge $((grace * 10 - 1)) ] || note_failure "a grace of $grace s took $tenths tenths of a second"
}

starts_again() {
    has_clock || return
    start launch -n 1 --set max_restarts=1 --set restart_delay=2s -- /bin/sh -c 'echo "attempt $TRAIN_RESTART_COUNT"; exit "$((1 - TRAIN_RESTART_COUNT))"'
    within 20 "the first attempt fails" err_has 'restart'
    set_clock "$1"
    await
    expect_status 0
    expect_out 'attempt 1$'
}

is_taken_over() {
    has_clock || return
    id=$(with_environment "$train" launch -d -n 1 -- /bin/sh -c "$counts" 2>"$work/err")
    end_process "$(pids_of "launch -d")"
    set_clock "$1"
    touch 10 20
    run task attach "$id" --from-start
    expect_status 0
    seq -f '[0] line %.0f' 0 29 >expected
    expect_same "what was shown" expected "$work/out"
}

# Its ranks end by themselves an hour after its launcher, which no wall clock brings nearer.
is_not_lost() {
    has_clock || return
    id=$(with_environment "$train" launch -d -n 1 --set on_launcher_loss=1h -- /bin/sh -c "$counts" 2>"$work/err")
    end_process "$(pids_of "launch -d")"
    set_clock "$1"
    local look
    for look in list show wait; do
        case $look in list) run task list --csv ;; *) run task "$look" "$id" ;; esac
        case $look in wait) expect_status 75 ;; *) expect_out unattended ;; esac
    done
    touch 10 20
    run task attach "$id" --from-start
    expect_status 0
    seq -f '[0] line %.0f' 0 29 >expected
    expect_same "what was shown" expected "$work/out"
}

test_case "a wall clock that is set while ranks run changes nothing" jumps_while_it_runs
for jump in $day -$day; do
    test_case "nor does it a grace ($jump s)" grace_is_the_same "$jump"
    test_case "nor the wait for another attempt ($jump s)" starts_again "$jump"
    test_case "nor the task of a launcher that has died ($jump s)" is_taken_over "$jump"
    test_case "nor does one become lost whose ranks end by a clock ($jump s)" is_not_lost "$jump"
done
finish
