# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tests that launch on a cluster of hosts. A test file is
#
#     . "$(dirname "$0")/lib.sh"
#     use_cluster 4 --slots 1               # skips the file, with the reason, where there can be none
#     use_train "$1"                        # the program under test, at $train on every host
#     test_case "what must hold" function   # ... as often as there are cases
#     finish                                # "N passed, N failed, N skipped"; the exit status
#
# A case fails when an assertion fails; assertions go on, so that one run shows all that is wrong.
# TRAIN_TEST_FILTER=REGEX runs only the cases whose sentence matches. Every case starts with all hosts
# up, connected and thawed and with no process of an earlier case; files stay, unless a case ends
# with `restart`.
set -u

waiting_step=0.05
. "$(dirname "${BASH_SOURCE[0]}")/../support/waiting.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../support/cases.sh"

cluster=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/cluster
export TRAIN_BED=${TRAIN_BED:-test-$$}
nodes=()                     # all hosts but the head
shared=''                    # this machine's name of /srv/shared
train=/srv/shared/bin/train  # the program under test, as the hosts know it
work=''                      # what the launcher printed: $work/out, $work/err
status=''                    # its exit status; "timeout" when it had to be killed

# --- The bed ---

# use_cluster N [OPTION...]: as `cluster up`. Skips the whole file where there can be no cluster.
use_cluster() {
    local reason
    if ! reason=$("$cluster" check); then
        echo "SKIPPED: ${reason#cluster: }"
        echo "0 passed, 0 failed, 1 skipped"
        exit 77
    fi
    work=$(mktemp -d) || exit 1
    trap 'leave_cluster' EXIT
    trap 'exit 130' INT TERM HUP
    "$cluster" up "$@" || exit 1
    shared=$("$cluster" where)/shared
    mapfile -t nodes <"$shared/hosts.plain"
}

leave_cluster() {
    "$cluster" down
    rm -rf "$work"
}

# use_train FILE: puts the program where all hosts see it; this machine's own path may be private.
use_train() {
    [ -x "${1:-}" ] || { echo "usage: ${0##*/} path/to/train" >&2; exit 2; }
    install -D -m 755 "$1" "$shared/bin/train" || exit 1
}

# install_nvml FILE GPUS HOST...: the stand-in for the library of NVIDIA's driver there, which knows the GPUs
# of the bed, 'NAME:COUNT'; /etc/fake_nvml has its settings.
install_nvml() {
    local gpus=$2 host
    install -D -m 755 "$1" "$shared/lib/libnvidia-ml.so.1" || exit 1
    shift 2
    for host in "$@"; do
        on "$host" "mkdir -p /srv/lib /etc/fake_nvml && cp /srv/shared/lib/libnvidia-ml.so.1 /srv/lib/ &&
            echo /srv/lib >/etc/ld.so.conf.d/fake.conf && ldconfig && echo '$gpus' >/etc/fake_nvml/FAKE_NVML_GPUS &&
            nvidia-smi --query-gpu=uuid --format=csv,noheader | paste -sd, >/etc/fake_nvml/FAKE_NVML_UUIDS"
    done
}

