#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# task list, show, logs and kill tell the truth.   task_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

two=(-H localhost:2 -n 2)

start_task() { # start_task [ARGUMENT...]: sets `id`
    start launch "${two[@]}" "$@" -- /bin/sh -c 'echo "up $RANK"; exec sleep 4711'
    within 30 "both ranks are up" out_count_is 2 up
    id=$(task_id)
    within 20 "it is running" state_is "$id" running
}

task() { with_environment "$train" task "$@" >"$work/out" 2>"$work/err"; status=$?; }

every_state() {
    run launch -n 1 -- true
    local succeeded failed killed interrupted lost
    succeeded=$(task_id)
    run launch -n 1 -- false
    failed=$(task_id)
    start_task
    killed=$id
    task kill "$id"
    await
    start_task
    interrupted=$id
    kill -INT "$launcher"
    await
    start_task --set stop_grace=100ms --set reconnect_window=0s
    lost=$id
    within 20 "it is running" state_is "$id" running
    kill -KILL "$launcher"
    await
    expect_gone
    within 60 "it is lost" state_is "$lost" lost
    start_task
    task list --all --csv
    expect_status 0
    local pair
    for pair in "$succeeded:succeeded" "$failed:failed" "$killed:killed" \
        "$interrupted:interrupted" "$lost:lost" "$id:running"; do
        expect_out "^${pair%:*},[a-z]+,${pair#*:},"
    done
    expect_equal "lines" 7 "$(wc -l <"$work/out")"
    expect_equal "heading" $'ID,NAME,STATE,SLOTS,HOSTS,RANKS,USER,STARTED,ELAPSED,RESTARTS\r' "$(head -n 1 "$work/out")"
    task list
    expect_equal "lines without --all" 2 "$(wc -l <"$work/out")"
    expect_out "^$id +sh +running +2 +localhost +2 +[a-z]+ +20[0-9-]+ [0-9:]+ +[0-9.]+s +0$"
    task show "$id" --json
    expect_schema task "$work/out"
    expect_equal "now" '["localhost: running"] 2' "$(field \
        'json.dumps([h["name"] + ": " + h["state"] for h in d["now"]["hosts"]]) + " " + str(d["now"]["ranks_left"])' "$work/out")"
    task list --json
    expect_schema task "$work/out"
    expect_equal "tasks in --json" "['$id']" "$(field '[t["id"] for t in d["tasks"]]' "$work/out")"
    task list --all --json
    expect_schema task "$work/out"
    expect_equal "tasks in --all --json" 6 "$(field 'len(d["tasks"])' "$work/out")"
    task show "$lost" --json
    expect_schema task "$work/out"
    expect_equal "the last event of a lost task" "task_over lost" "$(field 'd["events"][-1]["what"] + " " + d["events"][-1]["text"]' "$work/out")"
    task show "$killed" --json
    expect_schema task "$work/out"
    expect_equal "a killed task's exit code" 143 "$(field 'd["exit_code"]' "$work/out")"
    expect_equal "its events" "created supervised attempt_begun ranks_started stop_requested attempt_failing task_over" \
        "$(field '" ".join(e["what"] for e in d["events"])' "$work/out")"
    expect_equal "its end" "stopped by SIGTERM" "$(field 'd["events"][-1]["text"]' "$work/out")"
    task show "$killed"
    expect_out '[0-9:]{8}  stop requested by SIGTERM$'
    task kill "$id"
    await
}

shown_to_people() {
    run launch "${two[@]}" -- /bin/sh -c 'echo "because of $RANK" >&2; [ $RANK = 0 ] && exec sleep 60; exit 6'
    expect_status 6
    task show "$(task_id)"
    expect_status 0
    expect_out "^task +$(task_id)$"
    expect_out '^state +failed$'
    expect_out '^exit code +6$'
    expect_out "^cause +worker: rank 1 on 'localhost' exited with code 6$"
    expect_out "^next +train task logs $(task_id) --rank 1 --tail 50; train task rerun $(task_id)$"
    expect_equal "what is said first" "task name state exit cause next" \
        "$(head -n 6 "$work/out" | cut -d ' ' -f 1 | paste -sd ' ')"
    expect_out '^localhost +0-1 +\|0\|1\|$'
    expect_out "[0-9:]{8}  rank 1 on 'localhost' exited with code 6$"
    expect_out '^ +0 +localhost +0 .* SIGTERM \(stopped by train\)$'
    expect_out '^ +1 +localhost +1 .* exit 6$'
}

