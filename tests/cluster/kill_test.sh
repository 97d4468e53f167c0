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
# A rank that is about to execute another program is there twice for a moment.
has_one_rank() { [ "$(ranks_on "$1")" = 1 ]; }

# The host that was away answers again: what it has is ended by one more `task kill`.
expect_settled_by_kill() { # STATE [WORD]: with a word, another task is left on the hosts
    # Before: what was on its way to the host when it was cut off may still arrive.
    eventually 2 has_one_rank node03 || note_failure "there is not one rank on node03"
    "$cluster" heal node03
    task kill "$id"
    expect_status 0
    expect_err "host 'node03': its agent was still there; its ranks have ended, and it has left"
    expect_err "^train: task $id has ended already: $1; nothing of it is left on its hosts"
    expect_unsettled ""
    [ $# -gt 1 ] || expect_idle 5 head "${nodes[@]}"
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

# Its machine was taken away, say.
gone_for_good() {
    detach
    "$cluster" cut node03 || return
    task kill "$id"
    expect_status 76
    task rm "$id"
    expect_status 75
    expect_err "^train: task $id is not removed: node03 may still have something of it$"
    expect_err "train task kill $id asks that host$"
    expect_err "train task rm --force $id forgets it, where it is gone for good$"
    task rm --force "$id"
    expect_status 0
    expect_err "^train: task $id is removed$"
    expect_err "^train: what node03 may still have of it is not ended any more$"
    task show "$id"
    expect_status 66
    "$cluster" heal node03
    on node03 "pkill -KILL -f 'train.*$id'"
    expect_idle 10 head "${nodes[@]}"
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
with sqlite3.connect(os.path.expanduser("~/.local/state/train/tasks.db"), timeout=600) as db:
    number, last = db.execute("SELECT number, entry FROM journal WHERE task = ? ORDER BY number DESC", sys.argv[1:]).fetchone()
    entry = {key: value for key, value in json.loads(last).items() if key in ("at", "boot")}
    end = {"succeeded": False, "any_started": True, "left_processes": False, "hopeless": False, "unrecorded": False, "exit_code": 7}
    entry.update(type="task_over", why="no_restarts_left", end=end)
    db.execute("INSERT INTO journal VALUES (?, ?, ?)", (sys.argv[1], number + 1, json.dumps(entry)))
PY

# start_stop: of an unattended task, until the ranks that can be reached have ended; node03 is cut off.
start_stop() {
    start_bystander
    detach
    kill_supervisor
    "$cluster" cut node03 || return
    start_on_head "$train" task kill "$id"
    within 10 "the ranks that can be reached have ended" reachable_ranks_are_gone
    eventually 2 has_one_rank node03 || note_failure "there is not one rank on node03"
}
reachable_ranks_are_gone() { [ "$(ranks_on node01)$(ranks_on node02)" = 00 ]; }

# What the ranks said at their end, and how they ended, was told to nobody by then.
expect_ends() {
    local rank
    task show "$id" --json
    expect_equal "codes of ranks 0 and 1" "[0, 0]" \
        "$(python3 -c 'import json, sys; print([rank["exit_code"] for rank in json.load(open(sys.argv[1]))["rank_results"][:2]])' "$work/out")"
    for rank in 0 1; do
        task logs "$id" --rank "$rank"
        expect_equal "what rank $rank said" told "$(grep -v '^Terminated$' "$work/out")" # of its sleep
    done
}

is_killed_itself() {
    start_stop
    signal_launcher KILL
    await_launch 5
    expect_status 137
    expect_state unattended
    task show "$id"
    expect_out "^cause +its launcher \(process $launcher\) has died while it stopped it, and its ranks may go on: train task kill $id$"
    "$cluster" heal node03
    task kill "$id"
    expect_status 0
    expect_err "^train: task $id: killed$"
    expect_state killed
    expect_unsettled ""
    expect_ends
    expect_bystander
    expect_idle 5 head "${nodes[@]}"
}

is_interrupted() { # TIMES: Ctrl-C so often, or `late`
    start_stop
    [ "$1" = late ] || interrupt "$1"
    # It may have ended by then: it asks the host once more, and does not wait for long.
    [ "$1" != late ] ||
        on head "until $train task show $id | grep -q '^state *killed'; do sleep 0.05; done; kill -INT $launcher" 2>/dev/null
    await_launch 60
    case $1 in
        1) expect_err "^train: host 'node03' is out of reach for [0-9]+ s now; its ranks go on, and it is waited for another [0-9]+ s \(all ranks are being stopped\): " ;;
        2)
            ! err_has 'is out of reach for' || note_failure "it was waited for"
            expect_err "^train: host 'node03' did not confirm that its ranks are gone \(it was not waited for any longer\)"
            ;;
        late)
            expect_err "host 'node03': it is not known what its agent has left: (it was not waited for any longer|no answer)"
            echo "    lines that say so because of Ctrl-C: $(grep -c 'has left: it was not waited for any longer' "$work/err")"
            ;;
    esac
    expect_status 76
    expect_err "^train: task $id: killed$"
    expect_err "^train: node03 may still have something of it"
    expect_state killed
    expect_unsettled node03
    task show "$id"
    expect_out "^left on    node03: not known to be clean; train task kill $id asks once more$"
    expect_settled_by_kill killed but_for_bystander
    expect_ends
    expect_bystander
    expect_idle 5 head "${nodes[@]}"
}

test_case "a host that is out of reach when its task is stopped is named, and asked again by another kill" away_at_the_stop
test_case "a kill that is killed itself in the middle leaves an unattended task, which another one ends" is_killed_itself
soak_case "Ctrl-C in the middle of a kill does not keep it from its end" is_interrupted 1
test_case "Ctrl-C twice leaves the host that is out of reach to another kill at once" is_interrupted 2
soak_case "Ctrl-C at the end of a kill does so, too" is_interrupted late
soak_case "a task is forgotten with --force where one of its hosts is gone for good" gone_for_good
soak_case "a task of which nobody has the plan is stopped, on a host that is away" without_plan
test_case "a launcher that died with the end in its journal alone: the end is told, the agents are sent home by a kill" dies_before_its_goodbyes
finish