# on HOST COMMAND...: runs it there; one word is a line for bash. What hangs is ended after minutes.
on() {
    local host=$1
    shift
    [ $# -gt 1 ] || set -- /bin/bash -c "$1"
    "$cluster" exec "$host" timeout -k 5 $((pace * 18)) "$@" </dev/null
}

# expect_whole_logs RANKS COMMAND: the logs of the task that was launched last hold, for each of its
# ranks, what the command prints.
expect_whole_logs() {
    local id rank
    id=$(sed -n 's/^train: task \([a-z0-9]*\): .*/\1/p' "$work/err")
    for ((rank = 0; rank < $1; rank++)); do
        on head "cmp <($2) <(/srv/shared/bin/train task logs $id --rank $rank)" >"$work/differs" 2>&1 ||
            note_failure "the log of rank $rank: $(head -n 3 "$work/differs")"
    done
}

# processes HOST REGEX: how many processes there have a matching command line.
processes() { "$cluster" processes "$1" "$2" | wc -l; }

# all_processes REGEX: "HOST PID COMMAND" of each, over all hosts.
all_processes() {
    local host
    for host in head "${nodes[@]}"; do "$cluster" processes "$host" "$1" | sed "s/^/$host /"; done
}

# configure LINE...: the whole ~/.ssh/config of the head.
configure() { printf '%s\n' "$@" | "$cluster" exec head /bin/bash -c 'cat >.ssh/config; chmod 600 .ssh/config'; }

# authorize FILE HOST...: only the key of the head in FILE logs in there.
authorize() {
    local file=$1 host
    shift
    for host in "$@"; do
        on head "cat '$file.pub'" | "$cluster" exec "$host" /bin/bash -c 'cat >.ssh/authorized_keys'
    done
}

# sshd_option LINE HOST...: what the sshd there reads first.
sshd_option() {
    local line=$1 host
    shift
    for host in "$@"; do
        on "$host" "sed -i '1i $line' /etc/ssh/sshd_testbed"
        reload_sshd "$host"
    done
}

# reload_sshd HOST: it reads its configuration anew. Until then it takes connections as before.
reload_sshd() {
    local before
    before=$(times_listened "$1")
    # shellcheck disable=SC2016 # the host expands it
    on "$1" 'kill -HUP "$(cat /run/sshd.pid)"'
    eventually 10 has_listened_again "$1" "$before" || note_failure "sshd of $1 does not come back"
}
times_listened() { on "$1" 'grep -c "^Server listening" /run/sshd.log'; }
has_listened_again() { [ "$(times_listened "$1")" -gt "$2" ]; }

# second_sshd HOST FILE: another sshd there, as FILE configures it, on port 2222.
second_sshd() {
    on "$1" "/usr/sbin/sshd -f $2 -p 2222 -o PidFile=/run/sshd_2222.pid"
    # It listens before it writes that.
    eventually 10 on "$1" test -s /run/sshd_2222.pid || note_failure "sshd of $1 does not listen on port 2222"
}

# --- Waiting ---

# within SECONDS WHAT COMMAND...: an assertion that the command succeeds in time, and at the latest
# when the launcher has ended.
within() {
    local seconds=$1 what=$2 held=no
    shift 2
    eventually "$seconds" holds_or_is_over "$@"
    [ $held = yes ] || "$@" || note_failure "within $seconds s, while the launcher runs: $what"
}

# What held once may be over at the next look.
holds_or_is_over() { if "$@"; then held=yes; else launch_has_ended; fi; }

milliseconds() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }

# --- Launching, always from the head ---

# train_on_head ARGUMENT...: runs the program to its end; sets `status`, fills $work/out and err.
train_on_head() { run_on_head "$train" "$@"; }

# launch ARGUMENT...: `train launch`, to its end.
launch() { train_on_head launch "$@"; }

# launch_in FOLDER ARGUMENT...: `train launch` with FOLDER of the head as its working directory.
launch_in() {
    local folder=$1
    shift
    run_on_head env --chdir="$folder" "$train" launch "$@"
}

run_on_head() {
    start_on_head "$@"
    await_launch 120
}

# launch_start ARGUMENT...: `train launch`, left running; sets `launcher`, its process id on the head.
launch_start() { start_on_head "$train" launch "$@"; }

# A worker that would run for ever; its number is found in process lists.
forever='exec sleep 4711'
workers_run() {
    local host
    for host in "${nodes[@]}"; do [ "$(processes "$host" '^sleep 4711')" -eq 1 ] || return 1; done
}

# start_forever ARGUMENT...: a launch of such workers, one on every host, that has got so far.
start_forever() {
    launch_start "$@" -- /bin/sh -c "$forever"
    within 30 "a worker runs on every host" workers_run
}

start_on_head() {
    rm -f "$shared/launcher.pid"
    # A shell's background jobs ignore SIGINT; a launcher at a terminal does not. The shell around it
    # keeps to itself what it has to say about a launcher that was killed.
    (
        # shellcheck disable=SC2016 # expanded on the head
        "$cluster" exec head env --default-signal=INT,QUIT setsid /bin/bash -c \
            'echo $$ >/srv/shared/launcher.pid; exec "$@"' - "$@" \
            </dev/null >"$work/out" 2>"$work/err"
        exit $?
    ) 2>/dev/null &
    launch_job=$!
    eventually 10 test -s "$shared/launcher.pid"
    launcher=$(cat "$shared/launcher.pid" 2>/dev/null)
}

