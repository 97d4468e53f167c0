#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# launch -d returns once the ranks have started, and the task goes on by itself.
# detach_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

launcher_of() { pids_of "launch -d"; }

# detach [ARGUMENT...] -- COMMAND...: as `id=$(train launch -d ...)`; sets `id` and `status`.
detach() {
    id=$(with_environment "$train" launch -d "$@" 2>"$work/err")
    status=$?
}

goes_on() {
    detach -n 2 -- /bin/sh -c 'while [ ! -e go ]; do sleep 0.05; done; echo "done $RANK"; echo "bad $RANK" >&2'
    expect_status 0
    [[ $id =~ ^[a-z2-7]{8}$ ]] || note_failure "stdout is not an id alone: '$id'"
    expect_err "^train: task $id runs on its own now"
    expect_err "^  train task wait $id$"
    expect_equal "state" running "$(state_of "$id")"
    local pid
    pid=$(launcher_of)
    expect_equal "launchers" 1 "$(wc -w <<<"$pid")"
    # Nothing ties it to where it came from.
    expect_equal "session" "$pid" "$(ps -o sid= -p "$pid" | tr -d ' ')"
    expect_equal "stdin" /dev/null "$(readlink "/proc/$pid/fd/0")"
    local log=$work/state/train/tasks/$id/launcher.log
    expect_equal "stdout" "$log" "$(readlink "/proc/$pid/fd/1")"
    expect_equal "stderr" "$log" "$(readlink "/proc/$pid/fd/2")"
    expect_equal "mode" 600 "$(stat -c %a "$log")"
    touch go
    with_environment "$train" task wait "$id" 2>"$work/err"
    expect_equal "status of task wait" 0 $?
    with_environment "$train" task logs "$id" >"$work/out"
    expect_equal "output" "$(printf '%s\n' '[0] bad 0' '[0] done 0' '[1] bad 1' '[1] done 1')" "$(sort "$work/out")"
    expect_equal "what the launcher had to say" "" "$(cat "$log")"
}

# What the shell has open stays the shell's. A hosts file behind a descriptor is read before that.
keeps_no_descriptor() {
    local pid
    echo secret >"$work/secret"
    id=$( (exec 7<"$work/secret"; exec_with_environment "$train" launch -d --hostfile <(echo 'localhost slots=1') \
        -n 1 -- /bin/sh -c 'exec sleep 4711') 2>"$work/err")
    status=$?
    expect_status 0
    expect_equal "launchers" 1 "$(launcher_of | wc -w)"
    for pid in $(pids_of .); do
        expect_equal "what process $pid has open of the shell" "" \
            "$(find "/proc/$pid/fd" -lname "$work/secret" 2>/dev/null)"
    done
    # With the pipes that are its own, and none of bash's.
    expect_equal "descriptors that would be inherited" 3 "$(inheritable "$(launcher_of)")"
    with_environment "$train" task kill "$id" 2>"$work/err"
}

