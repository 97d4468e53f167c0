#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Trials of which nothing comes: which ranks are blamed, what follows, and what is no hang.
#   hang_test.sh path/to/train
# shellcheck disable=SC2016 # programs for hosts and ranks are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 3 --slots 4
use_train "${1:-}"

# What the ranks wait for each other in /srv/shared/here, in files: there.RANK when one has got so far, with
# its process id; `silent`, `go`: they may be silent, and end. As long as they may not be silent they touch
# their heartbeat files, so that no pace of this machine makes a hang of them before.
here=$shared/here
cat >"$shared/ranks.py" <<'PYTHON'
import os
import re
import signal
import sys
import threading
import time

rank = int(os.environ["RANK"])
attempt = int(os.environ["TRAIN_RESTART_COUNT"])


def here(name):
    return os.path.join("/srv/shared/here", name)


def touch(path):
    with open(path, "a"):
        os.utime(path)


def beat():
    touch(os.environ["TRAIN_HEARTBEAT_FILE"])
    time.sleep(0.1)


def await_file(name):
    while not os.path.exists(here(name)):
        time.sleep(0.05)


def get_here():
    with open(here(f"new.{rank}"), "w") as file:
        file.write(f"{os.getpid()}\n")
    os.rename(here(f"new.{rank}"), here(f"there.{rank}"))
    while not os.path.exists(here("silent")):
        beat()


def waits():
    await_file("go")


# No rank does anything else than the others.
def plain():
    get_here()
    waits()


def stops_itself_once():
    print(f"attempt {attempt} of rank {rank}", flush=True)
    if attempt > 0:
        return
    get_here()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    waits()


def strays():
    await_file("what never comes")


def one_strays():
    get_here()
    if rank == 1:
        strays()
    waits()


# Its thread would touch the heartbeat file for ever, if it came to that.
def holds_the_lock():
    threading.Thread(target=beats_for_ever, daemon=True).start()
    pattern = re.compile("(a+)+$")
    print("holds it now", flush=True)
    pattern.match("a" * 60 + "b")


def beats_for_ever():
    while True:
        beat()


def one_holds_the_lock():
    get_here()
    if rank == 2:
        holds_the_lock()
    waits()


def beats_while_torch_starts(is_over):
    while not is_over.is_set():
        beat()


def skips_it():
    await_file("what never comes")


def one_skips_a_collective():
    is_over = threading.Event()
    thread = threading.Thread(target=beats_while_torch_starts, args=[is_over])
    thread.start()
    import torch
    import torch.distributed

    torch.distributed.init_process_group("gloo")
    numbers = torch.ones(4)
    torch.distributed.all_reduce(numbers)
    print(f"the sum is {int(numbers[0])}", flush=True)
    is_over.set()
    thread.join()
    get_here()
    if rank == 3:
        skips_it()
    torch.distributed.all_reduce(numbers)


# Prints and reports nothing.
def beats(times):
    if rank == 1:
        for _ in range(int(times)):
            beat()
        touch(here("go"))
    waits()


def reports(times):
    if rank == 1:
        for step in range(int(times)):
            with open(os.environ["TRAIN_METRICS_FILE"], "a") as file:
                file.write('{"step": %d, "loss": 1}\n' % step)
            time.sleep(0.1)
        touch(here("go"))
    waits()


globals()[sys.argv[1]](*sys.argv[2:])
PYTHON
line_of() { grep -n -A 2 "^def $1(" "$shared/ranks.py" | sed -n "s/^\([0-9]*\)-.*$2.*/\1/p" | head -n 1; }

# How long no rank may be silent: longer than any gap between two signs of life.
timeout_s=$(paced 3)
# What is stopped cannot hear that it is to end.
hangs=(--set "hang_timeout=${timeout_s}s" --set stop_grace=1s)
on_two=(-H 'node[01-02]:2' -n 4)
ranks=(-- /usr/bin/python3 /srv/shared/ranks.py)
what="nothing has come from any rank for [0-9.]+ s \(hang_timeout\)"
told='the ranks hang: nothing has come from any for [0-9.]+ s \(hang_timeout\)'

