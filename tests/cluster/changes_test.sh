#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What changes on the launcher's machine while a task runs: its train, and the machine itself.
#   changes_test.sh path/to/train
# shellcheck disable=SC2016 # programs for hosts and ranks are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 2 --slots 2
use_train "${1:-}"

id='' # of the task
newer=/srv/shared/newer

# The same program as another build: what its build says of itself differs, and it has brought the
# registry up to date by a step that this one does not know.
make_newer_build() {
    python3 - "$shared/bin/train" "$shared/newer" <<'PYTHON'
import subprocess, sys
notes = subprocess.run(["readelf", "-n", sys.argv[1]], capture_output=True, text=True).stdout
build = bytes.fromhex(notes.split("Build ID:")[1].split()[0])
program = open(sys.argv[1], "rb").read()
assert program.count(build) == 1
open(sys.argv[2], "wb").write(program.replace(build, bytes(255 - byte for byte in build)))
PYTHON
    chmod 755 "$shared/newer"
}
bring_registry_up_to_date() {
    on head 'python3 -c "
import os, sqlite3
registry = sqlite3.connect(os.path.expanduser(\"~/.local/state/train/tasks.db\"), timeout=600)
if registry.execute(\"pragma user_version\").fetchone()[0] < 1000:
    registry.executescript(\"alter table task add column newer integer not null default 4711; pragma user_version = 1000\")
"'
}

cat >"$shared/waits" <<'BASH'
echo "of rank $RANK" >result
echo "rank $RANK of attempt $TRAIN_RESTART_COUNT runs"
while [ ! -e /srv/shared/go ]; do sleep 0.02; done
echo "rank $RANK ends"
exit "$RANK"
BASH

detach() {
    rm -f "$shared/go"
    id=$(on head "$train launch -d -H 'node[01-02]:1' -n 2 -- /bin/bash /srv/shared/waits" 2>"$work/err")
    [[ $id =~ ^[a-z2-7]{8}$ ]] || note_failure "launch -d: '$id' $(cat "$work/err")"
}

# With the newer build.
task() { on head "$newer task $*" >"$work/out" 2>"$work/err"; status=$?; }
state() { task list --all --csv; tr -d '\r' <"$work/out" | awk -F, -v id="$id" '$1 == id { print $3 }'; }

expect_log() {
    task logs "$id" --rank 1
    expect_equal "the log of rank 1" "rank 1 of attempt 0 runs,rank 1 ends" "$(paste -sd, "$work/out")"
}

is_looked_at() {
    detach
    bring_registry_up_to_date
    expect_equal "state" running "$(state)"
    task show "$id"
    expect_out '^now +running; 2 ranks have not ended$'
    start_on_head "$newer" task attach "$id"
    within 10 "the view has begun" out_has 'rank 0 of attempt 0 runs'
    touch "$shared/go"
    await_launch 20
    expect_status 1
    expect_log
    expect_idle 5 head node01 node02
}

is_killed() {
    detach
    task kill "$id"
    expect_status 0
    expect_equal "state" killed "$(state)"
    detach
    kill_supervisor
    bring_registry_up_to_date
    task kill "$id"
    expect_status 0
    expect_equal "state" killed "$(state)"
    expect_idle 5 head node01 node02
}

is_taken_over() {
    detach
    bring_registry_up_to_date
    kill_supervisor
    start_on_head "$newer" task attach "$id"
    within 15 "somebody attends it" err_has "is attended again"
    on head "cmp /proc/$(supervisor)/exe $train" || note_failure "its supervisor is another build"
    touch "$shared/go"
    await_launch 20
    expect_status 1
    expect_log
    expect_idle 5 head node01 node02
}

# By the build that launched it, which its hosts have.
is_looked_into() {
    detach
    bring_registry_up_to_date
    eventually 20 on head "ls ~/.local/state/train/tasks/$id/bundle/program-*" >"$work/kept" 2>&1 || note_failure "its program is not kept"
    rm -f "$shared/enough"
    start_on_head "$newer" task exec "$id" --rank 1 -- /bin/sh -c \
        'echo "beside rank $RANK on $(uname -n)"; while [ ! -e /srv/shared/enough ]; do sleep 0.02; done; exit 4'
    within 10 "a command runs beside it" out_has '^beside rank 1 on node02$'
    on head "cmp /proc/$launcher/exe $train" || note_failure "the command was run by another build"
    touch "$shared/enough"
    await_launch 10
    expect_status 4
    expect_equal "said of it" "" "$(cat "$work/err")"
    task get "$id" result - --rank 1
    expect_status 0
    expect_out '^of rank 1$'
    touch "$shared/go"
    task wait "$id"
    expect_status 1
    task get "$id" result - --rank 1
    expect_out '^of rank 1$'
    expect_idle 5 head node01 node02
}

is_waited_for() {
    local follower
    detach
    bring_registry_up_to_date
    on head "$newer task logs -f $id --rank 1" >"$work/followed" 2>"$work/followed.err" &
    follower=$!
    start_on_head "$newer" task wait "$id"
    eventually 10 grep -q 'of attempt 0 runs' "$work/followed" || note_failure "nothing is followed: $(cat "$work/followed.err")"
    ! launch_has_ended || note_failure "it was not waited for: $(cat "$work/err")"
    touch "$shared/go"
    await_launch 20
    expect_status 1
    expect_err "^train: task $id: failed: worker: rank 1 on 'node02' exited with code 1 \(exit 1\)$"
    wait "$follower"
    expect_equal "exit status of the follower" 0 $?
    expect_equal "what it has followed" "rank 1 of attempt 0 runs,rank 1 ends" "$(paste -sd, "$work/followed")"
    expect_idle 5 head node01 node02
}

# Before the control socket of a task: its supervisor seems to be one that speaks another version.
# Keeps what is asked of it.
cat >"$shared/stand_before.py" <<'PYTHON'
import json, os, socket, sys, threading

path = sys.argv[1]
os.rename(path, path + ".real")
server = socket.socket(socket.AF_UNIX)
server.bind(path)
server.listen()


def changed(line):
    said = json.loads(line)
    if "train_control" in said:
        said["train_control"] += 1
    return (json.dumps(said) + "\n").encode()


def pass_on(source, target, change):
    for line in source.makefile("rb"):
        try:
            target.sendall(change(line))
        except OSError:
            break
    for each in source, target:
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def keep(line):
    with open("/srv/shared/asked", "ab") as asked:
        asked.write(line)
    return line


while True:
    client, _ = server.accept()
    supervisor = socket.socket(socket.AF_UNIX)
    supervisor.connect(path + ".real")
    threading.Thread(target=pass_on, args=(supervisor, client, changed), daemon=True).start()
    threading.Thread(target=pass_on, args=(client, supervisor, keep), daemon=True).start()
PYTHON
stand_before() {
    local path=/root/.local/state/train/tasks/$id/control
    rm -f "$shared/asked"
    on head "setsid -f python3 /srv/shared/stand_before.py $path >/srv/stands.log 2>&1"
    eventually 5 on head "test -S $path.real -a -S $path" || note_failure "nobody stands before the socket"
}
step_aside() { on head 'pkill -f "^python3 /srv/shared/stand_before"'; }
asked() { sed 's/.*"do":"\([a-z]*\)".*/\1/' "$shared/asked" 2>/dev/null | sort | uniq -c | sed 's/^ *//' | paste -sd,; }

speaks_another_version() {
    detach
    stand_before
    task show "$id"
    expect_status 0
    expect_out '^state +running$'
    expect_out '^now +the supervisor of the task is a train [0-9.]+ and speaks version 2 over its socket; this one speaks 1'
    start_on_head "$newer" task attach "$id"
    within 10 "the view has begun" out_has 'rank 0 of attempt 0 runs'
    touch "$shared/go"
    await_launch 20
    expect_status 1
    expect_err '^train: nothing of this terminal is lent to the launcher for logins: the supervisor of the task .* speaks version 2 over its socket; this one speaks 1$'
    detach
    step_aside
    stand_before
    task kill "$id"
    expect_status 0
    expect_err "^train: task $id: killed$"
    expect_equal "state" killed "$(state)"
    expect_equal "what was asked in a version that is not known" "" "$(asked)"
    step_aside
    expect_idle 5 head node01 node02
}

# A machine that starts anew has another boot_id, and its clock begins again; a host of the tests has
# a new home besides.
machine_starts_anew() {
    local train="env XDG_STATE_HOME=/srv/shared/state $train"
    detach
    restart head || return
    on head 'cat /proc/sys/kernel/random/uuid >/run/boot_id; mount --bind /run/boot_id /proc/sys/kernel/random/boot_id'
    expect_equal "state" unattended "$(on head "$train task list --csv" | awk -F, -v id="$id" '$1 == id { print $3 }')"
    # shellcheck disable=SC2086 # it is several words
    start_on_head $train task attach "$id"
    within 15 "somebody attends it" err_has "is attended again"
    touch "$shared/go"
    await_launch 20
    expect_status 1
    on head "$train task logs $id --rank 1" >"$work/log"
    expect_equal "the log of rank 1" "rank 1 of attempt 0 runs,rank 1 ends" "$(paste -sd, "$work/log")"
    expect_idle 5 head node01 node02
    restart head
}

make_newer_build
test_case "a task of another build is looked at" is_looked_at
test_case "it is killed, attended or not" is_killed
test_case "commands run beside its ranks, and what these have left is fetched" is_looked_into
test_case "it is waited for, and its output followed" is_waited_for
test_case "one that speaks another version is looked at, and stopped by a signal" speaks_another_version
test_case "it is gone on with by the build that launched it" is_taken_over
test_case "a task goes on although the launcher's machine was started anew" machine_starts_anew
finish
