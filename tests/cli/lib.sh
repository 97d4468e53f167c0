# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tests of the command line on this machine, without SSH. A test file is
#
#     . "$(dirname "$0")/lib.sh"
#     use_train "$1"                        # the program under test
#     test_case "what must hold" function   # ... as often as there are cases
#     finish                                # "N passed, N failed, N skipped"; the exit status
#
# A case fails when an assertion fails; assertions go on, so that one run shows all that is wrong.
# Every case starts in an empty
# folder, with a home, a task registry and a host directory of its own, and fails when it leaves a
# process or a file of an agent behind.
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$root/tests/support/waiting.sh"
. "$root/tests/support/cases.sh"
env=$(command -v env)
setsid=$(command -v setsid)
train=''       # the program under test
work=''        # of the current case: $work/here is its working directory
status=''      # exit status of the last command, or that it had to be killed
launcher=''    # process id of the command that `start` left running
environment=() # what the program gets on top of its usual environment: NAME=VALUE, or -u NAME first

# --- The program ---

# use_train FILE: the program under test.
use_train() {
    [ -x "${1:-}" ] || { echo "usage: ${0##*/} path/to/train" >&2; exit 2; }
    train=$(realpath "$1")
    all_work=$(mktemp -d "${TMPDIR:-/tmp}/train-cli.XXXXXX") || exit 1
    trap 'rm -rf "$all_work"' EXIT
    trap 'kill_everything; exit 130' INT TERM HUP
}

# with_environment COMMAND...: as a user of this machine would run it, with nothing inherited that a
# case did not ask for. Its processes are known by TRAIN_HOST_DIRECTORY.
with_environment() { (exec_with_environment "$@"); }

exec_with_environment() {
    exec "$env" -i PATH="$PATH" HOME="$work/home" USER=tester LANG=C.UTF-8 XDG_STATE_HOME="$work/state" \
        TRAIN_HOST_DIRECTORY="$work/host" TRAIN_LEASE_DIRECTORY="$work/leases" "$env" "${environment[@]}" "$@"
}

# run ARGUMENT...: the program, to its end; sets `status`, fills $work/out and $work/err.
run() {
    start "$@"
    await
}

# start ARGUMENT...: left running; sets `launcher`. It has a process group of its own, and signals
# as at a terminal (a shell's background jobs ignore SIGINT).
start() {
    # Emptied before, so that nobody takes the words of an earlier command for those of this one.
    [ -n "${output:-}" ] || : >"$work/out"
    : >"$work/err"
    (exec_with_environment "$env" --default-signal=INT,QUIT,HUP "$setsid" "$train" "$@") \
        <"${input:-/dev/null}" >"${output:-$work/out}" 2>"${errors:-$work/err}" &
    launcher=$!
}

# at_terminal COLUMNS LINES [REGEX ACTION]... -- ARGUMENT...: the program at a terminal: see screen.py.
at_terminal() {
    local words=()
    while [ "$1" != -- ]; do
        words+=("$1")
        shift
    done
    shift
    with_environment /usr/bin/python3 "$here/screen.py" "${words[@]}" -- "$train" "$@" \
        >"$work/out" 2>"$work/err"
    status=$?
    expect_no_out '^(never seen|strange sequence)'
}

# await: waits for the end of what was started; `limit` is in seconds, of an idle machine, and far above
# what anything takes: it ends what hangs. That something is quick is asserted by what else it would do.
await() {
    # Without stderr: bash would say there which of its jobs were killed.
    if eventually "${limit:-60}" has_ended 2>/dev/null; then
        wait "$launcher" 2>/dev/null
        status=$?
    else
        note_failure "what runs when it is killed:" "$(states_of_processes)"
        status="killed, since it had not ended after ${limit:-60} s of an idle machine"
        kill -KILL "$launcher"
        wait "$launcher" 2>/dev/null
    fi
}

has_ended() { ! kill -0 "$launcher" 2>/dev/null; }

# --- Waiting ---