id=
field() { on head "$train task show $id --json" | python3 -c "import json,sys; d=json.load(sys.stdin); print($1)"; }

fresh() {
    rm -rf "$here"
    mkdir "$here"
}
are_there() { [ "$(find "$here" -name 'there.*' | wc -l)" -eq "$1" ]; }
pid_of_rank() { cat "$here/there.$1"; }
be_silent() { touch "$here/silent"; }
may_end() { touch "$here/go"; }

# hang ARGUMENT...: the launch of such ranks until they hang, and to its end.
hang() {
    fresh
    launch_start "${hangs[@]}" "$@"
    within 60 "the ranks are there" are_there 4
    be_silent
    await_launch 120
}

# expect_hang CAUSE: what is said at the end, with the ranks and the host that it blames.
expect_hang() {
    expect_status 124
    expect_err "^train: $told$"
    expect_last_err "^train: failed: hang: $1; $what \(exit 124\)$"
    expect_idle 10 head "${nodes[@]}"
}

# The whole report, in $work/hang.
read_report() {
    local file
    file=$(sed -n 's/^train: what every rank did then: //p' "$work/err" | tail -n 1)
    expect_equal "where the report is" hang.txt "${file##*/}"
    # A ~ is for the shell.
    on head "cat ${file:-nowhere}" >"$work/hang" || note_failure "there is no report"
}
expect_report() {
    grep -Eq -- "$1" "$work/hang" || note_failure "no line of the report matches: $1" "$(head -n 40 "$work/hang")"
}

one_is_stopped() {
    fresh
    launch_start "${hangs[@]}" "${on_two[@]}" "${ranks[@]}" plain
    within 60 "the ranks are there" are_there 4
    on node02 "kill -STOP $(pid_of_rank 3)" || note_failure "rank 3 cannot be stopped"
    be_silent
    await_launch 120
    expect_hang "rank 3 on node02, unlike the others: python3 is stopped by a signal \(SIGSTOP\)"
    expect_err '^train: rank 3 on node02, unlike the others: python3 is stopped by a signal \(SIGSTOP\)$'
    expect_err '^train: ranks 0-2 on node01, node02: python3 waits'
    read_report
    expect_report "^attempt 0 of task $(task_id)$"
    expect_report '^rank 3 on node02, unlike the others: python3 is stopped by a signal'
    expect_report '^rank 0 on node01: python3 waits .*\(process [0-9]+, S, 1 thread\)$'
}

goes_on_with_a_restart() {
    fresh
    launch_start "${hangs[@]}" "${on_two[@]}" --set max_restarts=1 --set restart_delay=0s "${ranks[@]}" stops_itself_once
    within 60 "the ranks are there" are_there 4
    be_silent
    await_launch 120
    expect_status 0
    expect_err "^train: $told$"
    expect_err '^train: rank 1 on node01, unlike the others: python3 is stopped by a signal'
    expect_err '^train: restart 1 of 1 now$'
    expect_equal "ranks of the second attempt" 4 "$(grep -c 'attempt 1 of rank' "$work/out")"
    id=$(task_id)
    expect_equal "attempts and restarts" "2 1" "$(field '"%d %d" % (len(d["attempts"]), d["restarts"])')"
    expect_idle 10 head "${nodes[@]}"
}

skips_a_collective() {
    if ! /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null; then
        skip "/usr/bin/python3 has no torch (python3-torch)"
        return
    fi
    hang --set hang_stacks=true "${on_two[@]}" "${ranks[@]}" one_skips_a_collective
    local place="/srv/shared/ranks\.py:[0-9]+"
    expect_equal "ranks that have met" 4 "$(grep -c 'the sum is 4' "$work/out")"
    expect_hang "rank 3 on node02, unlike the others: python3 in await_file \($place\)"
    expect_err "^train: rank 3 on node02, unlike the others: python3 in await_file \($place\)$"
    expect_err "^  from skips_it \(/srv/shared/ranks\.py:$(line_of skips_it await_file)\)$"
    expect_err '^train: ranks 0-2 on node01, node02: python3 in .* \(/.*/torch/distributed/.*\.py:[0-9]+\)$'
    read_report
    expect_report "line $(line_of skips_it await_file) in skips_it$"
    expect_report 'torch/distributed/.* in all_reduce$'
}