# await_launch SECONDS: waits for the launcher's end; a launcher that does not end is killed.
await_launch() {
    if eventually "$1" launch_has_ended; then
        wait "$launch_job"
        status=$?
    else
        signal_launcher KILL
        wait "$launch_job"
        status="timeout after $1 s"
    fi
}

launch_has_ended() { ! kill -0 "$launch_job" 2>/dev/null; }
launch_runs() { ! launch_has_ended; }
# The id of the task that was launched last, as it was told.
task_id() { sed -n 's/^train: task \([a-z0-9]*\): .*/\1/p' "$work/err"; }
signal_launcher() { on head kill "-$1" "$launcher"; }

# interrupt TIMES: Ctrl-C so often. Signals that have not been taken count once.
interrupt() {
    local times
    for ((times = 0; times < $1; times++)); do
        signal_launcher INT
        eventually 5 has_no_pending_signal || note_failure "the launcher does not take signals"
    done
}
has_no_pending_signal() { ! on head "grep -q '^S[hi][dg]Pnd:.*[1-9a-f]' /proc/$launcher/status" 2>/dev/null; }

# out_has REGEX, err_has REGEX: whether a line that the launcher has printed so far matches.
out_has() { grep -Eq -- "$1" "$work/out"; }
err_has() { grep -Eq -- "$1" "$work/err"; }
out_count_is() { [ "$(grep -Ec -- "$2" "$work/out")" -eq "$1" ]; }

# --- Assertions ---

show_launcher() {
    echo "      the launcher ended with: $status"
    sed 's/^/      stdout| /' "$work/out" | tail -n 20
    sed 's/^/      stderr| /' "$work/err" | tail -n 20
}

# expect_schema NAME FILE: one JSON document that config_schema/fields/NAME.schema.json describes.
expect_schema() {
    local trouble root
    root=$(realpath "$(dirname "$cluster")/../..")
    trouble=$(/usr/bin/python3 "$root/tests/cli/validate.py" "$root/config_schema/fields/$1.schema.json" "$2" 2>&1) ||
        note_failure "not what $1.schema.json describes:" "$trouble"
}

# The command is shown at once: it is seldom the last one of its case.
expect_status() {
    [ "$status" = "$1" ] && return
    note_failure "exit status" "  expected: $1" "  actual:   $status"
    sed 's/^/    stderr| /' "$work/err" 2>/dev/null | tail -n 20
}

expect_out() { out_has "$1" || note_failure "no line of stdout matches: $1"; }
expect_no_out() { ! out_has "$1" || note_failure "a line of stdout matches: $1"; }
expect_err() { err_has "$1" || note_failure "no line of stderr matches: $1"; }

# expect_at_least SECONDS SINCE WHAT: so long has passed since that millisecond.
expect_at_least() {
    local took=$(($(milliseconds) - $2))
    [ "$took" -ge $(($1 * 1000)) ] || note_failure "$3" "  expected: $1 s at least" "  actual:   $took ms"
}

# expect_last_err REGEX...: the last line of stderr matches all of them, in any case of letters.
expect_last_err() {
    local last regex
    last=$(tail -n 1 "$work/err")
    for regex in "$@"; do
        grep -Eiq -- "$regex" <<<"$last" ||
            note_failure "last line of stderr does not match: $regex" "  actual:   $last"
    done
}

# strangers HOST: processes there that a host at rest does not have. Sessions of sshd do not count:
# after a cut they outlive what ran in them.
strangers() {
    "$cluster" processes "$1" |
        grep -Ev 'settings/hostinit|/usr/sbin/sshd -f .*\[listener\]|[0-9] sshd: root'
}

are_idle() {
    local host
    for host in "$@"; do ! strangers "$host" >/dev/null || return 1; done
}

# expect_idle SECONDS HOST...: in time, nothing of a launch is left there: no worker, no agent.
expect_idle() {
    local seconds=$1 host
    shift
    eventually "$seconds" are_idle "$@" && return
    note_failure "processes are left after $seconds s:"
    for host in "$@"; do strangers "$host" | sed "s/^/      $host: /"; done
}

# No worker that leaves /tmp/started behind has run, and nothing of a launch is left.
expect_nothing_started() {
    local host
    for host in "${nodes[@]}"; do
        on "$host" 'test ! -e /tmp/started' || note_failure "a worker was started on $host"
    done
    expect_idle 2 head "${nodes[@]}"
}

# --- The supervisor of the task `id`, on the head ---

