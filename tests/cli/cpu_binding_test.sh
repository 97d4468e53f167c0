#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Ranks are bound to cores of this machine, whatever it has.   cpu_binding_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

# What a rank may run on, as a process that it starts sees it, and how many threads it is to use.
tells='
import os, subprocess, sys
def mine():
    return subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True).stdout
cpus = [line.split()[1] for line in mine().splitlines() if line.startswith("Cpus_allowed_list:")][0]
print("rank", os.environ["RANK"], cpus, os.environ.get("OMP_NUM_THREADS", "-"))
'

# of_machine EXPRESSION: `allowed` are the CPUs of this session, `core` says of each whose sibling it
# is, `nodes` counts their NUMA nodes; `ranks` are the CPUs of each rank and its threads, as it told.
of_machine() {
    /usr/bin/python3 - "$1" "$work/out" <<'END'
import glob, os, re, sys
def numbers(text):
    found = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found
def read(name):
    try:
        with open(name) as file:
            return file.read()
    except OSError:
        return ""
allowed = os.sched_getaffinity(0)
topology = "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list"
core = {cpu: min(numbers(read(topology % cpu)) | {cpu}) for cpu in allowed}
lists = [numbers(read(name)) & allowed for name in glob.glob("/sys/devices/system/node/node*/cpulist")]
nodes = max(1, len([list for list in lists if list]))
told = re.findall(r"rank (\d+) ([0-9,-]+) (\S+)", read(sys.argv[2]))
ranks = {int(rank): (numbers(cpus), threads) for rank, cpus, threads in told}
print(eval(sys.argv[1]))
END
}

launch_two() { # launch_two MODE
    run launch -H localhost:2 -n 2 --set "cpu_binding=$1" -- /usr/bin/python3 -c "$tells"
    expect_status 0
}

pin_to_first() { # with `local train`: the program on one CPU of this session
    printf '#!/bin/sh\nexec taskset -c %s %q "$@"\n' "$(of_machine 'min(allowed)')" "$train" >"$work/pinned"
    chmod +x "$work/pinned"
    train=$work/pinned
}

has_two_cores() {
    [ "$(of_machine 'len(set(core.values()))')" -ge 2 ] || { skip "there is one core" && return 1; }
}

cores_of_their_own() {
    has_two_cores || return 0
    launch_two exclusive
    expect_equal "ranks that share a CPU" "set()" "$(of_machine 'ranks[0][0] & ranks[1][0]')"
    expect_equal "CPUs that are not the session's" "set()" "$(of_machine '(ranks[0][0] | ranks[1][0]) - allowed')"
    expect_equal "cores that are split" "set()" \
        "$(of_machine '{core[cpu] for cpu in ranks[0][0]} & {core[cpu] for cpu in ranks[1][0]}')"
    expect_equal "threads are cores" True \
        "$(of_machine 'all(int(threads) == len({core[cpu] for cpu in cpus}) for cpus, threads in ranks.values())')"
    [ "$(of_machine nodes)" != 1 ] ||
        expect_equal "CPUs that are nobody's" "set()" "$(of_machine 'allowed - ranks[0][0] - ranks[1][0]')"
    expect_no_err "less than one core"
    run task show "$(task_id)"
    expect_out '^RANK  HOST +SLOTS +CPUS +CPU +MEMORY +PEAK  ENDED$'
    run task show "$(task_id)" --json
    expect_schema task "$work/out"
    expect_equal "what is on record" "[True, True]" \
        "$(field '[type(rank["cpus"]) == str for rank in d["rank_results"]]' "$work/out")"
}