holds_the_lock() {
    hang --set hang_stacks=true "${on_two[@]}" "${ranks[@]}" one_holds_the_lock
    expect_out '^\[2\] holds it now'
    expect_hang "rank 2 on node02, unlike the others: python3 in holds_the_lock \(/srv/shared/ranks\.py:[0-9]+\)"
    expect_err '^train: rank 2 on node02, unlike the others: python3 in holds_the_lock \(/srv/shared/ranks\.py:[0-9]+\)$'
    expect_err '^  from one_holds_the_lock \(/srv/shared/ranks\.py:[0-9]+\)$'
    read_report
    expect_report ' in beats_for_ever$'
}

# gives_signs HOW: one rank does, for three times as long as all may be silent, and the others never.
gives_signs() {
    local since
    fresh
    since=$(milliseconds)
    launch_start "${hangs[@]}" "${on_two[@]}" "${ranks[@]}" "$1" $((timeout_s * 30))
    await_launch $((timeout_s * 3 + 120))
    expect_status 0
    expect_at_least $((timeout_s * 3)) "$since" "the ranks run"
    ! err_has 'hang' || note_failure "there is talk of a hang"
    expect_equal "what the ranks printed" "" "$(cat "$work/out")"
    expect_idle 10 head "${nodes[@]}"
}

# The launcher cannot write output, and the host has little room for it.
is_blocked() {
    local small=/srv/small
    fresh
    on head "mkdir -p $small && mount -t tmpfs -o size=40m none $small" || note_failure "nothing can be mounted"
    on node01 'mount -o remount,size=40m /srv' || note_failure "/srv of node01 does not get smaller"
    start_on_head env XDG_STATE_HOME="$small" "$train" launch "${hangs[@]}" -H node01:2 -n 2 --tee none --set log_limit=1GiB -- \
        /bin/bash -c 'here=/srv/shared/here; touch $here/there.$RANK
            until [ -e $here/silent ]; do touch "$TRAIN_HEARTBEAT_FILE"; sleep 0.1; done
            [ $RANK = 1 ] || { seq 1 5000000; touch $here/printed; }
            until [ -e $here/printed ]; do sleep 0.05; done'
    within 60 "the ranks are there" are_there 2
    on head "head -c 100M /dev/zero >$small/filler" 2>/dev/null
    be_silent
    within 60 "the output waits" err_has "^train: host 'node01': its output waits"
    stays $((timeout_s * 3)) launch_runs || note_failure "it does not wait for room"
    [ ! -e "$here/printed" ] || note_failure "there was room for everything"
    on head "rm $small/filler"
    await_launch 120
    expect_status 0
    ! err_has 'hang' || note_failure "there is talk of a hang"
    expect_idle 10 head "${nodes[@]}"
    on head "umount $small"
    restart node01
}

# All ranks are silent while a host is cut off, and no longer.
is_out_of_reach() {
    fresh
    launch_start "${hangs[@]}" --set reconnect_window=10m "${on_two[@]}" "${ranks[@]}" plain
    within 60 "the ranks are there" are_there 4
    "$cluster" cut node02
    be_silent
    within 60 "it is said that the host is out of reach" err_has "^train: host 'node02' is out of reach"
    stays $((timeout_s * 3)) launch_runs || note_failure "it does not wait for the host"
    "$cluster" heal node02
    within 60 "the host is back" err_has "^train: host 'node02' is back"
    may_end
    await_launch 120
    expect_status 0
    ! err_has 'hang' || note_failure "there is talk of a hang"
    expect_idle 10 head "${nodes[@]}"
}