prefixes() {
    start_task
    task show "${id:0:4}"
    expect_status 0
    expect_out "^task +$id$"
    task kill "${id:0:7}"
    expect_status 0
    await
    task show "${id}x"
    expect_status 66
    expect_err "^train: there is no task '${id}x'$"
    expect_last_err 'failed: no_input (exit 66)'
    # With more tasks than letters, two begin alike.
    local i
    for i in $(seq 33); do
        with_environment "$train" launch -n 1 -- true 2>/dev/null || note_failure "launch $i failed"
    done
    local letter
    letter=$(find "$work/state/train/tasks" -mindepth 1 -maxdepth 1 -printf '%f\n' | cut -c 1 | sort | uniq -d | head -n 1)
    task show "$letter"
    expect_status 66
    expect_err "^train: '$letter' is the start of several tasks: "
    expect_last_err 'failed: no_input (exit 66)'
    task kill "$letter"
    expect_status 66
}

damaged_records() {
    run launch -n 1 -- true
    local good bad
    good=$(task_id)
    run launch -n 1 -- true
    bad=$(task_id)
    registry "UPDATE task SET state = 'dancing' WHERE id = '$bad'"
    detach
    local format
    for format in '' --csv --json; do
        # shellcheck disable=SC2086 # nothing is a format, too
        task list --all $format
        expect_status 66
        expect_out "$good"
        expect_out "$id"
        expect_err "^train: the task registry is damaged: task $bad has the unknown state 'dancing'$"
        expect_err "^  train task rm --force $bad removes it; its logs are in '$work/state/train/tasks/$bad/logs'$"
        expect_last_err 'failed: no_input (exit 66)'
    done
    expect_schema task "$work/out"
    task list
    expect_status 66
    expect_out "^$id .* running "
    expect_err "task $bad has the unknown state"
    task show "$bad"
    expect_status 66
    expect_err "task $bad has the unknown state 'dancing'"
    expect_err "train task rm --force $bad"
    task show "$good"
    expect_status 0
    task prune --older-than 0 --dry-run
    expect_status 66
    expect_out "^$good "
    expect_err "task $bad has the unknown state"
    task kill --all
    expect_status 66
    expect_err "task $bad has the unknown state"
    expect_err "^train: stopping 1 task: $id$"
    expect_err "^train: task $id: killed$"
    expect_last_err 'failed: no_input (exit 66)'
    task kill --all
    expect_status 66
    expect_err "^train: no other task runs$"
    task rm "$bad"
    expect_status 66
    expect_err "train task rm --force $bad"
    task rm --force "$bad"
    expect_status 0
    expect_err "^train: task $bad is removed; "
    [ ! -e "$work/state/train/tasks/$bad" ] || note_failure "its folder is there"
    task list --all
    expect_status 0
    expect_out "^$good "
}

no_tasks() {
    task list
    expect_status 0
    expect_equal "lines" 1 "$(wc -l <"$work/out")"
    task list --json
    expect_schema task "$work/out"
    task list --csv
    expect_equal "lines" 1 "$(wc -l <"$work/out")"
    local command
    for command in show logs kill; do
        task "$command" nonesuch
        expect_status 66
        expect_err "^train: there is no task 'nonesuch'$"
        expect_err "task list --all"
        task "$command" ''
        expect_status 64
    done
}

logs_of_ranks() {
    printf 'a\x1b[1mb\r\nlast' >bytes
    run launch "${two[@]}" -- /bin/sh -c 'cat bytes; echo " of $RANK" >&2'
    id=$(task_id)
    task logs "$id"
    expect_status 0
    expect_out '^\[0\] a\\x1b\[1mb$'
    expect_out '^\[1\] last'
    task logs "$id" --rank 1
    expect_same "the log of rank 1" "$(log_of 1)" "$work/out"
    task logs "$id" --rank 2
    expect_status 66
    expect_err "^train: task $id has no rank 2: its ranks are 0 to 1$"
    rm "$(log_of 0)"
    task logs "$id"
    expect_status 66
    expect_err 'rank-0.0.log'
}

