#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tasks whose launcher dies, and that another one goes on with.   attach_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

id='' # of the task
task() { with_environment timeout -k 5 600 "$train" task "$@" >"$work/out" 2>"$work/err"; status=$?; }

# detach [ARGUMENT...] -- COMMAND...: as `id=$(train launch -d ...)`.
detach() {
    id=$(with_environment "$train" launch -d "$@" 2>"$work/err")
    status=$?
    expect_status 0
}

# The processes that hold the lock of the task; others may just look at it.
lock_holders() {
    local lock=$work/state/train/tasks/$id/launcher.lock fd pid
    for fd in /proc/[0-9]*/fd/*; do
        [ "$fd" -ef "$lock" ] || continue
        pid=${fd#/proc/} pid=${pid%%/*}
        ! grep -qs '^lock:' "/proc/$pid/fdinfo/${fd##*/}" || echo "$pid"
    done
}
supervisor() { lock_holders | grep -m 1 .; }
kill_supervisor() {
    local pid
    pid=$(supervisor) || { note_failure "nobody attends the task"; return; }
    end_process "$pid"
}

# What was started has a socket: the one of the control socket, on which nobody answers.
is_being_asked() { readlink /proc/"$launcher"/fd/* 2>/dev/null | grep -q '^socket:'; }

# Prints lines with numbers until there is a file `go`, then ends with the code $1.
counts='i=0; while [ ! -e go ] || [ $i -lt 40 ]; do echo "rank $RANK line $i"; i=$((i + 1)); sleep 0.02; done; echo "rank $RANK end"; [ "$RANK" = 0 ] || sleep 0.5; [ "$RANK" != 0 ] || exit 0; exit $1'
counting() { detach -n 2 "${@:2}" -- /bin/sh -c "$counts" - "$1"; }

# Nothing is lost, nothing is there twice.
expect_whole() {
    local rank
    for rank in 0 1; do
        with_environment "$train" task logs "$id" --rank "$rank" >"$work/log" 2>"$work/log.err" ||
            note_failure "task logs fails"
        expect_equal "what is said of the log of rank $rank" "" "$(cat "$work/log.err")"
        local lines
        lines=$(($(wc -l <"$work/log") - 1))
        [ "$lines" -ge 40 ] || note_failure "rank $rank has only $lines lines"
        { seq -f "rank $rank line %.0f" 0 $((lines - 1)); echo "rank $rank end"; } >"$work/expected"
        expect_same "the log of rank $rank" "$work/expected" "$work/log"
    done
}

is_taken_over() {
    counting 3
    kill_supervisor
    expect_equal "state" unattended "$(state_of "$id")"
    task show "$id" --json
    expect_schema task "$work/out"
    task wait "$id"
    expect_status 75
    expect_err "^train: task $id is unattended"
    expect_err "^  train task attach $id "
    task logs -f "$id"
    expect_status 75
    start task attach "$id"
    within 20 "somebody attends it" err_has "^train: task $id is attended again"
    expect_equal "state" running "$(state_of "$id")"
    # It has no terminal that could hang up.
    kill -HUP "$(supervisor)"
    stays 1 state_is "$id" running || note_failure "state after SIGHUP: $(state_of "$id")"
    touch go
    await
    expect_status 3
    expect_out 'rank 1 end$'
    expect_whole
    task wait "$id"
    expect_status 3
    task show "$id" --json
    expect_schema task "$work/out"
    expect_equal "events" "created supervised attempt_begun ranks_started supervised attempt_failing task_over" \
        "$(field '" ".join(e["what"] for e in d["events"])' "$work/out")"
    task show "$id"
    expect_out '[0-9:]{8}  another launcher takes it over$'
}

# The launcher dies while somebody has asked it something, and waits for the answer.
dies_while_it_is_asked() {
    detach -n 2 -- /bin/sh -c 'trap "exit 7" TERM; echo it runs; while [ ! -e go ]; do sleep 0.02; done; exit 3'
    local supervisor
    supervisor=$(supervisor) || { note_failure "nobody attends the task"; return; }
    freeze "$supervisor"
    start "$@" "$id"
    within 20 "it is asked" is_being_asked
    kill -KILL "$supervisor"
}
attached_as_it_dies() {
    dies_while_it_is_asked task attach --from-start
    within 20 "it is taken over" err_has "^train: task $id is attended again"
    touch go
    await
    expect_status 3
    expect_out 'it runs'
    expect_no_err 'lent|connection'
}
killed_as_it_dies() {
    dies_while_it_is_asked task kill
    await
    expect_status 0
    expect_err "^train: task $id: killed"
    expect_equal "state" killed "$(state_of "$id")"
    expect_processes "ranks" 0 '^/bin/sh'
}
shown_as_it_dies() {
    dies_while_it_is_asked task show
    await
    expect_status 0
    expect_out unattended
    expect_no_out 'connection'
    task kill "$id"
}
# It was told to stop the task, and dies before it has.
killed_after_it_was_told() {
    detach -n 1 --set stop_grace=1m -- /bin/sh -c 'trap "echo told" TERM; echo it runs; while [ ! -e go ]; do sleep 0.02; done'
    start task kill "$@" "$id"
    within 20 "it is told" said_told
    kill_supervisor
    touch go
    await
    expect_status 0
    expect_err "^train: task $id: killed"
    expect_equal "state" killed "$(state_of "$id")"
}
said_told() { with_environment "$train" task logs "$id" 2>&1 | grep -q told; }
so_is_one_of_two() {
    detach -n 1 -- /bin/true
    task wait "$id"
    killed_after_it_was_told "$id"
}

# Five supervisors die, each while output is on its way.
again_and_again() {
    counting 0
    local round
    for round in 1 2 3 4 5; do
        kill_supervisor
        start task attach "$id"
        within 20 "round $round: somebody attends it" err_has "is attended again"
        sleep "0.$((RANDOM % 3))$round" # waits: dies at any moment
        kill -KILL "$launcher" 2>/dev/null
        wait "$launcher" 2>/dev/null
    done
    kill_supervisor
    touch go
    task attach --from-start "$id"
    expect_status 0
    expect_err "^train: task $id: succeeded"
    expect_whole
}

# 100 MB of any bytes, of which each fifth is written while a supervisor dies.
noise='import os, random, time
def noise():
    random.seed(47)
    for _ in range(1600): yield random.randbytes(random.randrange(1, 131072)) + "\rä\n\0".encode()
'
noise_through_deaths() {
    detach -n 1 --set log_limit=1GiB -- /usr/bin/python3 -c "$noise"'
for number, piece in enumerate(noise()):
    while not os.path.exists(f"go{number // 320}"): time.sleep(0.005)
    while piece: piece = piece[os.write(1, piece):]
while not os.path.exists("go5"): time.sleep(0.005)'
    local part
    for part in 0 1 2 3 4; do
        : >"go$part"
        sleep "0.0$((RANDOM % 10))" # waits: dies at any moment
        kill_supervisor
        output=/dev/null start task attach "$id"
        within 20 "part $part: somebody attends it" err_has "is attended again"
    done
    : >go5
    await
    expect_status 0
    /usr/bin/python3 -c "$noise"'
for piece in noise(): os.write(1, piece)' >wanted
    task logs "$id" --rank 0
    expect_same "the log" wanted "$work/out"
}

# Appends reports in rounds, each of which ends in the middle of one until there is a file `go`N, to
# the metrics file or to the output.
reporting='import json, os, sys, time
appended = sys.argv[1] == "metrics"
file = os.open(os.environ["TRAIN_METRICS_FILE"], os.O_WRONLY | os.O_APPEND) if appended else 1
rank, step = int(os.environ["RANK"]), 0
def report(go=None):
    global step
    line = (json.dumps({"step": step, "rank": rank}) + "\n").encode()
    torn = 11 + rank if go else 0
    os.write(file, line[:torn])
    while go and not os.path.exists(go): time.sleep(0.01)
    os.write(file, line[torn:])
    step += 1
for part in range(1, 5):
    for _ in range(200): report()
    report(f"go{part}")
for _ in range(300): report()
while not os.path.exists("end"): time.sleep(0.01)
'
# torn_after KIND LINES: these logs of both ranks have so many lines, and a part of the next one.
torn_after() {
    local rank log
    for rank in 0 1; do
        log=$work/state/train/tasks/$id/logs/$1-$rank.0.log
        [ "$(wc -l <"$log")" = "$2" ] && [ -n "$(tail -c 1 "$log")" ] || return 1
    done 2>/dev/null
}
counted() {
    with_environment "$train" task show "$id" --json >"$work/shown" 2>&1
    field '[(a["reports"], a["ignored_lines"], a["last_report"]["step"]) for a in d["attempts"]]' "$work/shown"
}
counted_is() { [ "$(counted 2>/dev/null)" = "$1" ]; }

# A record is written every five seconds: what came since the last time is in the logs alone.
reports_are_exact() { # metrics | rank: the kind of their logs
    local part
    local patterns='"step.: (?P<step>[0-9]+),", "rank.: (?P<rank>[0-9]+)"'
    [ "$1" = rank ] || patterns=''
    echo "metrics: {pattern: [$patterns]}" >e.yaml
    detach e.yaml -n 2 -- /usr/bin/python3 -c "$reporting" "$1"
    for part in 1 2 3 4; do
        within 20 "part $part: a report is torn" torn_after "$1" $((part * 201 - 1))
        kill_supervisor
        start task attach "$id"
        within 20 "part $part: somebody attends it" err_has "is attended again"
        [ "$part" = 2 ] && within 20 "the reports before that are shown" counted_is "[(802, 0, 400)]"
        touch "go$part"
        [ "$part" = 4 ] || { kill -KILL "$launcher" && wait "$launcher"; } 2>/dev/null
    done
    touch end
    await
    expect_status 0
    expect_equal "reports, ignored lines and the last step" "[(2208, 0, 1103)]" "$(counted)"
    expect_equal "said of metrics" "" "$(grep -h metrics "$work/err" "$work/state/train/tasks/$id/launcher.log")"
}

# What a line says counts once, whoever reads it.
policies_hold() {
    printf 'log_policies: [{name: worn out, pattern: "^out of memory$", action: cancel_retries}]\n' >e.yaml
    detach e.yaml -n 1 --set max_restarts=3 --set restart_delay=0s -- /bin/sh -c '
        printf "out of "; while [ ! -e go ]; do sleep 0.02; done
        echo memory; while [ ! -e end ]; do sleep 0.02; done; exit 7'
    within 20 "a line is torn" log_is 'out of '
    kill_supervisor
    [ "$1" = alone ] && touch go
    start task attach "$id"
    within 20 "somebody attends it" err_has "is attended again"
    touch go
    within 20 "the line is found" found_by_policies 1
    kill_supervisor
    kill -KILL "$launcher" 2>/dev/null
    wait "$launcher" 2>/dev/null
    [ "$1" = forgotten ] && forget_match
    start task attach "$id"
    within 20 "somebody attends it again" err_has "is attended again"
    touch end
    await
    expect_status 7
    found_by_policies 1 || note_failure "it is not there once: $(cat "$work/shown")"
    expect_equal "attempts" 1 "$(field 'len(d["attempts"])' "$work/shown")"
}
log_is() { [ "$(cat "$(log_of 0)")" = "$1" ]; }
found_by_policies() {
    with_environment "$train" task show "$id" --json >"$work/shown" 2>&1
    [ "$(field 'sum(len(a["log_policies"]) for a in d["attempts"])' "$work/shown")" = "$1" ]
}
# As if the launcher had died between writing a line down and writing down what it says.
forget_match() {
    change_registry "DELETE FROM journal WHERE task = ? AND entry LIKE '%attempt_hopeless%'"
    change_registry "UPDATE attempts SET log_policies = '' WHERE task = ?"
    found_by_policies 0 || note_failure "it is not forgotten: $(cat "$work/shown")"
}

ended_meanwhile() {
    detach -n 2 -- /bin/sh -c 'while [ ! -e go ]; do sleep 0.02; done; echo "last words of $RANK"; [ $RANK = 0 ] || exit 7; [ -e wait ] || exit 0; exec sleep 4711'
    [ "$1" = one ] && touch wait
    kill_supervisor
    touch go
    within 20 "a rank has ended" has_settled_at "$2" '^/bin/sh -c while|sleep 4711'
    expect_equal "state" unattended "$(state_of "$id")"
    task attach "$id"
    expect_status 7
    expect_err "rank 1 on 'localhost' exited with code 7"
    task logs "$id"
    expect_out '^\[1\] last words of 1$'
    task show "$id" --json
    expect_equal "codes of the ranks" "7" "$(field 'd["rank_results"][1]["exit_code"]' "$work/out")"
}

has_settled_at() { [ "$(settled count_processes "$2")" = "$1" ]; }

# In the report, which goes where a launcher without a terminal speaks.
reports_earlier_words() {
    detach -n 1 -- /bin/sh -c 'echo "said before" >&2; while [ ! -e go ]; do sleep 0.02; done; exit 7'
    within 20 "it has said so" logs_have 0 'said before'
    kill_supervisor
    start task attach "$id"
    within 20 "somebody attends it" err_has "^train: task $id is attended again"
    touch go
    await
    expect_status 7
    within 20 "the report has its last words" grep -q '^ *| said before$' "$work/state/train/tasks/$id/launcher.log"
}

is_killed() {
    detach -n 2 -- /bin/sh -c 'trap "echo told; exit 0" TERM; while :; do sleep 0.05; done'
    kill_supervisor
    task kill "$id"
    expect_status 0
    expect_err "^train: task $id: killed$"
    expect_equal "state" killed "$(state_of "$id")"
    task logs "$id"
    expect_out '^\[1\] told$'
    task attach "$id"
    expect_status 143
}

is_killed_after_that() {
    counting 0
    kill_supervisor
    start task attach "$id"
    within 20 "somebody attends it" err_has "is attended again"
    with_environment timeout -k 5 600 "$train" task kill "$id" >/dev/null 2>"$work/kill.err"
    expect_equal "status of task kill" 0 $?
    expect_equal "said" "train: task $id: killed" "$(cat "$work/kill.err")"
    await
    expect_status 143
}

# freeze_supervisor: and have its lock lie, as on a network file system: others see none.
freeze_supervisor() {
    local lock=$work/state/train/tasks/$id/launcher.lock
    frozen=$(supervisor) || { note_failure "nobody attends the task"; return; }
    freeze "$frozen"
    cp -p "$lock" "$lock.other"
    mv "$lock.other" "$lock"
}

# The old one has read nothing meanwhile: what its streams still have must get into no log.
thaws() {
    local log viewer
    counting 3 "$@"
    log=$work/state/train/tasks/$id/launcher.log
    freeze_supervisor
    expect_equal "state" unattended "$(state_of "$id")"
    start task attach "$id"
    within 20 "somebody attends it" err_has "is attended again"
    (exec_with_environment timeout -k 5 600 "$train" task attach "$id") >"$work/view" 2>"$work/view.err" &
    viewer=$!
    within 20 "the viewer shows what is printed" grep -q 'rank 0 line' "$work/view"
    kill -CONT "$frozen"
    within 20 "the one that thaws leaves" has_gone "$frozen"
    # Who is the first to say so: it looks there when it wakes.
    grep -Eq "^train: task $id goes on with another launcher \(process [0-9]*( on '.*'\), as host 'localhost'|\), as the registry) says; " "$log" ||
        note_failure "it does not say why" "$(cat "$log")"
    expect_equal "state" running "$(state_of "$id")"
    with_environment "$train" task show "$id" | grep -q '^now  *running' || note_failure "the new one cannot be asked"
    touch go
    await
    expect_status 3
    expect_whole
    wait "$viewer"
    expect_equal "status of the viewer" 3 $?
}

thaws_in_foreground() {
    start launch -n 2 --json --set on_launcher_loss=continue -- /bin/sh -c "$counts" - 4
    within 20 "it prints" err_has 'line 3'
    id=$(task_id)
    freeze_supervisor
    (exec_with_environment timeout -k 5 600 "$train" task attach "$id") >"$work/view" 2>"$work/view.err" &
    local second=$!
    within 20 "somebody attends it" grep -q "is attended again" "$work/view.err"
    kill -CONT "$frozen"
    await
    expect_status 75
    expect_err "^train: task $id goes on with another launcher"
    expect_err "^  train task attach $id "
    expect_last_err "failed: busy (exit 75)"
    expect_out '"state": *"running"'
    touch go
    wait "$second"
    expect_equal "status of the other" 4 $?
    expect_whole
}

# Exactly one of them goes on with it; the others see what it does. TRAIN_RACES=1000: as often.
races() {
    local round rounds=${TRAIN_RACES:-3} pids=() i
    counting 0
    for ((round = 1; round <= rounds; round++)); do
        kill_supervisor
        pids=()
        rm -f "$work"/err.[1-4]
        for i in 1 2 3 4; do
            (exec_with_environment timeout -k 5 600 "$train" task attach "$id") >"$work/out.$i" 2>"$work/err.$i" &
            pids+=($!)
        done
        within 20 "somebody attends it" attended
        expect_equal "supervisors" 1 "$(settled lock_holders | wc -w)"
        if [ "$round" -lt "$rounds" ]; then kill -INT "${pids[@]}"; else touch go; fi
        for i in 1 2 3 4; do wait "${pids[i - 1]}"; done 2>/dev/null
        expect_equal "who say that they attend it" 1 "$(cat "$work"/err.[1-4] | grep -c 'is attended again')"
        [ "$case_failed" = no ] || { note_failure "that was round $round"; show_race; break; }
    done
    touch go
    within 20 "it ends" state_is "$id" succeeded
    expect_whole
}
show_race() { for i in 1 2 3 4; do sed "s/^/      $i: /" "$work/err.$i"; done; }
attended() { cat "$work"/err.[1-4] 2>/dev/null | grep -q 'is attended again'; }

only_looks() {
    counting 5
    start task attach "$id"
    within 20 "it shows what is printed" out_has '^\[0\] rank 0 line'
    kill -INT "$launcher"
    await
    expect_status 130
    expect_err "^train: task $id goes on; to see it again, or stop it:"
    expect_equal "state" running "$(state_of "$id")"
    start task attach --from-start "$id"
    within 20 "from the start" out_has '^\[1\] rank 1 line 0$'
    touch go
    await
    expect_status 5
    expect_last_err "task $id: failed: worker: rank 1 on 'localhost' exited with code 5 (exit 5)"
    task attach "$id"
    expect_status 5
}

last_screen() {
    detach -n 1 -- /bin/sh -c 'seq 1 5000; while [ ! -e go ]; do sleep 0.02; done; exit 0'
    within 20 "all is printed" eval '[ "$(with_environment "$train" task logs "$id" | wc -l)" = 5000 ]'
    start task attach "$id"
    within 20 "the last line is shown" out_has '^\[0\] 5000$'
    touch go
    await
    expect_status 0
    expect_equal "lines" 22 "$(wc -l <"$work/out")"
    expect_equal "the first" "[0] 4979" "$(head -n 1 "$work/out")"
}

# They are copied while the ranks run already, which takes long on a slow disk.
programs_are_kept() { [ "$(find "$work/state/train/programs" -type f 2>/dev/null | wc -l)" = "$1" ]; }

keeps_secrets() {
    environment=(TOKEN=from-the-session-4711)
    printf 'environment: {environment_variables: [TOKEN, "OWN=in-the-file-4712"]}\n' >e.yaml
    detach e.yaml -n 1 -- /bin/sh -c 'while [ ! -e go ]; do sleep 0.02; done; [ "$TOKEN$OWN" = from-the-""session-4711in-the-file-4712 ]'
    local bundle=$work/state/train/tasks/$id/bundle
    [ -e "$bundle/request.json" ] || note_failure "the request is not kept when the id is told"
    expect_equal "modes" "600 700" "$(stat -c %a "$bundle/request.json" "$bundle" | paste -sd' ')"
    grep -q from-the-session-4711 "$bundle/request.json" || note_failure "the bundle lacks the value"
    expect_equal "other files with the value" "" \
        "$(grep -rl from-the-session-4711 "$work/state" | grep -v '/bundle/request.json$')"
    within 60 "its program is copied" programs_are_kept 1
    kill_supervisor
    environment=(TOKEN=another)
    touch go
    task attach "$id"
    expect_status 0
    test ! -e "$bundle" || note_failure "the bundle is there after the end"
    programs_are_kept 1 || note_failure "the program is not kept for the next launch"
}

# stops_with_its_launcher SETTING...: on which it depends how long the ranks may live.
stops_with_its_launcher() {
    start launch -n 2 --set stop_grace=100ms "$@" -- /bin/sh -c 'exec sleep 4711'
    within 20 "the ranks run" process_count_is 2 '^sleep 4711'
    id=$(task_id)
    kill -KILL "$launcher"
    [ "$2" = reconnect_window=0s ] || within 20 "it is unattended" state_is "$id" unattended
    within 20 "the ranks are gone" process_count_is 0 .
    within 25 "it is lost" state_is "$id" lost
    test ! -e "$work/state/train/tasks/$id/bundle" || note_failure "the bundle is there after the end"
    task attach "$id"
    expect_status 130
}

# Its ranks are gone after 5 s; that no host was out of reach is known after the window alone.
says_when_it_is_lost() {
    start launch -n 2 --set stop_grace=100ms --set reconnect_window=10m -- /bin/sh -c 'exec sleep 4711'
    within 20 "the ranks run" process_count_is 2 '^sleep 4711'
    id=$(task_id)
    end_process "$launcher"
    run task list
    expect_out "^$id .* unattended \(lost in (10m[01][0-9]|[1-9]m[0-9][0-9])s\) "
    task show "$id"
    expect_out "has died, and its ranks may go on for (10m[01][0-9]|[1-9]m[0-9][0-9])s at most: train task attach $id\$"
    task wait "$id"
    expect_status 75
    expect_err "its ranks may go on for (10m[01][0-9]|[1-9]m[0-9][0-9])s at most\$"
    task kill "$id"
    expect_status 0
}

# Those that nothing was set for would have ended after 5 s.
outlives_for_a_time() {
    start launch -n 2 --set on_launcher_loss=1h -- /bin/sh -c "echo \$\$ >pid.\$RANK; $counts" - 4
    within 20 "they print" both_have_printed
    id=$(task_id)
    kill -KILL "$launcher"
    stays 7 kill -0 "$(cat pid.0)" "$(cat pid.1)" || note_failure "the ranks have ended"
    touch go
    task attach "$id"
    expect_status 4
}
both_have_printed() { out_has 'rank 0 line 3' && out_has 'rank 1 line 3'; }

nothing_left() {
    detach -n 2 -- /bin/sh -c 'exec sleep 4711'
    kill_supervisor
    kill_everything
    within 20 "nothing of it runs" process_count_is 0 .
    task attach "$id"
    expect_status 76
    expect_err "its agent has ended"
    rm -rf "$work/host"
}

other_build() {
    detach -n 1 -- /bin/sh -c 'exec sleep 4711'
    local bundle=$work/state/train/tasks/$id/bundle
    local kept
    within 60 "the program is kept" programs_are_kept 1
    kept=$(echo "$bundle"/program-*)
    kill_supervisor
    cmp -s "$kept" "$train" || note_failure "the program is not kept"
    mv "$kept" "$work/kept"
    printf '#!/bin/sh\necho "$0 $*"\n' >"$bundle/program-0123"
    chmod 700 "$bundle/program-0123"
    task attach "$id"
    expect_equal "what is executed" "$bundle/program-0123 task attach $id" "$(cat "$work/out")"
    rm "$bundle/program-0123"
    mv "$work/kept" "$kept"
    sed -i 's/"slots":1,"workers"/"slots":2,"workers"/' "$bundle/request.json"
    task attach "$id"
    expect_status 66
    expect_err "the plan that is made of it now differs from the recorded one at '/"
    rm -r "$bundle"
    task attach "$id"
    expect_status 66
    task kill "$id"
    expect_killed
}

# expect_killed: and that no host has anything of it.
expect_killed() {
    expect_status 0
    expect_err "^train: task $id: killed$"
    within 20 "its processes are gone" process_count_is 0 .
    task wait "$id"
    expect_status 143
    task kill "$id"
    expect_status 0
    expect_equal "said of a task that has ended" "train: task $id has ended already: killed" "$(cat "$work/err")"
    task show "$id" --json
    expect_schema task "$work/out"
    expect_equal "hosts that are not clean" "[]" "$(field 'd["unsettled_hosts"]' "$work/out")"
}

# What its ranks print until they end is not lost, and how they ended is recorded.
expect_last_words() {
    task logs "$id" --rank 1
    expect_out '^told$'
    task show "$id" --json
    expect_equal "code of rank 1" 0 "$(field 'd["rank_results"][1]["exit_code"]' "$work/out")"
}

told='trap "echo told; exit 0" TERM; echo runs; while :; do sleep 0.05; done'
unattended_telling() {
    detach -n 2 "$@" -- /bin/sh -c "$told"
    within 20 "rank 1 runs" logs_have 1 runs
    kill_supervisor
}
logs_have() { with_environment "$train" task logs "$id" --rank "$1" 2>/dev/null | grep -q "$2"; }

without_directory() {
    mkdir "$work/gone"
    cd "$work/gone" || return
    unattended_telling
    cd "$work" || return
    rm -r "$work/gone"
    task attach "$id"
    expect_status 66
    expect_err "its directory '.*/gone' cannot be used"
    task kill "$id"
    expect_killed
    expect_last_words
}