ranks_are_over() { [ "$(processes "$1" ranks.py)" -eq 0 ]; }

# What the launcher sends to such a host may arrive long after its own end.
comes_back_for_the_end() {
    fresh
    launch_start --set reconnect_window=10m "${on_two[@]}" "${ranks[@]}" plain
    within 60 "the ranks are there" are_there 4
    be_silent
    "$cluster" cut node02
    within 60 "it is said that the host is out of reach" err_has "^train: host 'node02' is out of reach"
    stays 12 launch_runs || note_failure "it does not wait for the host"
    may_end
    within 60 "the ranks end" ranks_are_over node02
    "$cluster" heal node02
    await_launch 120
    expect_status 0
    expect_idle 10 head "${nodes[@]}"
}

detached() {
    fresh
    id=$(on head "$train launch -d ${hangs[*]} -H 'node[01-02]:2' -n 4 ${ranks[*]} stops_itself_once" 2>"$work/err")
    [[ $id =~ ^[a-z2-7]{8}$ ]] || note_failure "launch -d: '$id' $(cat "$work/err")"
    eventually 60 are_there 4 || note_failure "the ranks are not there"
    be_silent
    train_on_head task wait "$id"
    expect_status 124
    expect_last_err "^train: task $id: failed: hang: " 'exit 124'
    train_on_head task show "$id"
    expect_status 0
    local cause="rank 1 on node01, unlike the others: python3 is stopped by a signal \(SIGSTOP\); $what"
    expect_out "$cause"
    expect_out '^hang       /.*/hang\.txt$'
    train_on_head task show "$id" --json
    expect_schema task "$work/out"
    expect_equal "the record" "failed 124 hang" "$(field '"%s %s %s" % (d["state"], d["exit_code"], d["error_class"])')"
    field 'd["cause"]' >"$work/out"
    expect_out "^$cause"
    expect_idle 10 head "${nodes[@]}"
}

# A sitecustomize of the user runs as without hang_stacks.
with_a_sitecustomize() {
    local rank
    mkdir -p "$shared/site"
    cat >"$shared/site/sitecustomize.py" <<'PYTHON'
import os
import sys

with open("/srv/shared/here/site." + os.environ["RANK"], "w") as file:
    file.write(f"{__name__} {__file__} {sys.modules[__name__].__file__}\n")
PYTHON
    hang --set hang_stacks=true -e PYTHONPATH=/srv/shared/site "${on_two[@]}" "${ranks[@]}" one_strays
    for rank in 0 1 2 3; do
        expect_equal "what was run in rank $rank" "sitecustomize$(printf ' %s' /srv/shared/site/sitecustomize.py{,})" \
            "$(cat "$here/site.$rank" 2>&1)"
    done
    expect_hang "rank 1 on node01, unlike the others: python3 in await_file \(/srv/shared/ranks\.py:[0-9]+\), from strays \(/srv/shared/ranks\.py:[0-9]+\)"
    expect_err "^  from strays \(/srv/shared/ranks\.py:$(line_of strays await_file)\)$"
    expect_err "^train: ranks 0,2-3 on node01, node02: python3 in await_file "
}

test_case "a rank that is stopped is named, with its host, before all are ended" one_is_stopped
test_case "a task that hangs goes on with its next attempt" goes_on_with_a_restart
test_case "a rank that skips a collective is named with its place in the program" skips_a_collective
test_case "so is one that holds the interpreter's lock" holds_the_lock
test_case "ranks that only touch a heartbeat file do not hang" gives_signs beats
test_case "nor do ranks that only report metrics" gives_signs reports
test_case "a rank that waits for room for its output does not hang" is_blocked
test_case "the time while a host is out of reach does not count" is_out_of_reach
test_case "a host that comes back for the end of a task alone keeps no agent" comes_back_for_the_end
test_case "task show says which rank a detached task has hung by" detached
test_case "stacks are told beside a sitecustomize of the user" with_a_sitecustomize
finish
