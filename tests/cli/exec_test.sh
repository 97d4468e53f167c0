#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Commands beside a rank that runs.   exec_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

# begin: a task of two ranks, until `go` is there; sets `id`.
begin() {
    rm -f go
    id=$(with_environment "$train" launch -d -H localhost:2 -n 2 -- /bin/sh -c \
        'ulimit -n 500; umask 027; mkdir -p "in$RANK"; cd "in$RANK"; export LATER=1; echo $$ >ready
         while [ ! -e ../go ]; do sleep 0.02; done' 2>"$work/err") || note_failure "it does not start: $(cat "$work/err")"
    within 20 "the ranks are there" both_are_ready
}

both_are_ready() { [ -s in0/ready ] && [ -s in1/ready ]; }

finish_task() {
    touch go
    with_environment "$train" task wait "$id" 2>"$work/err" || note_failure "it fails: $(cat "$work/err")"
}

has_what_the_rank_has() {
    begin
    run task exec "$id" --rank 1 -- /bin/sh -c 'echo "$RANK $WORLD_SIZE $(ulimit -n) $(umask) $TRAIN_TASK_ID"; pwd; echo "to stderr" >&2; exit 7'
    expect_status 7
    expect_out "^1 2 500 0?027 $id\$"
    expect_out "/in1\$"
    expect_err '^to stderr$'
    run task exec "$id" -- /bin/sh -c 'cat /proc/self/status'
    expect_equal "the CPUs of rank 0" "$(grep Cpus_allowed_list "/proc/$(cat in0/ready)/status")" \
        "$(grep Cpus_allowed_list "$work/out")"
    finish_task
}

passes_bytes() {
    begin
    head -c 5000000 /dev/urandom >bytes
    input=bytes run task exec "$id" -- /bin/cat
    expect_status 0
    expect_same "a file through cat" bytes "$work/out"
    with_environment "$train" task exec "$id" -- /bin/cat < <(cat bytes) >piped
    expect_same "a pipe through cat" bytes piped
    run task exec "$id" -- /bin/cat
    expect_status 0
    expect_equal "nothing through cat" "" "$(cat "$work/out")"
    with_environment "$train" task exec "$id" -- /bin/sh -c 'while echo y; do :; done' | head -n 1 >first
    expect_equal "a reader that leaves" y "$(cat first)"
    within 20 "the command has ended with its reader" process_count_is 0 'while echo y'
    finish_task
}

says_how_it_ended() {
    begin
    run task exec "$id" -- /bin/sh -c 'kill -KILL $$'
    expect_status 137
    run task exec "$id" -- nonesuch
    expect_status 127
    expect_err "^train: host 'localhost': 'nonesuch' cannot be run: no such file or directory$"
    run task exec "$id" -- /
    expect_status 126
    run task exec "$id" --rank 2 -- /bin/true
    expect_status 66
    expect_err "^train: task $id has no rank 2: its ranks are 0 to 1$"
    run task exec "$id"
    expect_status 64
    expect_err '^  write a command after --: train task exec TASK -- nvidia-smi$'
    start task exec "$id" -- /bin/sh -c 'trap "exit 3" TERM; echo up; while :; do sleep 0.02; done'
    within 20 "it runs" out_has '^up$'
    kill -TERM "$launcher"
    await
    expect_status 3
    finish_task
    run task exec "$id" -- /bin/true
    expect_status 66
    expect_err "^train: task $id has ended: succeeded$"
}

# What it has started, in whatever session, is gone with it, with its asker, with its rank.
leaves_nothing() {
    begin
    run task exec "$id" -- /bin/sh -c 'setsid sleep 5001 & echo started'
    expect_status 0
    within 20 "nothing is left of a command that has ended" process_count_is 0 'sleep 5001'
    start task exec "$id" -- /bin/sh -c 'setsid sleep 5002 & echo started; sleep 5003'
    within 20 "it runs" out_has '^started$'
    kill -KILL "$launcher"
    within 20 "nothing is left of a command whose asker was killed" process_count_is 0 'sleep 500[23]'
    start task exec "$id" -- /bin/sh -c 'trap "" HUP; echo started; while :; do sleep 0.1; done'
    within 20 "it runs" out_has '^started$'
    touch go
    await
    expect_status 137
    expect_err '^train: rank 0 has ended, and all that ran beside it$'
    finish_task
}

# Whoever reads what is printed may stop, for as long as it likes.
waits_for_its_reader() {
    begin
    mkfifo printed
    exec 9<>printed # a reader that takes nothing
    output=printed start task exec "$id" -- /bin/sh -c 'yes stuck & wait'
    within 20 "what waits for the reader is full" is_stuck
    kill -TERM "$launcher"
    within 20 "the command has ended by the signal" process_count_is 0 '^yes stuck'
    cat <printed >all 9>&- &
    local reader=$!
    exec 9>&-
    await
    expect_status 143
    wait "$reader"
    expect_equal "other lines" "" "$(head -n -1 all | grep -v '^stuck$' | head -n 1)"
    with_environment "$train" task exec "$id" -- /bin/sh -c 'echo much; exec sleep 5004' >/dev/full 2>"$work/err"
    status=$?
    expect_status 66
    expect_err '^train: what the command prints cannot be written: no space left on device$'
    within 20 "the command has ended" process_count_is 0 'sleep 5004'
    finish_task
}
# The command has written something, and nothing more for as long as ten looks take.
is_stuck() {
    local now
    now=$(for pid in $(pids_of '^yes stuck'); do grep wchar "/proc/$pid/io"; done)
    if [ -z "$now" ] || [ "$now" != "${before:-}" ]; then looks=0; else looks=$((looks + 1)); fi
    before=$now
    [ "$looks" -ge 10 ]
}

# Where the rank is is on a file server that is gone. No case leaves a process behind.
hangs_on_its_way_there() {
    begin
    hang_at /in1 || return
    start task exec "$id" --rank 1 -- /bin/true
    expect_hang
    kill -INT "$launcher"
    await
    expect_status 130
    hang_at /in1
    start task exec "$id" --rank 1 -- /bin/true
    expect_hang
    environment=()
    touch go
    await
    expect_err '^train: rank 1 has ended, and all that ran beside it$'
    finish_task
}

# Of what is piped in, most of which waits for a command that does not read.
is_told_behind_input() {
    begin
    head -c 5000000 /dev/zero >bytes
    input=bytes start task exec "$id" -- /bin/sh -c 'trap "exit 3" TERM; echo up; while :; do sleep 0.02; done'
    within 20 "it runs" out_has '^up$'
    kill -TERM "$launcher"
    await
    expect_status 3
    finish_task
}

# Only ranks of torch have RANK.
finds_ranks_of_any_framework() {
    local arguments
    for arguments in "--set framework=none" "--set framework=jax" "--set processes=per_host"; do
        rm -f go up.*
        # shellcheck disable=SC2086 # two words
        id=$(with_environment "$train" launch -d -H localhost:2 -n 2 $arguments -- /bin/sh -c \
            ': >up.$$; while [ ! -e go ]; do sleep 0.02; done' 2>"$work/err") || note_failure "$(cat "$work/err")"
        run task exec "$id" -- /bin/sh -c 'echo "$TRAIN_TASK_ID"'
        expect_status 0
        expect_out "^$id\$"
        finish_task
    done
}

# Not by a key: by whoever ends it from elsewhere.
restores_the_terminal() {
    begin
    cat >ended.py <<'P'
import os, pty, signal, sys, termios
pid, master = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
said = b""
while b"up" not in said:
    said += os.read(master, 4096)
assert not termios.tcgetattr(master)[3] & termios.ECHO
os.kill(pid, signal.SIGTERM)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.exit(code if termios.tcgetattr(master)[3] & termios.ECHO else 99)
P
    with_environment /usr/bin/python3 ended.py "$train" task exec "$id" -- /bin/sh -c 'echo up; exec sleep 5005' >"$work/out" 2>&1
    status=$?
    expect_status 143
    within 20 "the command has ended" process_count_is 0 'sleep 5005'
    finish_task
}

has_a_terminal() {
    begin
    cat >terminal.py <<'P'
import os, pty, sys, termios, struct, fcntl, time
pid, master = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    os.environ["TERM"] = "vt100"
    os.execv(sys.argv[1], sys.argv[1:])
said = b""
def until(what):
    global said
    while what not in said:
        said += os.read(master, 4096)
until(b"33 77 vt100")
fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 88, 0, 0))
until(b"now 44 88")
os.write(master, b"typed\n")
until(b"read typed")
os.write(master, b"\x03")
until(b"interrupted")
status = os.waitpid(pid, 0)[1]
sys.exit(os.waitstatus_to_exitcode(status))
P
    with_environment /usr/bin/python3 terminal.py "$train" task exec "$id" -- /bin/bash -c \
        'trap "echo now \$(stty size)" WINCH; trap "echo interrupted; exit 5" INT; tty
         echo "$(stty size) $TERM"
         # waits: a signal has to come in between
         until read -r -t 0.1 line; do :; done; echo "read $line"; while :; do sleep 0.05; done' >"$work/out" 2>&1 &
    launcher=$!
    await
    expect_status 5
    run task exec "$id" --no-tty -- /usr/bin/tty
    expect_out '^not a tty$'
    finish_task
}

test_case "a command beside a rank has its environment, directory, limits and CPUs, and its own exit code" has_what_the_rank_has
test_case "what is piped in and out arrives byte for byte" passes_bytes
test_case "a command beside a rank says how it ended, or why it was not run" says_how_it_ended
test_case "nothing of a command beside a rank outlives it, its asker or the rank" leaves_nothing
test_case "a command whose output nobody takes is told of signals, and ends whole once it is taken" waits_for_its_reader
test_case "a command that does not read what is piped in is told of signals" is_told_behind_input
test_case "a command whose directory does not answer is ended by Ctrl-C, and with its rank" hangs_on_its_way_there
test_case "ranks of any framework have commands beside them" finds_ranks_of_any_framework
test_case "a command at a terminal that is ended from elsewhere leaves the terminal as it was" restores_the_terminal
test_case "at a terminal it has a terminal: size, keys, Ctrl-C" has_a_terminal
finish