# within SECONDS WHAT COMMAND...: an assertion that the command succeeds in time.
within() {
    local seconds=$1 what=$2
    shift 2
    eventually "$seconds" "$@" || note_failure "within $seconds s: $what"
}

out_has() { grep -Eaq -- "$1" "$work/out"; }
err_has() { grep -Eaq -- "$1" "$work/err"; }
out_count_is() { [ "$(grep -Eac -- "$2" "$work/out")" -eq "$1" ]; }

# --- Processes ---

# processes [REGEX]: "PID COMMAND" of each process of this case whose command line matches.
processes() {
    local pid words line
    while IFS=/ read -r _ _ pid _; do
        # Without a word it is a zombie.
        mapfile -d '' words 2>/dev/null <"/proc/$pid/cmdline" || continue
        line="${words[*]} "
        [ ${#words[@]} -gt 0 ] && [[ $line =~ ${1:-.} ]] && echo "$pid $line"
    done < <(grep -lszx "TRAIN_HOST_DIRECTORY=$work/host" /proc/[0-9]*/environ)
}

# "PID STATE WAITS-IN COMMAND" of each.
states_of_processes() {
    local pid line
    processes | while read -r pid line; do
        printf '%s %s %s %s\n' "$pid" "$(sed -n 's/^State:[[:space:]]*//p' "/proc/$pid/status")" \
            "$(cat "/proc/$pid/wchan")" "${line:0:120}"
    done 2>/dev/null
}

pids_of() { processes "$1" | cut -d ' ' -f 1; }
parent_of() { ps -o ppid= -p "$1" | tr -d ' '; }
count_processes() { processes "$1" | wc -l; }
process_count_is() { [ "$(count_processes "$2")" -eq "$1" ]; }

# expect_processes WHAT COUNT REGEX: so many now, and not after waiting for it.
expect_processes() { expect_equal "$1" "$2" "$(settled count_processes "$3")"; }

# rank_pid REGEX: a process of these that is no child of another one, as a shell has for each command.
rank_pid() {
    local pid parent pids
    pids=" $(pids_of "$1" | paste -sd ' ') "
    for pid in $pids; do
        parent=$(parent_of "$pid")
        if [ -n "$parent" ] && [[ $pids != *" $parent "* ]]; then
            echo "$pid"
            return
        fi
    done
}

# agent_pid REGEX: the agent of such a rank. Between the two is the process below which all of the
# attempt is; the parent of the agent is the guard.
agent_pid() { parent_of "$(parent_of "$(rank_pid "$1")")"; }

# A process whose first thread is a zombie still has its files, and its lock, while others of it live.
has_gone() { ! grep -qs '^State:.[^Z]' "/proc/$1"/task/*/status; }

# end_process PID: kills it, and returns when it has died, which takes the kernel a moment.
end_process() {
    kill -KILL "$1"
    within 20 "process $1 is gone" has_gone "$1"
}

# freeze PID...: until it stands still, a process may see what came after that signal.
freeze() {
    local pid
    kill -STOP "$@"
    for pid; do within 20 "process $pid stands still" stands_still "$pid"; done
}
stands_still() { ! grep -qs '^State:.[^TZ]' "/proc/$1"/task/*/status; }

kill_everything() {
    local pid
    for pid in $(pids_of .); do kill -KILL "$pid" 2>/dev/null; done
}

# --- Assertions ---

# The command is shown at once: it is seldom the last one of its case.
expect_status() {
    [ "$status" = "$1" ] && return
    note_failure "exit status" "  expected: $1" "  actual:   $status"
    sed 's/^/    stderr| /' "$work/err" 2>/dev/null | head -c 4000 | tail -n 20
}

expect_out() { out_has "$1" || note_failure "no line of stdout matches: $1"; }
expect_no_out() { ! out_has "$1" || note_failure "a line of stdout matches: $1"; }
expect_err() { err_has "$1" || note_failure "no line of stderr matches: $1"; }
expect_no_err() { ! err_has "$1" || note_failure "a line of stderr matches: $1"; }

# expect_last_err TEXT: the last line of stderr, after "train: ".
expect_last_err() { expect_equal "last line of stderr" "train: $1" "$(tail -n 1 "$work/err")"; }

# expect_same WHAT FILE FILE: byte for byte.
expect_same() {
    cmp -s "$2" "$3" || note_failure "$1 differs" "$(cmp "$2" "$3" 2>&1)"
}

# expect_schema NAME FILE: one JSON document that config_schema/fields/NAME.schema.json describes.
expect_schema() {
    local trouble
    trouble=$(/usr/bin/python3 "$here/validate.py" "$root/config_schema/fields/$1.schema.json" "$2" 2>&1) ||
        note_failure "not what $1.schema.json describes:" "$trouble"
}

# expect_gone: soon, no process of this case is left, and no file of an agent.
is_gone() {
    [ -z "$(processes)" ] && [ -z "$(find "$work/host" ! -type d 2>/dev/null)" ]
}

expect_gone() {
    eventually 20 is_gone && return
    note_failure "left:"
    processes | sed 's/^/      /'
    find "$work/host" -mindepth 1 2>/dev/null | sed 's/^/      /'
}

# --- Tasks ---

# task_id: of the newest task of this case.
task_id() { find "$work/state/train/tasks" -mindepth 1 -maxdepth 1 -type d -printf '%T@ %f\n' | sort -n | tail -n 1 | cut -d ' ' -f 2; }

# log_of RANK: file with the output of that rank of the newest task.
log_of() { echo "$work/state/train/tasks/$(task_id)/logs/rank-$1.0.log"; }

# state_of ID: as `task list` says it.
state_of() {
    with_environment "$train" task list --all --csv | tr -d '\r' | awk -F, -v id="$1" '$1 == id { print $3 }'
}

state_is() { [ "$(state_of "$1")" = "$2" ]; }

# registry SQL [VALUE...]: that statement on the registry of tasks, however long others write there;
# prints its rows.
registry() {
    /usr/bin/python3 -c 'import sqlite3, sys
database = sqlite3.connect(sys.argv[1], timeout=600)
with database:
    for row in database.execute(sys.argv[2], sys.argv[3:]): print(*row, sep="|")' "$work/state/train/tasks.db" "$@"
}

# field NAME FILE: of a JSON document, by a Python expression on `d`.
field() { /usr/bin/python3 -c 'import json, sys; d = json.load(open(sys.argv[2])); print(eval(sys.argv[1]))' "$1" "$2"; }

# --- Cases ---

# preload LIBRARY NAME=VALUE...: what runs from now on has a library of tests/cli/CMakeLists.txt,
# which reads these variables. False, and the case is skipped, where that cannot be.
preload() {
    local library
    library=$(dirname "$train")/../tests/preloaded/lib$1.so
    shift
    [ -e "$library" ] || { skip "there is no $library"; return 1; }
    if ldd "$train" | grep -Eq 'lib[at]san'; then skip "a sanitizer wants to be loaded first"; return 1; fi
    environment=("LD_PRELOAD=$library" "$@")
}

# hang_at PATH: what runs from now on hangs where it opens such a path, or goes there.
hang_at() {
    rm -f "$work/hangs"
    preload hanging_calls "HANGING_PATH=$1" "HANGS=$work/hangs"
}
expect_hang() { within 20 "it hangs" test -e "$work/hangs"; }

show_command() {
    echo "      the last command ended with: ${status:-nothing}"
    sed 's/^/      stdout| /' "$work/out" 2>/dev/null | head -c 4000 | tail -n 20
    sed 's/^/      stderr| /' "$work/err" 2>/dev/null | head -c 4000 | tail -n 20
}

# What `test_case` of cases.sh does around a case.
begin_case() {
    work=$all_work/$case_number
    mkdir -p "$work/here" "$work/home" "$work/leases"
    cd "$work/here" || exit 1
    status='' launcher='' environment=()
}
check_case() { expect_gone; }
show_case() { show_command; }
end_case() {
    kill_everything
    cd / || exit 1
    rm -rf "$work"
}