without_bundle_or_plan() {
    unattended_telling --set max_restarts=3
    rm -r "$work/state/train/tasks/$id/bundle"
    (cd / && task kill "$id"; exit "$status")
    status=$?
    expect_killed
    expect_last_words
    expect_equal "attempts" 1 "$(field 'len(d["attempts"])' "$work/out")"
}

# change_registry SQL: of the task.
change_registry() { registry "$1" "$id"; }

without_journal() {
    unattended_telling
    change_registry "UPDATE journal SET entry = '{}' WHERE task = ? AND number = 0"
    change_registry "INSERT INTO journal VALUES (?, 50, 'torn')"
    task attach "$id"
    expect_status 66
    task kill "$id"
    expect_err "the journal of the task is damaged.*; its ranks are stopped all the same"
    expect_killed
    expect_last_words
}

race_case "a task whose launcher was killed goes on, and is taken over: no output is lost, its code is told" is_taken_over
race_case "it is taken over again and again, byte for byte" again_and_again
race_case "100 MB of any bytes are whole although those who write them down die" noise_through_deaths
race_case "every report in a metrics file counts once, whoever dies while it is carried" reports_are_exact metrics
race_case "so does every report that a pattern finds in the output" reports_are_exact rank
race_case "a line of a log policy that was torn by a death is found" policies_hold attended
race_case "so is one that ended while nobody attended" policies_hold alone
race_case "what a policy has found holds although nobody could write that down" policies_hold forgotten
test_case "a rank that failed while nobody attended is told with its code" ended_meanwhile one 1
test_case "so are all, when nothing runs any more" ended_meanwhile all 0
test_case "what a rank said before it was taken over is in the report of its failure" reports_earlier_words
test_case "a task that nobody attends is killed like any other" is_killed
test_case "so is one that was taken over" is_killed_after_that
test_case "one that dies while it is asked is taken over by who attaches" attached_as_it_dies
test_case "who wants it killed kills it then" killed_as_it_dies
test_case "who wants to see it sees that" shown_as_it_dies
test_case "one that dies while it stops its task leaves that to who told it" killed_after_it_was_told
test_case "so does one of two" so_is_one_of_two
race_case "of several that take it over at once one does, and the others look on" races
race_case "a launcher that was frozen and replaced leaves when it thaws, and harms nothing" thaws
race_case "so does one that ends its ranks with itself" thaws --set on_launcher_loss=1h
race_case "in the foreground it says who goes on with the task" thaws_in_foreground
test_case "attach shows a task that is attended, and Ctrl-C leaves it alone" only_looks
test_case "attach begins with the last screenful" last_screen
test_case "what a task needs is kept for its user alone, and not longer than the task" keeps_secrets
test_case "ranks in the foreground end with their launcher, and the task is lost" stops_with_its_launcher --set reconnect_window=0s
soak_case "where their host may be out of reach for a time, the task is lost once they must have ended" stops_with_its_launcher --set reconnect_window=10s
test_case "how long a task may be unattended is said" says_when_it_is_lost
test_case "ranks outlive their launcher for as long as they are told" outlives_for_a_time
test_case "a task of which nothing is left has failed" nothing_left
test_case "the program that launched a task is the one that goes on with it" other_build
test_case "a task whose directory is gone is stopped all the same" without_directory
test_case "so is one of which only its record, its journal and its hosts are left" without_bundle_or_plan
test_case "so is one whose journal is damaged" without_journal
finish
