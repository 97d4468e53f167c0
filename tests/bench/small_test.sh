#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every benchmark once, as small as it goes, so that none of them rots (`tests/run.sh soak`). What they measure
# is not looked at.   small_test.sh path/to/train
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ -x "${1:-}" ] || { echo "usage: ${0##*/} path/to/train" >&2; exit 2; }
train=$(realpath "$1")
programs=$(dirname "$train")/../tests/bench
work=$(mktemp -d "${TMPDIR:-/tmp}/train-small-bench.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

begin_case() { : >"$work/out"; : >"$work/err"; }
check_case() { :; }
end_case() { :; }
show_case() { tail -n 12 "$work/out" "$work/err" | sed 's/^/    | /'; }
. "$here/../support/cases.sh"

no_cluster=$("$here/../cluster/cluster" check) && no_cluster=''

# starts COMMAND...: it ends with 0 and prints something, and no contender of ours is out of the race.
starts() {
    "$@" </dev/null >"$work/out" 2>"$work/err" || note_failure "it ended with $?"
    [ -s "$work/out" ] || note_failure "it has printed nothing"
    ! grep -E '^ +(train|fork and exec|floor).* left out: (failed|could not)|is not built' "$work/out" ||
        note_failure "it could not measure what it is for"
}

prints_nothing() { "$@" </dev/null >"$work/out" 2>"$work/err" || note_failure "it ended with $?"; }

# on_hosts BENCHMARK ARGUMENT...: those that take --train, and make hosts of namespaces.
on_hosts() {
    local name=$1
    shift
    if [ -n "$no_cluster" ]; then skip "$no_cluster"; else starts "$here/$name" --train "$train" "$@"; fi
}

with_context() { if [ -n "$no_cluster" ]; then skip "$no_cluster"; else starts "$here/context_bench" "$train" 1 1; fi; }

# Those that others run are named by their cases.
all_are_here() {
    local name
    for name in $(find "$here" -maxdepth 1 -type f -perm -1 ! -name '*_test.sh' -printf '%f\n') \
        $(sed -n 's/^add_executable(\(bench_[a-z_]*\).*/\1/p' "$here/CMakeLists.txt"); do
        grep -q "^soak_case .*[/ \"]$name\b" "$0" || note_failure "$name is started by no case"
    done
}

soak_case "every benchmark has a case" all_are_here
soak_case "bench_fork_exec starts processes" prints_nothing "$programs/bench_fork_exec" 2 /bin/true
soak_case "bench_hosts reads hosts" starts "$programs/bench_hosts" 5
soak_case "bench_journal writes entries" starts "$programs/bench_journal" "$work" 10
soak_case "bench_plan plans" starts "$programs/bench_plan" 5
soak_case "bench_search plays a search" starts "$programs/bench_search" 100 2
soak_case "bench_ssh_config reads ssh's configuration" starts "$programs/bench_ssh_config" 1
soak_case "context_bench sends a context" with_context
soak_case "exec_bench runs a command beside a rank" on_hosts exec_bench --rounds 1
soak_case "follow_bench follows a log" on_hosts follow_bench --rounds 1 --seconds 1 --every 100
soak_case "idle_bench looks at a task that sleeps" starts "$here/idle_bench" --train "$train" --seconds 1 --settle 1 --others 0 --ranks 1
soak_case "launch_bench launches here and behind a jump host" on_hosts launch_bench --rounds 1 --hosts 1
soak_case "registry_bench asks a registry" starts "$here/registry_bench" "$train" 10 2
soak_case "restart_bench restarts bench_restarted_rank" on_hosts restart_bench --rounds 1 --hosts 1
soak_case "slurm_bench launches in a job" on_hosts slurm_bench --rounds 1 --hosts 1
soak_case "ssh_bench launches bench_stamp, and bench_ssh_floor does" on_hosts ssh_bench --rounds 1 --hosts 1 --ranks 1
soak_case "ssh_bench --list asks who holds slots" on_hosts ssh_bench --rounds 1 --hosts 1 --list
soak_case "ssh_bench --output prints" on_hosts ssh_bench --rounds 1 --output --megabytes 32
soak_case "supervisor_bench launches, adopts and replays" on_hosts supervisor_bench --rounds 1 --hosts 1 --megabytes 1 --journal "$work"
soak_case "trials_bench runs trials" starts "$here/trials_bench" --train "$train" --rounds 1 --trials 10
soak_case "turnover_bench measures a search" starts "$here/turnover_bench" --train "$train" --rounds 1 --trials 5
soak_case "wait_bench waits in line" on_hosts wait_bench --rounds 1 --hosts 1
soak_case "failing_hosts trains" on_hosts failing_hosts --minutes 0.2 --hosts 2 --spares 1
soak_case "soak plays a task" on_hosts soak --only 100000
finish
