#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Odd surroundings: closed streams, no home, no PATH, a full disk.   surroundings_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

two=(-H localhost:2 -n 2)

# With stdin, stdout and stderr closed no file of ours may get their numbers.
closed_streams() {
    (exec_with_environment "$train" launch "${two[@]}" -- /bin/sh -c '[ $RANK = 1 ] || exit 0; echo "rank $RANK"; echo err >&2; exit 3') <&- >&- 2>&-
    expect_equal "exit status with all closed" 3 $?
    printf 'rank 1\nerr\n' >wanted
    expect_same "the log of rank 1" wanted "$(log_of 1)"
    expect_equal "state" failed "$(state_of "$(task_id)")"
    (exec_with_environment "$train" launch -n 1 -- echo hello) <&- 2>&- >"$work/out"
    expect_equal "exit status without stdin and stderr" 0 $?
    expect_equal "stdout" '[0] hello' "$(cat "$work/out")"
    (exec_with_environment "$train" launch -n 1 -- echo hello) >&- 2>"$work/err"
    expect_equal "exit status without stdout" 0 $?
    expect_equal "registry" "SQLite format 3" "$(head -c 15 "$work/state/train/tasks.db")"
}

# What nobody can read is no success.
full_output() {
    local command
    for command in 'plan -- true' 'plan --json -- true' 'task list' 'task list --json'; do
        # shellcheck disable=SC2086 # several words
        output=/dev/full run $command
        expect_status 66
        expect_err '^train: cannot write to standard output: no space left on device$'
        expect_last_err 'failed: no_input (exit 66)'
    done
}

no_home() {
    environment=(-u HOME)
    run launch -n 1 -- true
    expect_status 0
    # In a mount namespace where this user's own home is an empty file system.
    local home
    home=$(getent passwd "$(id -u)" | cut -d : -f 6)
    unshare --mount true 2>/dev/null || { skip "no file system can be mounted"; return; }
    environment=(-u HOME -u XDG_STATE_HOME)
    # shellcheck disable=SC2016 # expanded inside
    with_environment unshare --mount sh -c \
        'mount -t tmpfs none "$1" && "$2" launch -n 1 -- true && test -e "$1/.local/state/train/tasks.db"' \
        - "$home" "$train" >"$work/out" 2>"$work/err" || note_failure "nothing was recorded in $home"
}

unusable_state() {
    echo file >"$work/file"
    environment=("XDG_STATE_HOME=$work/file")
    run launch -n 1 -- touch started
    expect_status 66
    expect_err "$work/file"
    expect_last_err 'failed: no_input (exit 66)'
    [ ! -e started ] || note_failure "it was launched"
    run plan -n 1 -- true
    expect_status 0
    environment=(XDG_STATE_HOME=/proc/nowhere)
    run task list
    expect_status 66
    expect_err '/proc/nowhere'
    environment=(XDG_STATE_HOME=relative "HOME=$work/home")
    run launch -n 1 -- true
    expect_status 0
    [ -e "$work/home/.local/state/train/tasks.db" ] || note_failure "a relative XDG_STATE_HOME was not ignored"
}

unusable_host_directory() {
    mkdir -m 777 "$work/host"
    run launch -n 1 -- touch started
    expect_status 76
    expect_err "$work/host"
    expect_err "^train: failed: host: host 'localhost': .*$work/host.* \(exit 76\)$"
    [ ! -e started ] || note_failure "it was launched"
}

empty_path() {
    environment=(PATH=)
    run launch -n 1 -- /bin/echo hello
    expect_status 0
    expect_out '^\[0\] hello$'
    run launch -n 1 -- nonesuch
    expect_status 72
    expect_err "program 'nonesuch' was not found"
}

directory_is_gone() {
    mkdir gone
    (cd gone && rmdir ../gone && exec_with_environment "$train" launch -n 1 -- true) 2>"$work/err"
    expect_equal "exit status" 72 $?
    expect_err 'current directory|working directory'
    expect_last_err 'failed: missing (exit 72)'
}

few_descriptors() {
    (ulimit -n 64 && exec_with_environment "$train" launch -H localhost:4 -n 4 -- echo hello) >"$work/out" 2>"$work/err"
    expect_equal "exit status" 0 $?
    expect_equal "lines" 4 "$(wc -l <"$work/out")"
}

# Whatever cannot be opened any more is trouble of this machine, which names the limit.
hardly_a_descriptor() {
    local limit code
    for limit in 7 8 9 10 11 12 13 14 15 16 17 18 19; do
        (ulimit -n "$limit" && exec_with_environment "$train" launch -H localhost:1 -n 1 -- echo hello) >"$work/out" 2>"$work/err"
        code=$?
        ! err_has 'a bug in train' || note_failure "a limit of $limit is called a bug: $(cat "$work/err")"
        [ "$code" -eq 0 ] || err_has '[Tt]oo many open files|open files, ulimit -Hn' || note_failure "a limit of $limit is not named: $(cat "$work/err")"
    done
}