# The process that holds the lock of the task.
# shellcheck disable=SC2016,SC2154 # the head expands it; scripts set `id`
supervisor() {
    on head 'for fd in /proc/[0-9]*/fd/*; do
        [ "$fd" -ef ~/.local/state/train/tasks/'"$id"'/launcher.lock ] || continue
        grep -qs "^lock:" "${fd%/fd/*}/fdinfo/${fd##*/}" || continue # it only looks
        fd=${fd#/proc/}; echo "${fd%%/*}"; exit
    done; exit 1'
}
# A process whose first thread is a zombie still has its files, and its lock, while others of it live.
head_process_has_gone() { on head "! grep -qs '^State:.[^Z]' /proc/$1/task/*/status"; }
kill_supervisor() {
    local pid
    pid=$(supervisor) || { note_failure "nobody attends the task"; return; }
    on head "kill -KILL $pid"
    eventually 5 head_process_has_gone "$pid" || note_failure "the supervisor is still there"
}

# --- Another task on the same hosts, which all that a case does is nothing to ---

# One rank on every host, which runs until `expect_bystander`, however long its host is away.
start_bystander() {
    local hosts
    hosts=$(IFS=,; echo "${nodes[*]/%/:1}")
    bystander=$(on head "$train launch -d -H '$hosts' -n ${#nodes[@]} --set reconnect_window=1h --set leases=none -- sleep 4713" 2>"$work/bystander") ||
        note_failure "the other task does not start: $(cat "$work/bystander")"
    bystanders=$(settled bystander_pids)
    expect_equal "ranks of the other task" "${#nodes[@]}" "$(wc -l <<<"$bystanders")"
}
bystander_pids() { all_processes '^sleep 4713'; }

# Its ranks run as they did, and end.
expect_bystander() {
    expect_equal "processes of the other task" "$bystanders" "$(settled bystander_pids)"
    on head "$train task kill $bystander" >"$work/bystander" 2>&1 || note_failure "the other task: $(cat "$work/bystander")"
    grep -q "^train: task $bystander: killed$" "$work/bystander" || note_failure "the other task has ended before: $(cat "$work/bystander")"
}

# --- Cases ---

# restart HOST...: fresh private folders, everything else as at first.
restart() {
    local host
    for host in "$@"; do
        "$cluster" crash "$host"
        "$cluster" boot "$host"
    done
}

# Restarts the hosts that are not up, connected, thawed and idle.
reset_hosts() {
    local host state
    while read -r host _ _ state; do
        if [ "$state" != on ] || ! are_idle "$host"; then restart "$host"; fi
    done < <("$cluster" list)
}

# What `test_case` of cases.sh does around a case.
begin_case() {
    status='' launcher='' launch_job=''
    : >"$work/out"
    : >"$work/err"
    # What is followed in the background is not to be there from the case before.
    rm -f "$work"/{ann,ben,bob,first,followed,gang,root,second,small}
}
show_case() { show_launcher; }
end_case() {
    if [ -n "$launch_job" ] && ! launch_has_ended; then signal_launcher KILL; fi
    reset_hosts
}

# --- Cases that wait long ---

# A test file may call itself with --slow for them, on a bed of its own beside the other cases:
#
#     if [ "${2:-}" = --slow ]; then test_case ...; finish; fi
#     start_slow_cases "$1"
#     test_case ...
#     count_slow_cases
#     finish
start_slow_cases() { # PROGRAM
    TRAIN_BED=$TRAIN_BED-slow "$0" "$1" --slow >"$work/slow" 2>&1 &
    slow=$!
    trap 'end_slow_cases; leave_cluster' EXIT
}

# Their number is theirs while they run; after minutes it may be that of another child, and bash then
# knows nothing of the first one any more.
end_slow_cases() {
    grep -qx "$slow" <(jobs -pr) || return 0
    kill "$slow"
    wait "$slow"
}

# They count like those of this bed.
count_slow_cases() {
    wait "$slow" 2>/dev/null # the last line says how they ended
    sed -n '/^cluster: /d; $!p' "$work/slow"
    if [[ $(tail -n 1 "$work/slow") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
        skipped=$((skipped + BASH_REMATCH[3]))
    else
        echo "FAILED the cases that wait long: ended without a summary"
        tail -n 5 "$work/slow" | sed 's/^/    /'
        failed=$((failed + 1))
    fi
}