# A rank speaks when all that the one before it said is in the log: an agent reads its ranks, and the
# two streams of a rank, in no order that could be relied upon otherwise. Of two agents the lines are
# in the order of their clocks, which are compared to within half a round trip only.
chosen_logs() {
    run launch -H localhost:2,127.0.0.1:2 -n 4 -- /bin/sh -c 'echo "first of $RANK"
        before=$(ls -d "$0"/*)/logs/rank-$((RANK - 1)).0.log
        until [ $RANK = 0 ] || [ "$(grep -cs "^[el].* of" "$before")" = 2 ]; do sleep 0.02; done
        echo "error of $RANK" >&2; echo "last of $RANK"' "$work/state/train/tasks"
    expect_status 0
    id=$(task_id)
    task logs "$id" --rank 0,2
    expect_equal "ranks 0 and 2" "[0] [2]" "$(cut -d ' ' -f 1 "$work/out" | sort -u | paste -sd ' ')"
    task logs "$id" --rank 1-2 --stderr
    expect_equal "stderr of 1 and 2" "[1] error of 1,[2] error of 2" "$(sort "$work/out" | paste -sd ,)"
    task logs "$id" --host 127.0.0.1 --stdout
    expect_equal "stdout of a host" "[2] first of 2,[2] last of 2,[3] first of 3,[3] last of 3" "$(sort -s -k 1,1 "$work/out" | paste -sd ,)"
    task logs "$id" --rank 1 --stderr
    expect_equal "stderr of 1, as it is" "error of 1" "$(cat "$work/out")"
    task logs "$id" --stdout --tail 2 --host 127.0.0.1
    expect_equal "the last two" "[2] last of 2,[3] last of 3" "$(paste -sd , "$work/out")"
    task logs "$id" --rank 0 --stdout --tail 1
    expect_equal "the last of 0" "last of 0" "$(cat "$work/out")"
    task logs "$id" --since 1h --tail 1 --timestamps --stdout --host 127.0.0.1
    expect_out '^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}[+-][0-9]{2}:[0-9]{2} \[3\] last of 3$'
    expect_equal "since a time that is printed" "[3] last of 3" \
        "$(with_environment "$train" task logs "$id" --stdout --host 127.0.0.1 --since "$(cut -d ' ' -f 1 "$work/out")" | tail -n 1)"
    task logs "$id" --since 2100-01-01
    expect_status 0
    expect_equal "since a time to come" "" "$(cat "$work/out")"
    task logs "$id" --rank 0,4
    expect_status 66
    expect_err "^train: task $id has no rank 4: its ranks are 0 to 3$"
    task logs "$id" --rank 2-1
    expect_status 64
    expect_err "^train: --rank does not know '2-1'$"
    task logs "$id" --host localhos
    expect_status 66
    expect_err "^train: task $id is not on host 'localhos'$"
    expect_err "did you mean 'localhost'"
    task logs "$id" --rank 0 --host 127.0.0.1
    expect_status 66
    expect_err "^train: no rank of 0 is on 127.0.0.1$"
    task logs "$id" --since soon
    expect_status 64
    expect_err "^train: --since does not know 'soon'$"
    task logs "$id" --stdout --stderr
    expect_status 64
    task logs "$id" --tail -1
    expect_status 64
}

logs_of_attempts() {
    run launch -n 1 --set max_restarts=1 --set restart_delay=0s -- /bin/sh -c 'echo "a $TRAIN_RESTART_COUNT"
        echo "b $TRAIN_RESTART_COUNT"; [ $TRAIN_RESTART_COUNT = 1 ]'
    expect_status 0
    id=$(task_id)
    task logs "$id" --attempt all --tail 3
    expect_equal "the last three of all attempts" "[0] b 0,[0] a 1,[0] b 1" "$(paste -sd , "$work/out")"
    expect_equal "said" "train: attempt 0,train: attempt 1" "$(paste -sd , "$work/err")"
    task logs "$id" --attempt all --tail 2
    expect_equal "the last two of all attempts" "[0] a 1,[0] b 1" "$(paste -sd , "$work/out")"
    task logs "$id" --since 3600
    expect_equal "since an hour" "[0] a 0,[0] b 0,[0] a 1,[0] b 1" "$(paste -sd , "$work/out")"
    task logs "$id" --since 1h --attempt 0
    expect_equal "of the first since an hour" "[0] a 0,[0] b 0" "$(paste -sd , "$work/out")"
}

followed_logs() {
    start launch "${two[@]}" -- /bin/sh -c 'echo first; until [ -e go ]; do sleep 0.05; done; printf "%s" last'
    within 30 "both ranks are up" out_count_is 2 first
    id=$(task_id)
    : >"$work/followed"
    (exec_with_environment "$train" task logs "$id" -f) >"$work/followed" 2>"$work/err" &
    local follower=$!
    eventually 20 grep -q '^\[1\] first$' "$work/followed" || note_failure "nothing is followed"
    kill -0 "$follower" || note_failure "it did not go on"
    touch go
    await
    wait "$follower"
    expect_equal "status of task logs -f" 0 $?
    expect_equal "what was followed" "$(printf '[%s] %s\n' 0 first 0 last 1 first 1 last)" "$(sort "$work/followed")"
    start_task
    (exec_with_environment "$train" task logs "$id" -f --rank 0) >"$work/followed" 2>"$work/err" &
    follower=$!
    kill -KILL "$launcher"
    await
    eventually 90 has_gone "$follower" || note_failure "it follows a task that is lost"
    expect_gone
}

left_follower() {
    start_task
    (exec_with_environment timeout 600 "$train" task logs "$id" -f) | head -n 1 >"$work/followed"
    expect_equal "lines" 1 "$(wc -l <"$work/followed")"
    kill -TERM "$launcher"
    await
}

killed() {
    start launch "${two[@]}" -- /bin/sh -c 'trap "sleep 1; echo saved; exit 0" TERM; echo up; while :; do sleep 0.05; done'
    within 30 "both ranks are up" out_count_is 2 up
    id=$(task_id)
    with_environment "$train" task kill "$id" 2>"$work/kill_err"
    expect_equal "status of task kill" 0 $?
    expect_equal "ranks after task kill" "" "$(settled processes '^/bin/sh')"
    expect_equal "state after task kill" killed "$(state_of "$id")"
    expect_equal "said" "train: task $id: killed" "$(cat "$work/kill_err")"
    await
    expect_status 143
    expect_equal "ranks that had their grace" 2 "$(grep -c saved "$work/out")"
    expect_last_err "failed: interrupted: stopped by SIGTERM (exit 143)"
    task kill "$id"
    expect_status 0
    expect_err "^train: task $id has ended already: killed$"
}

killed_twice() {
    start launch -n 1 --set stop_grace=1h -- /bin/sh -c 'trap "" TERM; echo up; while :; do sleep 0.05; done'
    within 30 "the rank is up" out_has up
    id=$(task_id)
    (exec_with_environment "$train" task kill "$id") 2>"$work/kill_err" &
    local first=$!
    within 20 "it is stopping" state_is "$id" stopping
    task kill "$id"
    expect_status 0
    wait "$first"
    expect_equal "status of the first task kill" 0 $?
    await
    expect_status 143
}

# detach [ARGUMENT...]: a task that runs on its own; sets `id`.
detach() {
    id=$(with_environment "$train" launch -d -n 1 --set leases=none "$@" -- /bin/sh -c 'trap "exit 0" TERM; while :; do sleep 0.05; done' 2>/dev/null)
    [ -n "$id" ] || note_failure "nothing was launched"
}

killed_together() {
    local first second third
    detach; first=$id
    detach; second=$id
    detach; third=$id
    task kill "$first" nonesuch "${second:0:7}" "$first"
    expect_status 66
    expect_err "^train: there is no task 'nonesuch'$"
    expect_err "^train: task $first: killed$"
    expect_err "^train: task $second: killed$"
    expect_err "^train: 1 of 3 tasks could not be stopped, or may have left something$"
    expect_last_err 'failed: no_input (exit 66)'
    expect_equal "the third" running "$(state_of "$third")"
    task kill "$first" "$second"
    expect_status 0
    expect_err "^train: task $first has ended already: killed$"
    expect_err "^train: task $second has ended already: killed$"
    task kill "$third"
    expect_status 0
    task kill
    expect_status 64
    expect_err '^train: no task is named$'
    task kill "$third" --all
    expect_status 64
}

killed_all() {
    local first second unattended pid
    task kill --all
    expect_status 0
    expect_err '^train: no task runs$'
    run launch -n 1 -- true
    local ended
    ended=$(task_id)
    detach --set max_restarts=1; first=$id
    detach; second=$id
    detach; unattended=$id
    pid=$(settled pids_of "^$train launch -d" | tail -n 1)
    kill -KILL "$pid"
    within 20 "one is unattended" out_of_list_has unattended
    task kill --all
    expect_status 0
    expect_err '^train: stopping 3 tasks: [a-z2-7]{8}, [a-z2-7]{8}, [a-z2-7]{8}$'
    for id in "$first" "$second" "$unattended"; do
        expect_equal "state of $id" killed "$(state_of "$id")"
    done
    expect_equal "state of the one that had ended" succeeded "$(state_of "$ended")"
    task kill --all
    expect_err '^train: no task runs$'
}
out_of_list_has() { with_environment "$train" task list --csv | grep -q "$1"; }

killed_by_another_signal() {
    detach
    task kill "$id" --signal USR1
    expect_status 64
    expect_err "^train: --signal does not know 'USR1'$"
    expect_err 'INT, TERM or HUP'
    task kill "$id" --signal sigint
    expect_status 0
    expect_err "^train: task $id: interrupted$"
    task show "$id" --json
    expect_equal "exit code" 130 "$(field 'd["exit_code"]' "$work/out")"
    detach
    end_process "$(settled pids_of "^$train launch -d")"
    within 20 "it is unattended" out_of_list_has unattended
    task kill "$id" --signal HUP
    expect_status 0
    task show "$id" --json
    expect_equal "exit code of the unattended one" 129 "$(field 'd["exit_code"]' "$work/out")"
}

removed() {
    local running first second
    run launch -n 1 -- echo one
    first=$(task_id)
    run launch -n 1 -- echo two
    second=$(task_id)
    detach; running=$id
    task rm "${first:0:7}" nonesuch "$running" "$second" "$first"
    expect_status 75
    expect_no_err "there is no task '$first'"
    expect_err "^train: task $first is removed$"
    expect_err "^train: task $second is removed$"
    expect_err "^train: task $running is not removed: it is running$"
    expect_err "train task kill $running stops it"
    expect_err "^train: there is no task 'nonesuch'$"
    expect_last_err 'failed: busy (exit 75)'
    task show "$first"
    expect_status 66
    expect_equal "what is left" "$running" "$(ls -A "$work/state/train/tasks")"
    end_process "$(settled pids_of "^$train launch -d")"
    within 20 "it is unattended" out_of_list_has unattended
    task rm "$running"
    expect_status 75
    expect_err "^train: task $running is not removed: its launcher has died, and its ranks may go on$"
    task kill "$running"
    task rm "$running"
    expect_status 0
    expect_equal "what is left" "" "$(ls -A "$work/state/train/tasks")"
    task list --all
    expect_equal "lines" 1 "$(wc -l <"$work/out")"
    task rm
    expect_status 64
}

pruned() {
    local i newest
    for i in 1 2 3 4; do run launch -n 1 -- echo "$i"; done
    newest=$(task_id)
    # As a search has logs.
    for i in "$work"/state/train/tasks/*/logs; do
        mkdir "$i/trial-1"
        head -c 1048576 /dev/zero >"$i/trial-1/rank-0.0.log"
    done
    detach
    task prune
    expect_status 0
    expect_err '^train: 0 tasks are removed, with 0\.0 MiB of logs$'
    task prune --older-than 0s --keep 1 --dry-run
    expect_status 0
    expect_equal "lines" 4 "$(wc -l <"$work/out")"
    expect_err '^train: 3 tasks would be removed, with 3\.[0-9] MiB of logs$'
    expect_equal "tasks" 5 "$(with_environment "$train" task list --all --csv | tail -n +2 | wc -l)"
    task prune --older-than 0s --keep 1
    expect_status 0
    expect_equal "lines" 4 "$(wc -l <"$work/out")"
    expect_err '^train: 3 tasks are removed, '
    expect_equal "what is left" "$(printf '%s\n' "$newest" "$id" | sort)" "$(ls -A "$work/state/train/tasks")"
    task prune --older-than soon
    expect_status 64
    task prune --older-than 7
    expect_status 64
    expect_err "--older-than does not know '7'"
    task kill "$id"
    task prune --older-than 0s
    expect_err '^train: 2 tasks are removed, '
}

# Whenever it is killed, the registry opens, what is listed can be shown, and the rest goes.
pruned_by_one_that_dies() {
    local i
    for i in $(seq 12); do with_environment "$train" launch -n 1 -- true 2>/dev/null; done
    for i in 02 03 04 06 08 11; do
        { with_environment timeout --signal=KILL "0.0$i" "$train" task prune --older-than 0s; } >/dev/null 2>&1
        task list --all --csv
        expect_status 0
        while read -r id; do
            task show "$id"
            expect_status 0
        done < <(tail -n +2 "$work/out" | cut -d , -f 1)
    done
    mkdir -p "$work/state/train/tasks/.removed-aaaaaaaa/logs"
    task prune --older-than 0s
    expect_status 0
    task list --all
    expect_equal "lines" 1 "$(wc -l <"$work/out")"
    expect_equal "what is left" "" "$(ls -A "$work/state/train/tasks")"
}

rerun() {
    local first directory
    mkdir code
    printf 'entrypoint: ["/bin/sh", "-c", "cat said; echo $TOKEN of $RANK, $(pwd -P)"]\nenvironment: {environment_variables: [TOKEN]}\n' >e.yaml
    printf 'hosts: [{name: localhost, slots: 4}]\n' >hosts.yaml
    echo one >code/said
    directory=$PWD
    environment=(TOKEN=s3cret)
    run launch e.yaml --hostfile hosts.yaml --context code -n 2 --set name=again
    expect_status 0
    first=$(task_id)
    ! grep -qF s3cret "$work/state/train/tasks/$first/launch.json" || note_failure "the secret is kept"
    # The same, whatever has become of the files, and wherever it is asked for.
    echo two >code/said
    rm e.yaml hosts.yaml
    cd /
    environment=(TOKEN=other)
    run task rerun "${first:0:7}"
    cd "$directory" || return
    expect_status 0
    expect_err "^train: launching again what task $first was, with the context '$directory/code' as it is now; variables of the environment have the values that they have here$"
    expect_out '^\[1\] two$'
    expect_out '^\[0\] other of 0, '
    id=$(task_id)
    [ "$id" != "$first" ] || note_failure "it is no new task"
    task show "$id" --json
    expect_equal "the new one" "again 2" "$(field 'd["name"] + " " + str(d["ranks"])' "$work/out")"
    # A rerun can be launched again, changed, and on its own.
    run task rerun "$id" --set name=changed -d
    expect_status 0
    id=$(cat "$work/out")
    task wait "$id"
    expect_status 0
    task show "$id" --json
    expect_equal "the third" "changed 2" "$(field 'd["name"] + " " + str(d["ranks"])' "$work/out")"
    environment=()
    run task rerun "$first"
    expect_status 78
    expect_err "TOKEN"
    rm "$work/state/train/tasks/$first/launch.json"
    run task rerun "$first"
    expect_status 66
    expect_err "^train: task $first cannot be launched again: '.*launch.json' cannot be read$"
    rm -r code
    run task rerun "$id"
    expect_status 66
    expect_err "there is no directory 'code'"
    # What it was to be stopped by.
    run launch -H localhost:1 -n 1 --max-runtime 1s -- /bin/sleep 4711
    expect_status 124
    run task rerun "$(task_id)"
    expect_status 124
}

# The hosts of a task.
launched_on() {
    with_environment "$train" task show "$1" --json >"$work/shown"
    field 'd["hosts"]' "$work/shown"
}

rerun_hosts() {
    local here allocated
    run launch -n 1 -- true
    expect_status 0
    here=$(task_id)
    echo 'hosts: [{name: elsewhere, address: 127.0.0.1, slots: 1}]' >elsewhere
    # What the environment says now is of no concern to what was launched on this machine.
    environment=(TRAIN_HOSTFILE=elsewhere)
    run task rerun "$here"
    expect_status 0
    expect_equal "launched on" "localhost" "$(launched_on "$(task_id)")"
    environment=("SLURM_JOB_NODELIST=$(hostname)" SLURM_TASKS_PER_NODE=2)
    run task rerun "$here"
    expect_status 0
    expect_no_err 'hosts of Slurm'
    expect_equal "launched on" "localhost" "$(launched_on "$(task_id)")"
    # Nor to a rerun of the rerun.
    run task rerun "$(task_id)"
    expect_status 0
    expect_equal "launched on" "localhost" "$(launched_on "$(task_id)")"
    # What was launched in a job is launched in a job.
    run launch -n 2 -- true
    expect_status 0
    allocated=$(task_id)
    run task rerun "$allocated"
    expect_status 0
    expect_err '^train: hosts of Slurm'
    environment=()
    run task rerun "$allocated"
    expect_status 78
    expect_err "^train: its hosts were those of a scheduler's job, and here is no job$"
    expect_err '^  launch it again inside of one, or name hosts by TRAIN_HOSTFILE=FILE$'
    # What the environment named is kept, whatever it says now.
    environment=(TRAIN_HOSTFILE=elsewhere)
    run launch -n 1 -- true
    expect_status 0
    rm elsewhere
    environment=()
    run task rerun "$(task_id)"
    expect_status 0
    expect_equal "launched on" "elsewhere" "$(launched_on "$(task_id)")"
    # An earlier train has not kept where they were from: the environment of now says it.
    sed -i 's/"host_source":"[^"]*",//' "$work/state/train/tasks/$here/launch.json"
    environment=("SLURM_JOB_NODELIST=$(hostname)" SLURM_TASKS_PER_NODE=2)
    run task rerun "$here"
    expect_status 0
    expect_err '^train: hosts of Slurm'
}

rerun_with_secrets() {
    printf 'entrypoint: "true"\nenvironment:\n  registry_auth: {username: ada, password: s3cret}\n' >e.yaml
    run launch -n 1 e.yaml
    expect_status 0
    id=$(task_id)
    ! grep -qF s3cret "$work/state/train/tasks/$id/launch.json" || note_failure "the secret is kept"
    run task rerun "$id"
    expect_status 0
    sed -i 's/s3cret/other/' e.yaml
    run task rerun "$id"
    expect_status 0
    echo 'max_restarts: 1' >>e.yaml
    run task rerun "$id"
    expect_status 66
    expect_err "^train: task $id cannot be launched again: secrets of 'e.yaml' are not kept, and the file has changed since$"
    run launch -n 1 --set environment.registry_auth.password=s3cret -- true
    expect_status 0
    id=$(task_id)
    run task rerun "$id"
    expect_status 66
    expect_err "^train: task $id cannot be launched again: the value of --set environment.registry_auth.password was a secret, and is not kept$"
    run task rerun "$id" --set environment.registry_auth.password=another
    expect_status 0
    ! grep -qE 's3cret|another' "$work"/state/train/tasks/*/launch.json || note_failure "a secret is kept"
    cd /
    rm -r "$work/here"
    run task rerun "$id" --set environment.registry_auth.password=another
    expect_status 66
    expect_err "its directory '.*/here' cannot be used: no such file or directory"
    mkdir "$work/here"
}

records_a_commit() {
    run launch -n 1 "$@" --json -- true
    [ "$(field 'd["git"] is not None' "$work/out")" = True ]
}

commit_of_the_code() {
    command -v git >/dev/null || { skip "there is no git"; return; }
    local hash git=(git -c user.name=ada -c user.email=ada@example.org)
    run launch -n 1 --json -- true
    expect_schema task "$work/out"
    expect_equal "outside of a repository" None "$(field 'd["git"]' "$work/out")"
    mkdir -p repository/inside
    echo one >repository/tracked
    git init -q repository
    run launch -n 1 --context repository --json -- true
    expect_equal "without a commit" None "$(field 'd["git"]' "$work/out")"
    (cd repository && git add tracked && "${git[@]}" commit -qm one)
    hash=$(git -C repository rev-parse HEAD)
    # It waits a second for git, which a busy machine may need.
    within 20 "the commit is recorded" records_a_commit --context repository
    expect_schema task "$work/out"
    expect_equal "clean" "$hash False" "$(field 'd["git"]["commit"] + " " + str(d["git"]["dirty"])' "$work/out")"
    echo two >repository/tracked
    # The current directory counts where there is no context.
    cd repository/inside || return
    within 20 "the commit is recorded" records_a_commit
    cd ../..
    task show "$(task_id)"
    expect_out "^commit +$hash, with changes$"
    task show "$(task_id)" --json
    expect_schema task "$work/out"
    expect_equal "changed" True "$(field 'd["git"]["dirty"]' "$work/out")"
    mkdir bin
    printf '#!/bin/sh\nexec sleep 4711\n' >bin/git
    chmod +x bin/git
    environment=(PATH="$PWD/bin:$PATH")
    run launch -n 1 --context repository -- true
    expect_status 0
    task show "$(task_id)" --json
    expect_equal "with a git that hangs" None "$(field 'd["git"]' "$work/out")"
    mkdir empty
    environment=(PATH="$PWD/empty")
    run launch -n 1 --context repository -- /bin/true
    expect_status 0
    expect_no_err git
    environment=()
}

watched_list() {
    (exec_with_environment "$train" task list --watch) >"$work/watched" 2>"$work/err" &
    local watcher=$!
    within 20 "the empty list" grep -q '^ID ' "$work/watched"
    detach
    within 20 "a task" grep -q "^$id .* running " "$work/watched"
    task kill "$id"
    within 20 "the empty list again" list_is_empty_again
    kill -INT "$watcher"
    kill -TERM "$watcher" 2>/dev/null
    wait "$watcher" 2>/dev/null
    # Each list but the first is behind an empty line, and none is repeated.
    expect_equal "empty lines" "$(($(grep -c '^ID ' "$work/watched") - 1))" "$(grep -c '^$' "$work/watched")"
    /usr/bin/python3 - "$work/watched" <<'PY' || note_failure "what had not changed is printed again"
import sys
lists = open(sys.argv[1]).read().rstrip("\n").split("\n\n")
sys.exit(any(one == next for one, next in zip(lists, lists[1:])))
PY
    (exec_with_environment timeout 600 "$train" task list --watch) | head -n 1 >"$work/out"
    expect_equal "lines for a reader who leaves" 1 "$(wc -l <"$work/out")"
    task list --watch --json
    expect_status 64
}
list_is_empty_again() { [ "$(tail -n 1 "$work/watched" | cut -c 1-3)" = "ID " ]; }

# On a terminal of 6 lines and 40 columns.
watched_on_a_terminal() {
    local i
    for i in 1 2 3 4 5 6; do run launch -n 1 -- true; done
    with_environment /usr/bin/python3 - "$train" >"$work/out" <<'PY'
import fcntl, os, pty, signal, struct, sys, termios
signal.alarm(600)
pid, fd = pty.fork()
if pid == 0:
    signal.alarm(0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a job in the background ignores it
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 6, 40, 0, 0))
    os.execv(sys.argv[1], [sys.argv[1], "task", "list", "--all", "--watch"])
seen = b""
while seen.count(b"\x1b[H\x1b[2J") < 3: seen += os.read(fd, 4096)
os.write(fd, b"\x03")
try:
    while os.read(fd, 4096): pass
except OSError: pass  # the terminal has nobody left
status = os.waitpid(pid, 0)[1]
screens = [s for s in seen.decode().split("\x1b[H\x1b[2J") if s]
lines = screens[0].split("\r\n")
print(len(lines) - 1, max(map(len, lines)), lines[-2], os.WTERMSIG(status))
PY
    expect_equal "lines, columns, the last line, and how it ended" "5 40 and 3 more 2" "$(cat "$work/out")"
}

