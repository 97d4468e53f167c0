#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What ranks use is measured where they run, and shown.   usage_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

# Takes 64 MiB, and 0.3 s of CPU time in itself and as much in a process that it waits for.
hungry='
import os, sys, time
memory = b"x" * (64 << 20)
def burn():
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
burn()
child = os.fork()
if child == 0:
    burn()
    os._exit(0)
os.waitpid(child, 0)
print("up", flush=True)
'

of_ranks() { # of_ranks EXPRESSION: of the list `r` of what is known of the ranks of the only task
    run task show "$id" --json
    expect_schema task "$work/out"
    field "[($1) for r in [d['rank_results']]][0]" "$work/out"
}

sane='(lambda r: None not in (r["cpu_s"], r["memory_peak"]) and 0.6 <= r["cpu_s"] < 30
and 64 << 20 <= r["memory_peak"] < 1 << 30)'

at_the_end() {
    run launch -n 2 -- /usr/bin/python3 -c "$hungry
sys.exit(int(os.environ['RANK']) * 7)"
    expect_status 7
    id=$(task_id)
    # The failure of rank 1 may end rank 0 before that has used anything.
    expect_equal "figures" "True None" "$(of_ranks "str($sane(r[1])) + ' ' + str(r[1]['memory'])")"
    run task show "$id"
    expect_out '^RANK  HOST +SLOTS +CPU +MEMORY +PEAK  ENDED$'
    expect_out '^ +1  localhost +1 +[0-9.]+s +- +[0-9.]+ MiB  exit 7$'
}

# shown EXPRESSION: the same as a condition, of a task that goes on.
shown() {
    with_environment "$train" task show "$id" --json >"$work/shown" 2>&1 &&
        [ "$(field "[($1) for r in [d['rank_results']]][0]" "$work/shown")" = True ]
}

now='r[0]["memory"] is not None and 64 << 20 <= r[0]["memory"] <= r[0]["memory_peak"]'

while_it_runs() {
    start launch -n 1 -- /usr/bin/python3 -c "$hungry
time.sleep(4711)"
    within 30 "the rank is up" out_count_is 1 up
    id=$(task_id)
    within 20 "what it uses is shown" shown "$sane(r[0]) and $now and r[0]['exit_code'] is None"
    kill -INT "$launcher"
    await
    expect_gone
    expect_equal "at its end" "True None" "$(of_ranks "str($sane(r[0])) + ' ' + str(r[0]['memory'])")"
}

# The record has what ranks used a while ago; who goes on with the task hears of it anew.
over_launchers() {
    id=$(with_environment "$train" launch -d -n 1 -- /usr/bin/python3 -c "$hungry
while not os.path.exists('go'): time.sleep(0.02)" 2>"$work/err")
    within 20 "what it uses is shown" shown "$sane(r[0]) and $now"
    within 20 "it is recorded" is_recorded
    end_process "$(launcher_of)"
    within 20 "the task is unattended" state_is "$id" unattended
    expect_equal "without a launcher" "$(recorded)" \
        "$(of_ranks "round(r[0]['cpu_s'] * 1000), r[0]['memory'], r[0]['memory_peak']")"
    start task attach "$id"
    within 20 "somebody attends it" err_has "^train: task $id is attended again"
    within 20 "what it uses is shown" shown "$sane(r[0]) and $now"
    touch go
    await
    expect_status 0
    expect_equal "at its end" "True None" "$(of_ranks "str($sane(r[0])) + ' ' + str(r[0]['memory'])")"
}
is_recorded() { [ -n "$(recorded)" ]; }
# Its command line has lines.
launcher_of() { pids_of 'train launch -d' | head -n 1; }
recorded() {
    registry 'SELECT ranks FROM task' | /usr/bin/python3 -c 'import json, sys
rank = json.load(sys.stdin)[0]
if "cpu_ms" not in rank: sys.exit(1)
print((rank["cpu_ms"], rank["memory"], rank["memory_peak"]))'
}

# What ranks used in one attempt is none of the next one's.
by_attempt() {
    run launch -n 1 --set max_restarts=1 --set restart_delay=0s -- /usr/bin/python3 -c "
import os, sys
if os.environ['TRAIN_RESTART_COUNT'] == '0':
    memory = b'x' * (256 << 20)
    sys.exit(1)"
    expect_status 0
    id=$(task_id)
    expect_equal "in the second attempt" True "$(of_ranks 'r[0]["memory_peak"] < 128 << 20')"
}

test_case "what ranks have used is kept with their ends" at_the_end
test_case "what a rank uses is told while it runs" while_it_runs
test_case "what a rank uses outlives its launcher" over_launchers
test_case "what ranks use is of one attempt" by_attempt
finish
