#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Launcher, agent and guard that die, and ranks that do not want to.   faults_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

two=(-H localhost:2 -n 2)
# One that ignores TERM, with a child, and a daemon in a session of its own.
stubborn='trap "" TERM INT HUP
    (setsid sh -c "trap \"\" TERM HUP; sleep 4711" &)
    echo up
    while :; do sleep 4711; done'

start_stubborn() { # start_stubborn [ARGUMENT...]
    start launch "${two[@]}" "$@" -- /bin/sh -c "$stubborn"
    within 30 "both ranks are up" out_count_is 2 up
    within 20 "daemons and children run" process_count_is 4 '^sleep 4711'
    agent=$(agent_pid '^/bin/sh -c trap') guard=$(parent_of "$agent")
}

# For as long as it may have ranks.
nobody_attends() {
    expect_equal "state of the task" unattended "$(state_of "$(task_id)")"
}

launcher_is_killed() {
    start_stubborn --set stop_grace=1s
    kill -KILL "$launcher"
    await
    expect_gone
    nobody_attends
}

agent_is_killed() {
    start_stubborn
    kill -KILL "$agent"
    await
    expect_status 76
    expect_err "host 'localhost'"
    expect_gone
}

guard_is_killed() {
    start_stubborn --set stop_grace=1s
    kill -KILL "$guard"
    await
    expect_status 76
    expect_gone
}

# Ranks die with their agent; what they started does not: a child, one in a session of its own, one
# that has forgotten its environment, one of both, and a daemon that has forked twice.
abandoned='sleep 4711 &
    setsid sleep 4711 &
    env -i sleep 4711 &
    (setsid env -i sleep 4711 &)
    (setsid sh -c "(setsid sleep 4711 >/dev/null 2>&1 </dev/null &)" &)
    echo up
    exec sleep 4712'

abandoned_count=10 # on two ranks

start_abandoned() { # start_abandoned [ARGUMENT...]: sets `agent` and `guard`
    start launch "${two[@]}" "$@" -- /bin/sh -c "cd '$work/here'; $abandoned"
    within 30 "both ranks are up" out_count_is 2 up
    within 20 "all that the ranks start runs" abandoned_are "$abandoned_count"
    agent=$(agent_pid '^sleep 4712')
    guard=$(parent_of "$agent")
}

# By working directory: some have no environment to know them by.
abandoned_pids() {
    local pid
    for pid in $(pgrep -fx 'sleep 471[12]'); do
        [ "$(readlink "/proc/$pid/cwd")" != "$work/here" ] || echo "$pid"
    done
}
abandoned_are() { [ "$(abandoned_pids | wc -l)" -eq $(($1 + 2)) ]; }  # and the ranks
# It has gone already: whoever ended it has waited for that.
expect_nothing_abandoned() {
    [ -n "$(settled abandoned_pids)" ] || return 0
    note_failure "left: $(ps -o pid=,ppid=,sid=,args= -p "$(abandoned_pids | paste -sd,)")"
    # shellcheck disable=SC2046 # one word each
    kill -KILL $(abandoned_pids)
}

# Stopped before, so that neither has time to do anything about the other's end.
kill_both() {
    freeze "$agent"
    kill -KILL "$guard" "$agent"
}

# Only a cgroup of their own holds a process that keeps nothing of its rank.
can_make_cgroup() {
    local root=/sys/fs/cgroup
    [ ! -d "$root/unified" ] || root+=/unified
    root+=$(sed -n 's/^0:://p' /proc/self/cgroup)
    mkdir "$root/train-probe.$$" 2>/dev/null && rmdir "$root/train-probe.$$"
}
with_cgroup() {
    can_make_cgroup || { skip "no cgroup can be made here"; return; }
    forgetful='(setsid env -i sleep 4711 </dev/null >/dev/null 2>&1 &)'
    abandoned="$forgetful; $abandoned" abandoned_count=12 "$@"
    within 20 "its cgroup is removed" no_cgroup_is_left
}
no_cgroup_is_left() { [ -z "$(find /sys/fs/cgroup -name "train-$(task_id)-*" 2>/dev/null)" ]; }
without_cgroup() {
    environment=(TRAIN_HOST_CGROUPS=none)
    "$@"
}

ended_line='[0-9]+ processes that it had left were ended'

# Asked for once more, the host ends what was left before it says that there is no agent.
guard_and_agent_are_killed() {
    start_abandoned
    kill_both
    await
    expect_status 76
    expect_last_err "failed: host: host 'localhost': its agent has ended, and its ranks with it (exit 76)"
    expect_nothing_abandoned
    expect_gone
}

they_are_killed_without_a_window() {
    start_abandoned --set reconnect_window=0s
    kill_both
    await
    expect_status 76
    expect_err "^train: host 'localhost': its agent was killed; $ended_line$"
    expect_last_err "failed: host: host 'localhost': the agent ended the connection (exit 76)"
    expect_nothing_abandoned
    expect_gone
}

all_three_are_killed() {
    start_abandoned "$@"
    freeze "$agent"
    kill -KILL "$launcher"
    kill_both
    await
    [ "$(settled abandoned_pids | wc -l)" -ge "$abandoned_count" ] || note_failure "nothing was left to be ended"
}

next_launch_sweeps() {
    all_three_are_killed
    run launch -n 1 -- true
    expect_status 0
    expect_nothing_abandoned
    expect_gone
}