# inheritable PID: how many of its descriptors a program that it executes would have.
inheritable() { grep -LE '^flags:.*[2367][0-7]{6}$' "/proc/$1"/fdinfo/* 2>/dev/null | wc -l; }

limit_of_cores() { sed -n 's/^Max core file size *\([^ ]*\) .*/\1/p' "/proc/$1/limits"; }

# The environment and keys of the launcher are no core's. The ranks have the limit of the shell.
leaves_no_core() {
    (ulimit -S -c 8) 2>/dev/null || { skip "cores are not allowed here"; return; }
    # A limit of 0, as shells have it, is none for a pipe that takes cores.
    local kib
    for kib in 0 8; do
        [ "$kib" = 0 ] || with_environment "$train" task kill "$id" 2>"$work/err"
        id=$( (ulimit -S -c "$kib"; exec_with_environment "$train" launch -d -n 1 -- /bin/sh -c 'exec sleep 4711') 2>"$work/err")
        status=$?
        expect_status 0
        expect_equal "limit of the launcher" 1 "$(limit_of_cores "$(launcher_of)")"
        expect_equal "limit of the rank" $((kib * 1024)) "$(limit_of_cores "$(rank_pid '^sleep 4711')")"
    done
    # Another launcher that goes on with it.
    end_process "$(launcher_of)"
    (ulimit -S -c 8; exec_with_environment timeout -k 5 600 "$train" task attach "$id") >"$work/out" 2>"$work/err" &
    within 20 "the task is attended again" grep -q 'is attended again' "$work/err"
    local pid
    for pid in $(pids_of "task attach"); do
        [ "$pid" = "$(ps -o sid= -p "$pid" | tr -d ' ')" ] || continue
        expect_equal "limit of the next launcher" 1 "$(limit_of_cores "$pid")"
    done
    with_environment "$train" task kill "$id" 2>"$work/err"
    wait $!
}

tells_the_end() {
    grep -q '^train: failed: worker: rank 0 on .localhost. exited with code 3 (exit 3)$' \
        "$work/state/train/tasks/$id/launcher.log"
}

fails_later() {
    detach -n 1 -- /bin/sh -c 'while [ ! -e go ]; do sleep 0.05; done; echo why >&2; exit 3'
    expect_status 0
    touch go
    with_environment "$train" task wait "$id" 2>"$work/err"
    expect_equal "status of task wait" 3 $?
    within 20 "launcher.log has the last words" tells_the_end
}

never_starts() {
    detach -n 2 -- ./nowhere
    expect_status 72
    expect_equal "stdout" "" "$id"
    expect_err "cannot execute '.*/nowhere': no such file"
    expect_last_err "failed: missing: host 'localhost': cannot execute '$PWD/./nowhere' (exit 72)"
    detach -n 5 -H localhost:2 -- true
    expect_status 69
    detach nothing.yaml
    expect_status 66
}

is_killed() {
    detach -n 2 -- /bin/sh -c 'exec sleep 4711'
    with_environment "$train" task kill "$id" 2>"$work/err"
    expect_equal "status of task kill" 0 $?
    expect_equal "state" killed "$(state_of "$id")"
    with_environment "$train" task wait "$id" 2>"$work/err"
    expect_equal "status of task wait" 143 $?
}

hears_no_hangup() {
    # A session whose leader hangs up, as a terminal that is closed.
    { (exec_with_environment "$setsid" /bin/bash -c '"$1" launch -d -n 1 -- /bin/sh -c "exec sleep 4711" >id 2>err
        kill -HUP 0' - "$train"); } >/dev/null 2>&1
    id=$(cat id)
    stays 1 state_is "$id" running || note_failure "state: $(state_of "$id")"
    with_environment "$train" task kill "$id" 2>"$work/err"
}

# As an administrator tells a daemon to read its settings again. What is asked after that is answered after it.
hears_no_hangup_of_its_own() {
    detach -n 1 -- /bin/sh -c 'while [ ! -e go ]; do sleep 0.05; done'
    kill -HUP "$(launcher_of)"
    with_environment "$train" task show "$id" >"$work/out" 2>"$work/err"
    expect_equal "status of task show" 0 $?
    stays 1 state_is "$id" running || note_failure "state: $(state_of "$id")"
    kill -HUP "$(launcher_of)" || note_failure "no launcher"
    touch go
    with_environment "$train" task wait "$id" 2>"$work/err"
    expect_equal "status of task wait" 0 $?
}

launcher_dies() {
    detach -n 2 --set stop_grace=100ms --set on_launcher_loss=stop --set reconnect_window=0s -- /bin/sh -c 'exec sleep 4711'
    end_process "$(launcher_of)"
    eventually 15 process_count_is 0 . || note_failure "still there: $(processes)"
    eventually 30 state_is "$id" lost || note_failure "state: $(state_of "$id")"
}

what_does_not_go_together() {
    run launch -d --json -n 1 -- true
    expect_status 64
    expect_err '--json excludes --detach|--detach excludes --json'
    run launch -d --tee all -n 1 -- true
    expect_status 64
}

test_case "a detached launch prints the id alone, and the task goes on by itself" goes_on
test_case "it has nothing open of what the shell has" keeps_no_descriptor
test_case "its launcher leaves no core, and its ranks have the limit of the shell" leaves_no_core
test_case "what goes wrong later is told by task wait, and kept" fails_later
test_case "what cannot start is told at once, with its code" never_starts
test_case "a detached task is killed like any other" is_killed
test_case "a terminal that hangs up is nothing to it" hears_no_hangup
test_case "so is SIGHUP to its launcher" hears_no_hangup_of_its_own
test_case "a detached launcher that dies leaves nothing, if that is wanted" launcher_dies
test_case "flags that make no sense with --detach are refused" what_does_not_go_together
finish