test_case "list and show tell all states apart" every_state
test_case "a list that is watched is printed as it changes, until nobody reads it" watched_list
test_case "a list that is watched on a terminal is drawn anew, and no longer than the screen" watched_on_a_terminal
test_case "the commit of the code is recorded, and whether it was changed, where git says so" commit_of_the_code
test_case "a task is launched again as it was, with the context and the environment of now" rerun
test_case "a rerun has its hosts from where the launch had them" rerun_hosts
test_case "secrets are not kept for a rerun, and it says where they are missing" rerun_with_secrets
test_case "tasks that have ended are removed with all that is kept of them, and no others" removed
test_case "old tasks are pruned, but for the newest" pruned
test_case "a record that is damaged is named and keeps no other from being shown, killed or removed" damaged_records
race_case "whoever is killed while it removes tasks leaves what the next prune removes" pruned_by_one_that_dies
test_case "several tasks are killed together, and one that is not there keeps none of them" killed_together
test_case "kill --all stops all tasks that run or are unattended, and says how many" killed_all
test_case "a task is killed for the reason of a signal that stops tasks, and for no other" killed_by_another_signal
test_case "a failed task is shown with its cause and its ranks" shown_to_people
test_case "a task is named by its id or any unique prefix" prefixes
test_case "where there is no task, lists are empty and names unknown" no_tasks
test_case "logs are printed by rank, byte for byte for one rank" logs_of_ranks
test_case "logs are chosen by rank, host, stream, time and number of lines" chosen_logs
test_case "the last lines, and those since a time, may be of several attempts" logs_of_attempts
test_case "logs are followed until the task ends, well or not" followed_logs
test_case "a reader who leaves ends task logs -f" left_follower
# As `task wait` does once it has seen that the task goes on.
watches_files() { readlink "/proc/$1"/fd/* 2>/dev/null | grep -q inotify; }
waited_for() {
    local code pid
    start_task
    (exec_with_environment "$train" task wait "${id:0:6}") 2>"$work/wait_err" &
    pid=$!
    within 20 "it waits" watches_files "$pid"
    kill -0 "$pid" || note_failure "task wait has ended before the task"
    kill -TERM "$launcher"
    wait "$pid"
    expect_equal "status of task wait" 143 $?
    expect_equal "said" "train: task $id: killed: interrupted: stopped by SIGTERM (exit 143)" \
        "$(cat "$work/wait_err")"
    await
    for code in 0 3; do
        run launch -n 1 -- /bin/sh -c "exit $code"
        id=$(task_id)
        task wait "$id"
        expect_status "$code"
    done
    expect_err "^train: task $id: failed: worker: rank 0 on 'localhost' exited with code 3 \\(exit 3\\)$"
    start_task --set stop_grace=100ms --set reconnect_window=0s
    within 20 "it is running" state_is "$id" running
    (exec_with_environment "$train" task wait "$id") 2>"$work/wait_err" &
    pid=$!
    within 20 "it waits" watches_files "$pid"
    kill -KILL "$launcher"
    wait "$pid"
    expect_equal "status of task wait" 130 $?
    grep -q "^train: task $id: lost: interrupted: the launcher" "$work/wait_err" ||
        note_failure "task wait said: $(cat "$work/wait_err")"
    await
    expect_gone
    task wait nobody
    expect_status 66
}

test_case "task wait ends with the task, and as it did" waited_for
shows_running() { task show "$id" && out_has '^now +running'; }
shown_now() {
    start_task --set max_restarts=2
    within 20 "it is running" state_is "$id" running
    within 20 "its launcher answers" shows_running
    expect_out '^now +running, attempt 1 of at most 3; 2 ranks have not ended$'
    expect_out '^ +localhost: running$'
    freeze "$launcher"
    task show "$id"
    kill -CONT "$launcher"
    expect_status 0
    expect_out '^now +the supervisor of the task has not answered for 2000 ms'
    task kill "$id"
    await
    task show "$id"
    expect_no_out '^now '
    expect_gone
}

# Where its launcher is no process that can be seen, its socket is there all the same.
killed_through_its_socket() {
    if ! unshare --pid --fork --mount-proc true 2>/dev/null; then
        skip "a namespace of processes needs a privilege that is not there"
        return
    fi
    start_task
    within 20 "it is running" state_is "$id" running
    with_environment unshare --pid --fork --mount-proc "$train" task kill "$id" >"$work/out" 2>"$work/err"
    status=$?
    expect_status 0
    expect_err "^train: task $id: killed$"
    await
    expect_gone
}

# A socket that cannot be made costs nothing but what it is for.
no_socket() {
    start launch "${two[@]}" -- /bin/sh -c 'echo "up $RANK"; exec sleep 4711'
    within 30 "both ranks are up" out_count_is 2 up
    id=$(task_id)
    rm "$work/state/train/tasks/$id/control"
    task kill "$id"
    expect_status 0
    expect_err "^train: task $id: killed$"
    await
    expect_gone
}

test_case "show says how a running task is at this moment" shown_now
test_case "a task is killed through the socket of its launcher" killed_through_its_socket
test_case "a launcher whose socket is gone is signalled" no_socket
test_case "task kill gives the ranks their grace and waits for the end" killed
test_case "a second task kill does not wait for the grace" killed_twice
finish