# Its hosts are asked for their agents, as another launcher would.
task_kill_asks() {
    all_three_are_killed
    id=$(task_id)
    with_environment "$train" task kill "$id" 2>"$work/err"
    expect_equal "status of task kill" 0 $?
    expect_err "^train: task $id: killed$"
    expect_nothing_abandoned
    expect_gone
}

task_kill_sweeps() {
    all_three_are_killed --set reconnect_window=0s
    id=$(task_id)
    with_environment "$train" task kill "$id" 2>"$work/err"
    expect_equal "status of task kill" 0 $?
    expect_err "^train: host 'localhost': its agent was killed; $ended_line$"
    expect_err "^train: task $id has ended already: lost; nothing of it is left on its hosts$"
    expect_nothing_abandoned
    expect_gone
    with_environment "$train" task kill "$id" 2>"$work/err"
    expect_equal "status of another task kill" 0 $?
    expect_equal "said" "train: task $id has ended already: lost; nothing of it is left on its hosts" "$(cat "$work/err")"
}

launcher_and_agent_are_killed() {
    start_stubborn
    kill -KILL "$launcher" "$agent"
    await
    expect_gone
    nobody_attends
}

ignores_term() {
    start_stubborn --set stop_grace=300ms
    kill -INT "$launcher"
    await
    expect_status 130
    expect_gone
}

# It lives far longer than `run` waits.
daemon_of_a_finished_rank() {
    run launch "${two[@]}" -- /bin/sh -c '(setsid sh -c "sleep 4711" &); echo done'
    expect_status 0
    expect_gone
}

daemon_that_floods() { # daemon_that_floods CODE
    run launch -n 1 --tee none -- /bin/sh -c 'setsid sh -c "echo up >up; exec yes 4711" & while [ ! -e up ]; do sleep 0.01; done; exit $1' - "$1"
    expect_status "$1"
    within 20 "it is gone" process_count_is 0 '^yes 4711'
}

# The ranks say their last words when they are told to end, and those arrive.
agent_is_told_to_end() {
    start launch "${two[@]}" -- /bin/sh -c 'trap "echo last words; exit 3" TERM; echo up; while :; do sleep 0.05; done'
    within 30 "both ranks are up" out_count_is 2 up
    kill -TERM "$(agent_pid '^/bin/sh -c trap')"
    await
    expect_status 76
    expect_err "^train: host 'localhost': its agent failed: a signal has told it to end"
    expect_equal "last words" 2 "$(grep -c 'last words$' "$work/out")"
    expect_gone
}

daemon_forked_twice() {
    run launch -n 1 -- /usr/bin/python3 -c 'import os, sys, time
for _ in range(2):
    if os.fork(): os._exit(0) if os.getpid() != os.getsid(0) else sys.exit(0)
    os.setsid()
time.sleep(4711)'
    expect_status 0
    expect_gone
}

daemon_without_our_marks() {
    # Its environment is empty: only descent can find it. Nor does the case: it looks by name.
    local daemon="sleep 4711.$$"
    run launch -n 1 -- /bin/sh -c "(setsid env -i $daemon &); until pgrep -fx '$daemon'; do sleep 0.02; done"
    expect_status 0
    expect_equal "daemons that are left" "" "$(settled pgrep -fax "$daemon")"
}

frozen_rank() {
    start launch "${two[@]}" --set stop_grace=300ms -- /bin/sh -c 'echo up; exec sleep 4711'
    within 30 "both ranks are up" out_count_is 2 up
    local pid
    for pid in $(pids_of '^sleep 4711'); do kill -STOP "$pid"; done
    kill -TERM "$launcher"
    await
    expect_status 143
    expect_gone
}

many_children() {
    run launch -n 1 -- /bin/sh -c 'for i in $(seq 200); do sleep 4711 & done; exit 2'
    expect_status 2
    expect_gone
}

test_case "kill -9 of the launcher leaves nothing, and nobody attends the task" launcher_is_killed
test_case "kill -9 of the agent ends the task and leaves nothing" agent_is_killed
test_case "kill -9 of the guard ends the task and leaves nothing" guard_is_killed
for cgroup in with_cgroup without_cgroup; do
    how=${cgroup/_/ a }
    test_case "kill -9 of guard and agent leaves nothing, $how" $cgroup guard_and_agent_are_killed
    test_case "without a reconnect window a line says what was left, $how" $cgroup they_are_killed_without_a_window
    test_case "what is left after kill -9 of all three goes with the next launch, $how" $cgroup next_launch_sweeps
    test_case "what is left after kill -9 of all three goes with task kill, $how" $cgroup task_kill_asks
    test_case "so it does without a window, $how" $cgroup task_kill_sweeps
done
test_case "kill -9 of launcher and agent leaves nothing" launcher_and_agent_are_killed
test_case "ranks that ignore TERM are killed after the grace, with their daemons" ignores_term
test_case "a daemon that holds stdout neither delays the end nor survives it" daemon_of_a_finished_rank
test_case "one that prints for ever does not delay the end either" daemon_that_floods 0
test_case "nor does it after a failure" daemon_that_floods 3
test_case "what ranks say when their agent is told to end is not lost" agent_is_told_to_end
test_case "a daemon that forked twice does not survive its task" daemon_forked_twice
test_case "a daemon with an empty environment does not survive its task" daemon_without_our_marks
test_case "stopped ranks are killed" frozen_rank
test_case "two hundred children of a failed rank go with it" many_children
finish
