#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Logs are bounded, and neither disk nor registry holds up a launch.   logs_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

two=(-H localhost:2 -n 2)
ten_mebibytes='import sys
for i in range(163840): sys.stdout.write("%063d\n" % i)'

task() { with_environment "$train" task "$@" >"$work/out" 2>"$work/err"; status=$?; }
bytes_of_logs() { du -bc "$work"/state/train/tasks/*/logs/* | tail -n 1 | cut -f 1; }

made_one() { [[ $(with_environment "$train" task list --csv | tail -n +2) =~ ${1:-.} ]]; }

# Another process has the registry's write lock until `let_registry_go`.
hold_registry() {
    touch "$work/hold"
    /usr/bin/python3 - "$work/state/train/tasks.db" "$work/hold" <<'PY' &
import os, sqlite3, sys, time
database = sqlite3.connect(sys.argv[1], timeout=600, isolation_level=None)
database.execute("BEGIN IMMEDIATE")
open(sys.argv[2] + ".locked", "w").close()
while os.path.exists(sys.argv[2]): time.sleep(0.05)
PY
    holder=$!
    within 20 "the registry is locked" test -e "$work/hold.locked"
}
let_registry_go() {
    rm "$work/hold"
    wait "$holder"
}

# start_before_the_run ARGUMENT...: a launch that has recorded its task and stands still before its
# run, since nobody reads what it says, until `let_it_run`.
start_before_the_run() {
    mkfifo "$work/fifo"
    exec 7<>"$work/fifo" # keeps it open while nobody reads
    head -c 65536 /dev/zero >&7
    errors=$work/fifo start launch -n 1 "$@"
    within 20 "the task is recorded" made_one
}
let_it_run() {
    cat "$work/fifo" >"$work/err" 7>&- &
    exec 7>&-
}

# --- What is kept ---

limited() {
    output=/dev/null run launch "${two[@]}" --set log_limit=1MiB -- /usr/bin/python3 -c "$ten_mebibytes"
    expect_status 0
    local id bytes
    id=$(task_id)
    bytes=$(bytes_of_logs)
    [ "$bytes" -le $((2 << 20)) ] || note_failure "the logs have $bytes bytes"
    [ "$bytes" -ge $((1 << 20)) ] || note_failure "only $bytes bytes are kept"
    task logs "$id" --rank 1
    expect_status 0
    local gap=$((10485760 - $(stat -c %s "$work/out")))
    expect_err "^train: rank 1: $gap bytes of output are not kept here$"
    /usr/bin/python3 -c "$ten_mebibytes" | tail -c +$((gap + 1)) >wanted
    expect_same "what is kept of rank 1" wanted "$work/out"
    task logs "$id"
    expect_status 0
    expect_equal "marks" 2 "$(grep -Ec '^\[[01]\] \.\.\. [0-9]+ bytes of output are not kept \.\.\.$' "$work/out")"
    expect_equal "last lines" 2 "$(grep -c '^\[[01]\] 0*163839$' "$work/out")"
}

small_limit_of_a_chatty_rank() {
    output=/dev/null run launch -n 1 --set log_limit=1 -- /usr/bin/python3 -c 'import os
for i in range(30000): os.write(1, b"x\n")'
    expect_status 0
    [ "$(bytes_of_logs)" -le $((16 << 10)) ] || note_failure "the logs have $(bytes_of_logs) bytes"
}

# Any bytes: line ends, carriage returns, zeros, and UTF-8 that falls apart between two writes.
noise='import os, random
def noise(seed, pieces):
    random.seed(seed)
    for _ in range(pieces): yield random.randbytes(random.randrange(1, 131072)) + "\rä\n\0".encode()'
whole_and_exact() {
    run launch -n 1 --set log_limit=1GiB --set max_restarts=1 --set restart_delay=0s --tee none -- \
        /usr/bin/python3 -c "$noise
import sys
attempt = int(os.environ['TRAIN_RESTART_COUNT'])
for piece in noise(attempt, 1100):
    while piece: piece = piece[os.write(1, piece):]
if attempt == 0: sys.exit(1)"
    expect_status 0
    local attempt id
    id=$(task_id)
    [ -n "$(find "$work/state/train/tasks/$id/logs" -name 'rank-0.1.log.*')" ] || note_failure "there is one segment"
    for attempt in 0 1; do
        /usr/bin/python3 -c "$noise
for piece in noise($attempt, 1100): os.write(1, piece)" >wanted
        task logs "$id" --rank 0 --attempt "$attempt"
        expect_same "the log of attempt $attempt" wanted "$work/out"
        task logs "$id" --rank 0 --attempt "$attempt" --tail 3000
        tail -n 3000 wanted >last
        expect_same "the last lines of attempt $attempt" last "$work/out"
    done

    (exec_with_environment "$train" task logs "$id" --rank 0 -f) >followed
    expect_same "what is followed of the last attempt" wanted followed
}

merged_in_time() {
    # Each line is printed when the one before it is in the log.
    run launch "${two[@]}" -- /bin/sh -c 'in_log() { until grep -qs "^$1" "$0"/*/logs/rank-$RANK.0.log; do sleep 0.02; done; }
    if [ $RANK = 0 ]; then echo a; in_log a; echo b >&2; in_log b; touch first; until [ -e second ]; do sleep 0.02; done; printf d
    else until [ -e first ]; do sleep 0.02; done; echo c; in_log c; touch second; fi' "$work/state/train/tasks"
    expect_status 0
    task logs "$(task_id)"
    expect_equal "the merged log" $'[0] a [0] b [1] c [0] d' "$(tr '\n' ' ' <"$work/out" | sed 's/ $//')"
}