# with_stack KIB COMMAND...: as in a shell with that limit; bash itself would need more.
with_stack() { with_environment prlimit --stack="$(($1 * 1024)):" "${@:2}" >"$work/out" 2>"$work/err"; status=$?; }

# Too little is said before anything is recorded; with what is enough everything works.
small_stack() {
    local command
    for command in 'launch -n 1 -- touch started' 'launch -d -n 1 -- touch started' 'plan -n 1 -- true' 'task list'; do
        # shellcheck disable=SC2086 # several words
        with_stack 64 "$train" $command
        expect_status 76
        expect_err '^train: the stack is limited to 64 KiB .ulimit -s., too little for train'
        expect_err '^  raise the limit: ulimit -s [0-9]+$'
        expect_last_err 'failed: host (exit 76)'
    done
    expect_equal "what was recorded" "" "$(find "$work/state" -mindepth 1 2>/dev/null)"
    with_environment prlimit --stack=65536:65536 "$train" launch -n 1 -- touch started 2>"$work/err"
    expect_err 'the hard limit is as low'
    [ ! -e started ] || note_failure "it was launched"
    with_stack 1023 "$train" task list
    expect_status 76
    with_stack 1024 "$train" launch "${two[@]}" -- /bin/sh -c 'ulimit -s'
    expect_status 0
    expect_equal "limit of the ranks" 2 "$(grep -c ' 1024$' "$work/out")"
}

ignored_signals() {
    # As under nohup, or in a script's background job.
    (trap '' HUP INT; exec_with_environment setsid "$train" launch "${two[@]}" -- /bin/sh -c 'grep SigIgn /proc/self/status; exit 0') >"$work/out" 2>"$work/err"
    expect_equal "exit status" 0 $?
    expect_out '^\[0\] SigIgn:.0+$'
}

clean_workers() {
    exec 8<"$work" 9>"$work/leak"
    run launch -n 1 -- /bin/sh -c 'ls /proc/self/fd; grep -E "Sig(Blk|Ign)" /proc/self/status; umask; id -u'
    exec 8<&- 9>&-
    expect_status 0
    expect_equal "descriptors of a rank (3 is ls's own)" "0 1 2 3" \
        "$(sed -n 's/^\[0\] \([0-9]\)$/\1/p' "$work/out" | head -n 4 | xargs)"
    expect_out '^\[0\] SigBlk:.0+$'
    expect_out '^\[0\] SigIgn:.0+$'
    expect_out "^\[0\] $(umask)\$"
}

logs_on_a_small_disk() {
    unshare --mount true 2>/dev/null || { skip "no file system can be mounted"; return; }
    mkdir "$work/state"
    with_environment unshare --mount sh -c 'mount -t tmpfs -o size=1M none "$1" && shift && exec "$@"' - "$work/state" \
        sh -c '"$@" && du -sb "$XDG_STATE_HOME"/train/tasks/*/logs >&2' - \
        "$train" launch -n 1 -- /usr/bin/python3 -c 'for i in range(40000): print("a line of output, number", i)' \
        >"$work/out" 2>"$work/err"
    expect_equal "exit status" 0 $?
    expect_equal "lines on the terminal" 40000 "$(wc -l <"$work/out")"
    local bytes
    bytes=$(sed -n 's|^\([0-9]*\)\t.*/logs$|\1|p' "$work/err")
    [ "${bytes:-0}" -gt 10000 ] || note_failure "the logs have only ${bytes:-no} bytes"
    [ "${bytes:-0}" -lt 120000 ] || note_failure "the logs have $bytes bytes"
    expect_no_err 'no space left'
}

binary_is_replaced() {
    cp "$train" ./train
    (exec_with_environment ./train launch -n 1 -- /bin/sh -c 'rm -f train; echo "still here"') >"$work/out" 2>"$work/err"
    expect_equal "exit status" 0 $?
    expect_out 'still here'
}

a_link_to_the_program() {
    mkdir bin
    ln -s "$train" bin/train
    environment=("PATH=$work/here/bin:$PATH")
    with_environment train launch -n 1 -- echo hello >"$work/out" 2>"$work/err"
    expect_equal "exit status" 0 $?
    expect_out '^\[0\] hello$'
}

test_case "closed streams do no harm" closed_streams
test_case "an answer that cannot be written is a failure" full_output
test_case "without HOME the user database is asked" no_home
test_case "a state directory that cannot be used is told before anything starts" unusable_state
test_case "a host directory that others could write is refused" unusable_host_directory
test_case "an empty PATH" empty_path
test_case "a working directory that is gone" directory_is_gone
test_case "a low limit of open files" few_descriptors
test_case "limits of open files with which nothing can be done are named" hardly_a_descriptor
test_case "a stack that is too small is refused, and not raised" small_stack
test_case "signals that the caller ignores are as usual in the ranks" ignored_signals
test_case "ranks start with clean descriptors, signals and umask" clean_workers
test_case "logs on a small disk keep to a tenth of what was free" logs_on_a_small_disk
test_case "the program may be removed while it runs" binary_is_replaced
test_case "the program may be a link in PATH" a_link_to_the_program
finish