cores_of_two_tasks() {
    has_two_cores || return 0
    start launch -H localhost:2 -n 1 --set cpu_binding=exclusive -- \
        /usr/bin/python3 -c "${tells}import time; time.sleep(4711)"
    within 30 "the first task is up" out_count_is 1 "rank 0 [0-9]"
    cp "$work/out" "$work/first"
    with_environment "$train" launch -H localhost:2 -n 1 --set cpu_binding=exclusive -- \
        /usr/bin/python3 -c "$tells" >"$work/second" 2>"$work/err" || note_failure "second: $(cat "$work/err")"
    sed 's/rank 0/rank 1/' "$work/second" | cat "$work/first" - >"$work/both"
    cp "$work/both" "$work/out"
    expect_equal "CPUs of both tasks" "set()" "$(of_machine 'ranks[0][0] & ranks[1][0]')"
    expect_equal "each has some" True "$(of_machine 'all(cpus for cpus, _ in ranks.values())')"
    kill -INT "$launcher"
    await
}

too_few_cores() {
    local train=$train
    pin_to_first
    launch_two exclusive
    expect_err "less than one core with 'cpu_binding: exclusive', so ranks share those of their NUMA node there"
    expect_equal "each has that CPU" True "$(of_machine 'ranks[0] == ranks[1] == ({min(allowed)}, "1")')"
}

nothing_bound() {
    launch_two none
    expect_equal "each has all" True "$(of_machine 'ranks[0] == ranks[1] == (allowed, "1")')"
    run task show "$(task_id)"
    expect_out '^RANK  HOST +SLOTS +CPU +MEMORY +PEAK  ENDED$'
}

nodes_shared() {
    launch_two node
    [ "$(of_machine nodes)" != 1 ] ||
        expect_equal "both have the one node" True "$(of_machine 'ranks[0][0] == ranks[1][0] == allowed')"
    expect_equal "CPUs that are not the session's" "set()" "$(of_machine '(ranks[0][0] | ranks[1][0]) - allowed')"
}

auto_gains_nothing() {
    [ "$(of_machine nodes)" = 1 ] || { skip "there are several" && return; }
    launch_two auto
    expect_equal "each has all" True "$(of_machine 'ranks[0] == ranks[1] == (allowed, "1")')"
}

said_threads_win() {
    run launch -H localhost:2 -n 2 --set cpu_binding=exclusive --set environment.variables.OMP_NUM_THREADS=7 -- \
        /usr/bin/python3 -c "$tells"
    expect_status 0
    expect_equal "threads" "['7', '7']" "$(of_machine '[ranks[rank][1] for rank in (0, 1)]')"
}

plan_tells_when() {
    run plan -H localhost:2 -n 2 --set cpu_binding=node --json -- /usr/bin/python3 train.py
    expect_status 0
    expect_schema plan "$work/out"
    expect_out '"at_launch": "threads"'
    expect_out '^  "cpu_binding": "node",$'
}

beside_a_rank() {
    has_two_cores || return 0
    start launch -H localhost:2 -n 2 --set cpu_binding=exclusive -- /bin/sh -c 'echo up; exec sleep 4711'
    within 30 "the ranks are up" out_count_is 2 up
    for rank in 0 1; do
        with_environment "$train" task exec "$(task_id)" --rank "$rank" -- \
            /usr/bin/python3 -c "$tells" >>"$work/beside" 2>"$work/err" || note_failure "exec: $(cat "$work/err")"
    done
    cp "$work/beside" "$work/out"
    expect_equal "ranks that share a CPU" "set()" "$(of_machine 'ranks[0][0] & ranks[1][0]')"
    kill -INT "$launcher"
    await
}

test_case "exclusive: ranks have whole cores of their own, and so has what they start" cores_of_their_own
test_case "exclusive: two tasks on one host have cores of their own" cores_of_two_tasks
test_case "what is executed beside a rank has the cores of that" beside_a_rank
test_case "exclusive, with fewer cores than ranks: they share them, which is said" too_few_cores
test_case "none: ranks have all CPUs of the session" nothing_bound
test_case "node: ranks have the cores of a NUMA node" nodes_shared
test_case "auto: where there is one NUMA node nothing is bound" auto_gains_nothing
test_case "OMP_NUM_THREADS of the experiment wins" said_threads_win
test_case "a plan names the binding, and says that threads are known at launch" plan_tells_when
finish
