#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tasks that outlive their launcher, and that are stopped all the same: whatever is gone, and
# whichever host is away.   kill_test.sh path/to/train
# shellcheck disable=SC2016 # programs for hosts and ranks are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 3 --slots 2
use_train "${1:-}"

id='' # of the task
folder() { echo "/root/.local/state/train/tasks/$id"; }

cat >"$shared/ranks" <<'SH'
trap 'echo told; exit 0' TERM
while :; do sleep 0.05; done
SH
detach() {
    id=$(on head "$train launch -d -H 'node[01-03]:1' -n 3 --set stop_grace=1s -- /bin/sh /srv/shared/ranks" 2>"$work/err")
    [[ $id =~ ^[a-z2-7]{8}$ ]] || note_failure "launch -d: '$id' $(cat "$work/err")"
}
task() { on head "$train task $*" >"$work/out" 2>"$work/err"; status=$?; }
state_is() { task show "$id" --json; [ "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["state"])' "$work/out")" = "$1" ]; }
expect_state() { state_is "$1" || note_failure "the task is not $1: $(grep '"state"' "$work/out")"; }
unsettled() { task show "$id" --json; python3 -c 'import json, sys; print(*json.load(open(sys.argv[1]))["unsettled_hosts"])' "$work/out"; }
expect_unsettled() { expect_equal "hosts that may have something left" "$1" "$(unsettled)"; }
ranks_on() { processes "$1" '^/bin/sh /srv/shared/ranks'; }

# The host that was away answers again: what it has is ended by one more `task kill`.
expect_settled_by_kill() { # STATE
    "$cluster" heal node03
    expect_equal "ranks on node03" 1 "$(ranks_on node03)"
    task kill "$id"
    expect_status 0
    expect_err "host 'node03': its agent was still there; its ranks have ended, and it has left"
    expect_err "^train: task $id has ended already: $1; nothing of it is left on its hosts"
    expect_unsettled ""
    expect_idle 5 head "${nodes[@]}"
    task kill "$id"
    expect_equal "said once more" "train: task $id has ended already: $1" "$(cat "$work/err")"
}

away_at_the_stop() {
    detach
    "$cluster" cut node03 || return
    task kill "$id"
    expect_status 76
    expect_err "^train: task $id: killed$"
    expect_err "^train: node03 may still have something of it"
    expect_unsettled node03
    task show "$id"
    expect_out "^left on    node03: not known to be clean; train task kill $id asks once more$"
    task kill "$id"
    expect_status 76
    expect_err "host 'node03': it is not known what its agent has left"
    expect_unsettled node03
    expect_settled_by_kill killed
}

without_plan() {
    detach
    kill_supervisor
    on head "rm -r $(folder)/bundle"
    task attach "$id"
    expect_status 66
    "$cluster" cut node03 || return
    task kill "$id"
    expect_status 76
    expect_state killed
    expect_unsettled node03
    task logs "$id" --rank 1
    expect_out '^told$'
    expect_settled_by_kill killed
}

# As of a launcher that died between the last entry of its journal and its goodbyes.
dies_before_its_goodbyes() {
    detach
    kill_supervisor
    on head "python3 /srv/shared/end_journal $id" || note_failure "the journal cannot be written"
    expect_state failed
    task wait "$id"
    expect_status 7
    expect_unsettled "node01 node02 node03"
    task kill "$id"
    expect_status 0
    expect_err "host 'node01': its agent was still there; its ranks have ended, and it has left"
    expect_unsettled ""
    expect_idle 5 head "${nodes[@]}"
}
cat >"$shared/end_journal" <<'PY'
import json, os, sqlite3, sys
with sqlite3.connect(os.path.expanduser("~/.local/state/train/tasks.db")) as db:
    number, last = db.execute("SELECT number, entry FROM journal WHERE task = ? ORDER BY number DESC", sys.argv[1:]).fetchone()
    entry = {key: value for key, value in json.loads(last).items() if key in ("at", "boot")}
    end = {"succeeded": False, "any_started": True, "left_processes": False, "hopeless": False, "unrecorded": False, "exit_code": 7}
    entry.update(type="task_over", why="no_restarts_left", end=end)
    db.execute("INSERT INTO journal VALUES (?, ?, ?)", (sys.argv[1], number + 1, json.dumps(entry)))
PY

test_case "a host that is out of reach when its task is stopped is named, and asked again by another kill" away_at_the_stop
test_case "a task of which nobody has the plan is stopped, on a host that is away" without_plan
test_case "a launcher that died with the end in its journal alone: the end is told, the agents are sent home by a kill" dies_before_its_goodbyes
finish