# The logs of trials are where a search would have them.
of_a_trial() {
    # Rank 0 fails, when it has said all; rank 1 does not end it before.
    run launch "${two[@]}" --set max_restarts=1 --set restart_delay=0s -- /bin/sh -c \
        'echo "rank $RANK"; [ $RANK = 0 ] && echo "attempt $TRAIN_RESTART_COUNT" >&2; [ $TRAIN_RESTART_COUNT = 1 ] && exit; [ $RANK = 0 ] || exec sleep 1000; exit 1'
    expect_status 0
    local id logs
    id=$(task_id)
    logs=$(dirname "$(log_of 0)")
    task logs "$id" --trial 0
    expect_status 0
    expect_out '^\[1\] rank 1$'
    task logs "$id" --trial 3
    expect_status 66
    expect_err "^train: task $id has no logs of trial 3: there are those of trial 0 alone$"
    mkdir -p "$work/moved" "$logs/trial-7"
    mv "$logs"/rank-* "$logs"/metrics-* "$work/moved" 2>/dev/null
    mkdir "$logs/trial-3"
    mv "$work"/moved/* "$logs/trial-3"

    task logs "$id"
    expect_status 64
    expect_err "^train: task $id has logs of 2 trials, 3 to 7$"
    expect_err '^ +say which: --trial 3$'
    task logs "$id" --trial 5
    expect_status 66
    expect_err "^train: task $id has no logs of trial 5: there are those of 2 trials, 3 to 7$"
    task logs "$id" --trial x
    expect_status 64
    task logs "$id" --trial 3
    expect_status 0
    expect_out '^\[0\] rank 0$'
    expect_out '^\[1\] rank 1$'
    expect_out '^\[0\] attempt 1$'
    expect_no_out 'attempt 0'
    task logs "$id" --trial 3 --rank 1
    expect_equal "the log of rank 1" "rank 1" "$(cat "$work/out")"
    task logs "$id" --trial 3 --stderr --attempt 0 --rank 0 -f
    expect_equal "what rank 0 said at first" "attempt 0" "$(cat "$work/out")"
    task logs "$id" --trial 3 --since 1h --stderr
    expect_equal "all attempts" "[0] attempt 0 [0] attempt 1 " "$(tr '\n' ' ' <"$work/out")"
    task logs "$id" --trial 3 --rank 2
    expect_status 66
    expect_err "^train: trial 3 of task $id has no rank 2: its ranks are 0 to 1$"
    task logs "$id" --trial 3 --attempt 2
    expect_status 66
    expect_err "^train: trial 3 of task $id has no attempt 2: its attempts are 0 to 1$"
    task logs "$id" --trial 3 --host localhost
    expect_status 66
    expect_err "^train: its logs do not tell where trial 3 of task $id ran$"
}

# A task that runs, whose ranks write on into files that were moved.
followed_trial() {
    start launch -n 1 -- /bin/sh -c 'echo up; until [ -e go ]; do sleep 0.05; done; echo more; until [ -e end ]; do sleep 0.05; done'
    within 30 "the rank is up" out_has up
    local logs
    logs=$(dirname "$(log_of 0)")
    mkdir "$logs/trial-3"
    within 20 "its line is written" grep -q up "$(log_of 0)"
    mv "$logs"/rank-* "$logs/trial-3"
    : >"$work/followed"
    (exec_with_environment "$train" task logs "$(task_id)" --trial 3 -f) >"$work/followed" 2>&1 &
    local follower=$!
    within 20 "what there is is shown" grep -q '^\[0\] up$' "$work/followed"
    touch go
    within 20 "what comes is shown" grep -q '^\[0\] more$' "$work/followed"
    ! has_gone "$follower" || note_failure "it did not wait for the end"
    touch end
    await
    within 20 "it ends with the task" has_gone "$follower"
}

# --- A full disk, and limits ---

full_disk() {
    unshare --mount true 2>/dev/null || { skip "no file system can be mounted"; return; }
    mkdir "$work/small"
    # The ranks fill it up, and the logs find no room; the end of the task is recorded all the same.
    with_environment unshare --mount sh -c 'mount -t tmpfs -o size=1m none "$1" || exit 99
        export XDG_STATE_HOME="$1"
        "$2" launch -n 1 -- /bin/sh -c "head -c 4000000 /dev/zero >$1/filler; head -c 300000 /dev/zero; exit 4"
        echo "exit $?" >&2
        id=$(ls "$1/train/tasks")
        "$2" task show "$id" | grep -E "^(state|exit code)" >&2
        rm "$1/filler"
        "$2" task list --all --csv >&2' \
        - "$work/small" "$train" >/dev/null 2>"$work/err"
    expect_equal "said of the disk" 1 "$(grep -c 'no space left on device' "$work/err")"
    expect_err '^train: [0-9]+ bytes of output are not in the logs'
    expect_err '^exit 4$'
    expect_err '^state +failed$'
    expect_err '^exit code +4$'
    expect_err '^[a-z0-9]+,sh,failed,'
}

full_disk_for_a_while() {
    unshare --mount true 2>/dev/null || { skip "no file system can be mounted"; return; }
    mkdir "$work/small"
    # The logs find no room, and 39 MB wait on the host; then somebody makes room.
    : >"$work/err"
    # shellcheck disable=SC2094 # one process appends to what another one waits for
    with_environment unshare --mount sh -c 'mount -t tmpfs -o size=80m none "$1" || exit 99
        export XDG_STATE_HOME="$1"
        "$2" launch -n 1 --set log_limit=1GiB -- /bin/sh -c "head -c 90000000 /dev/zero >$1/filler 2>/dev/null
            seq 1 5000000; touch $1/printed; until [ -e $1/has_waited ]; do sleep 0.05; done; rm $1/filler" &
        launcher=$!
        until grep -q "no space left" "$3"; do sleep 0.05; done
        until [ -e "$1/printed" ]; do sleep 0.05; done
        touch "$1/has_waited"
        wait $launcher
        echo "exit $?" >&2
        "$2" task logs "$(ls "$1/train/tasks")" --rank 0 | cmp - "$4" && echo "the log is whole" >&2' \
        - "$work/small" "$train" "$work/err" <(seq 1 5000000) >/dev/null 2>>"$work/err"
    expect_err 'no space left on device: output is kept on the hosts until there is room'
    expect_err '^train: the log disk \(.*\) takes output again$'
    expect_err '^exit 0$'
    expect_err '^the log is whole$'
}

# in_small_places SCRIPT: runs it where a host has 40 MB, so that it keeps 4 MB of output, and the logs
# find no room after `fill`, which is for ranks, until "logs/full" is removed.
in_small_places() {
    unshare --mount true 2>/dev/null || { skip "no file system can be mounted"; return 1; }
    mkdir -p "$work/logs" "$work/host"
    with_environment unshare --mount bash -c 'set -e
        work=$1 train=$2
        mount -t tmpfs -o size=40m,mode=700 none "$work/host"
        mount -t tmpfs -o size=80m none "$work/logs"
        export XDG_STATE_HOME=$work/logs
        cd "$work"
        export fill="head -c 90000000 /dev/zero 2>/dev/null >$work/logs/full"
        said() { until grep -qE "$1" "$work/err"; do sleep 0.05; done; }
        log() { "$train" task logs "$(ls "$work/logs/train/tasks")" --rank 0; }
        set +e; eval "$3"' - "$work" "$train" "$1" >/dev/null 2>"$work/err"
    return 0
}

blocked_and_back() {
    in_small_places '"$train" launch -n 1 --set log_limit=1GiB -- /bin/sh -c "$fill; seq 1 5000000; touch printed" &
        said "output waits"
        [ ! -e printed ] && echo "the rank waits" >&2
        rm "$work/logs/full"
        wait $!
        echo "exit $?" >&2
        log | cmp - <(seq 1 5000000) && echo "the log is whole" >&2' || return
    expect_err "^train: host 'localhost': its output waits, since there is no room for more of it there \([4-9]\.[0-9] MiB are kept\); its ranks wait once their pipes are full$"
    expect_err '^the rank waits$'
    expect_err "^train: host 'localhost': its output goes on$"
    expect_err '^exit 0$'
    expect_err '^the log is whole$'
}

dropped() {
    in_small_places '"$train" launch -n 1 --set log_limit=1GiB --set spool_overflow=drop -- \
            /bin/sh -c "$fill; seq 1 5000000; touch printed; until [ -e go ]; do sleep 0.05; done; echo the end" &
        until [ -e printed ]; do sleep 0.05; done
        rm "$work/logs/full"
        said "takes output again"
        until log 2>&1 >logged | grep -q dropped; do sleep 0.1; done
        touch go
        wait $!
        echo "exit $?" >&2
        log >kept' || return
    expect_err '^exit 0$'
    local gap
    gap=$(sed -nE 's/^train: rank 0: ([0-9]+) bytes of output were dropped for want of room here$/\1/p' "$work/err")
    expect_equal "bytes that are kept or counted" $(($(seq 1 5000000 | wc -c) + 8)) $(($(stat -c %s "$work/kept") + ${gap:-0}))
    expect_equal "the last line" "the end" "$(tail -n 1 "$work/kept")"
}

# Nobody reads what the launch says. The ranks print more than it keeps for a reader, and end.
has_succeeded() { [ "$(state_of "$(ls "$work/state/train/tasks")")" = succeeded ]; }
reader_that_stands_still() {
    mkfifo "$work/fifo"
    exec 7<>"$work/fifo" # keeps it open while nobody reads
    output=$work/fifo start launch -n 1 -- /bin/sh -c 'seq 1 12000000; touch printed'
    within 60 "the rank has printed everything" test -e printed
    within 20 "the task has ended" has_succeeded
    cat "$work/fifo" >"$work/out" 7>&- &
    local reader=$!
    exec 7>&-
    await
    wait "$reader"
    expect_status 0
    expect_err '^train: [0-9]+ lines of output were not shown here, because they were read too slowly; train task logs [a-z0-9]+ prints everything$'
    task logs "$(task_id)" --rank 0
    expect_equal "the log" "$(seq 1 12000000 | sha256sum)" "$(sha256sum <"$work/out")"
}

file_size_limit() {
    (ulimit -f 200 && output=/dev/null exec_with_environment "$train" launch -n 1 -- \
        /bin/sh -c 'ulimit -f unlimited 2>/dev/null; head -c 2000000 /dev/zero') >/dev/null 2>"$work/err"
    expect_equal "exit status" 0 $?
    expect_equal "state" succeeded "$(state_of "$(task_id)")"
    task logs "$(task_id)" --rank 0
    expect_equal "bytes of the log" 2000000 "$(stat -c %s "$work/out")"
    (ulimit -f 1; exec_with_environment "$train" plan -n 900 -H localhost:900 --svg "$work/plan.svg" -- true) >/dev/null 2>"$work/err"
    expect_equal "exit status of plan --svg" 66 $?
}

# --- A disk and a registry that do not answer ---

stalled_log() {
    start launch -n 1 --set stop_grace=500ms -- /bin/sh -c 'trap "exit 0" TERM; touch up; until [ -e go ]; do sleep 0.05; done; echo shown; while :; do sleep 0.05; done'
    within 30 "the rank is up" test -e up
    # To open a pipe that nobody reads takes for ever.
    mkfifo "$(dirname "$(log_of 0)")/rank-0.0.index"
    touch go
    within 20 "its output is shown" out_has '^\[0\] shown$'
    kill -INT "$launcher"
    await
    expect_status 130
    expect_err 'the log disk \(.*\) has not answered for [0-9]+ s, and is not waited for any longer$'
    expect_err '^train: [0-9]+ bytes of output are not in the logs'
    expect_equal "state" interrupted "$(state_of "$(task_id)")"
}

# The files of ranks are made before the first host is reached.
stalled_before_the_start() {
    hang_at /logs/rank-0 || return
    start launch -n 1 -- /bin/touch started
    expect_hang
    kill -INT "$launcher"
    await
    expect_status 130
    expect_last_err "failed: interrupted: stopped by SIGINT (exit 130)"
    [ ! -e started ] || note_failure "it was started all the same"
    environment=()
    expect_equal "state" interrupted "$(state_of "$(task_id)")"
}

locked_at_the_end() {
    start launch -n 1 -- /bin/sh -c 'until [ -e go ]; do sleep 0.05; done'
    within 30 "it runs" made_one running
    hold_registry
    touch go
    sleep 7 # waits: longer than one write waits for the lock
    let_registry_go
    await
    expect_status 0
    expect_equal "state" succeeded "$(state_of "$(task_id)")"
}

locked_when_it_begins_to_run() {
    start_before_the_run -- /bin/sh -c 'until [ -e go ]; do sleep 0.05; done'
    hold_registry
    let_it_run
    sleep 7 # waits: longer than one write waits for the lock
    let_registry_go
    touch go
    await
    expect_status 0
    expect_equal "state" succeeded "$(state_of "$(task_id)")"
}

# --- Signals and the end ---

ctrl_c_beside_the_record() {
    start_before_the_run -- sleep 4711
    kill -INT "$launcher"
    let_it_run
    await
    expect_status 130
    expect_equal "state" interrupted "$(state_of "$(task_id)")"
}

background_job() {
    # As a script's background job: SIGINT and SIGQUIT are ignored from the beginning.
    (trap '' INT QUIT; exec_with_environment setsid "$train" launch -n 1 -- /bin/sh -c 'echo up; until [ -e go ]; do sleep 0.05; done; exit 3') >"$work/out" 2>"$work/err" &
    launcher=$!
    within 30 "the rank is up" out_has up
    local pid
    pid=$(pids_of "^$train launch" | head -n 1)
    kill -INT "$pid"
    touch go
    await
    expect_status 3
    (trap '' INT QUIT TERM; exec_with_environment setsid "$train" launch -n 1 -- /bin/sh -c 'echo up again; exec sleep 4711') >"$work/out" 2>"$work/err" &
    launcher=$!
    within 30 "the rank is up" out_has 'up again'
    kill -TERM "$(pids_of "^$train launch" | head -n 1)"
    await
    expect_status 143
}

killed_behind_a_terminal() {
    # The terminal takes nothing more: the launcher cannot leave, but the task has ended.
    mkfifo "$work/fifo"
    exec 7<>"$work/fifo"
    output=$work/fifo start launch -n 1 --set stop_grace=1s -- /bin/sh -c 'head -c 300000 /dev/zero | tr "\0" x; exec sleep 4711'
    within 30 "it runs" process_count_is 1 '^sleep 4711'
    task kill "$(task_id)"
    expect_status 0
    expect_err "^train: task $(task_id): killed$"
    ! has_ended || note_failure "the launcher did not wait for the terminal"
    cat "$work/fifo" >/dev/null 7>&- &
    exec 7>&-
    await
}

followed_without_reading() {
    start launch -n 1 -- /bin/sh -c 'echo up; until [ -e go ]; do sleep 0.05; done'
    within 30 "the rank is up" out_has up
    command -v strace >/dev/null || { touch go; await; skip "there is no strace"; return; }
    : >"$work/followed"
    (exec_with_environment strace -f -o "$work/trace" "$train" task logs "$(task_id)" -f) >"$work/followed" 2>&1 &
    local follower=$! before calls
    eventually 20 grep -q up "$work/followed" || note_failure "nothing is followed"
    before=$(settled wc -l "$work/trace" | cut -d ' ' -f 1)
    sleep 3 # waits: nothing happens for so long
    calls=$(($(wc -l <"$work/trace") - before))
    [ "$calls" -lt 60 ] || note_failure "while nothing happened it made $calls system calls"
    touch go
    await
    eventually 20 has_gone "$follower" || note_failure "it did not notice the end"
}

test_case "log_limit keeps the last bytes of each rank and marks the gap" limited
test_case "a rank that prints byte by byte stays within a small limit, index and all" small_limit_of_a_chatty_rank
test_case "logs of ranks are merged by their times" merged_in_time
test_case "140 MB of any bytes are shown as they were written, over segments and attempts" whole_and_exact
test_case "the logs of one trial are shown as those of a task, and which there are is said" of_a_trial
test_case "the logs of one trial are followed until the task ends" followed_trial
test_case "a full disk is said once, and the task's end is recorded" full_disk
test_case "a full disk that gets room again has cost nothing" full_disk_for_a_while
test_case "a host that can keep no more output lets its ranks wait, says so, and goes on" blocked_and_back
test_case "output that may be dropped is counted where it is missing" dropped
test_case "a reader that stands still holds up neither ranks nor logs, and is told what it has missed" reader_that_stands_still
test_case "a limit on the length of files loses no output and kills no command" file_size_limit
test_case "Ctrl-C ends a launch whose log disk does not answer, and says what is lost" stalled_log
test_case "Ctrl-C ends a launch whose log disk does not answer before anything has started" stalled_before_the_start
test_case "a registry that is locked when a task ends does not lose its end" locked_at_the_end
test_case "a registry that is locked when a task begins to run does not lose its end" locked_when_it_begins_to_run
test_case "Ctrl-C between the record of a task and its run is recorded" ctrl_c_beside_the_record
test_case "signals that were ignored stay ignored, but for SIGTERM" background_job
test_case "task kill waits for the record, not for a terminal" killed_behind_a_terminal
test_case "a followed task that does nothing is not read again and again" followed_without_reading
finish
