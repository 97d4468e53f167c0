#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Hyperparameter searches over several hosts.   search_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the trials are in single quotes
. "$(dirname "$0")/lib.sh"

# As GPUs slots have numbers that ranks are told.
use_cluster 3 --gpus 'NVIDIA A100-SXM4-80GB:2'
use_train "${1:-}"

on_three=(-H 'node[01-03]:2')

# A rank holds the slot that it was told for as long as it lives; one that finds it held says so.
cat >"$shared/hold_slot" <<'BASH'
IFS=, read -ra visible <<<"$CUDA_VISIBLE_DEVICES"
slot=${visible[$TRAIN_DEVICE_INDICES]}
exec 9>"/srv/slot-$slot"
[ "${TRAIN_RESTART_COUNT:-0}" = 0 ] || echo "trial $TRAIN_TRIAL_ID" >>/srv/shared/restarts
if ! flock -n 9; then
    echo "trial $TRAIN_TRIAL_ID of $TRAIN_TASK_ID finds slot $slot of $(uname -n) held" >>/srv/shared/clashes
    exit 99
fi
echo "$(uname -n) $slot" >>/srv/shared/held
BASH

# write_search SEARCHER [LINE...]: x.yaml, a search of the bash program on standard input, which is
# run for each trial, on a slot that it holds. LINEs are further keys.
write_search() {
    {
        echo '. /srv/shared/hold_slot'
        cat
    } >"$shared/trial"
    rm -f "$shared"/{clashes,held,restarts,go}*
    {
        echo "entrypoint: exec /bin/bash /srv/shared/trial"
        echo "hyperparameters: {x: {type: double, minval: 0, maxval: 1}}"
        echo "searcher: {metric: loss, $1}"
        shift
        printf '%s\n' "resources: {slots_per_trial: 1}" "reproducibility: {experiment_seed: 7}" "$@"
    } >"$shared/x.yaml"
}

task_of() { sed -n 's/^train: task \([a-z0-9]*\): .*/\1/p' "$1" | head -n 1; }

# read_task: $work/task.json, the search that was launched last.
read_task() { on head "$train" task show --json "$(task_of "$work/err")" >"$work/task.json"; }

# field EXPRESSION: of $work/task.json, which is `d`.
field() { /usr/bin/python3 -c 'import json, sys; d = json.load(open(sys.argv[2])); print(eval(sys.argv[1]))' "$1" "$work/task.json"; }

# state_of TRIAL
state_of() { field "d['trials'][$1]['state']"; }

# hosts_of TRIAL: of its attempts.
hosts_of() { field "' then '.join(','.join(each['hosts']) for each in d['trials'][$1]['attempts'])"; }

expect_no_clash() {
    expect_equal "trials that were given a held slot" "" "$(cat "$shared/clashes" 2>/dev/null)"
}

# --- Many trials ---

# That each trial ended as what was decided says, and that this is what halving decides.
cat >"$shared/check_halving.py" <<'PYTHON'
import bisect, json, math, sys
task = json.load(open(sys.argv[1]))
rungs = json.loads(sys.argv[2])
divisor = int(sys.argv[3])
losses = [[] for _ in rungs]
entered, last = {}, {}
for each in task["search"]["decisions"]:
    trial, verdict, rung = each["trial"], each["decision"], each["rung"]
    assert last.get(trial, "continue") == "continue", f"something is decided of trial {trial} after its end"
    last[trial] = verdict
    if verdict == "ended":
        assert entered.get(trial) == len(rungs) - 1, f"trial {trial} has ended by itself early"
        continue
    assert rung == entered.get(trial, -1) + 1, f"trial {trial} enters rung {rung} after {entered.get(trial)}"
    assert each["step"] == rungs[rung], f"trial {trial} enters rung {rung} at step {each['step']}"
    entered[trial] = rung
    place = bisect.bisect_left(losses[rung], each["metric"])
    bisect.insort_left(losses[rung], each["metric"])
    keeps = max(1, len(losses[rung]) // divisor)
    goes_on = place < keeps and rung + 1 < len(rungs)
    assert verdict == ("continue" if goes_on else "stop"), f"trial {trial} at rung {rung}: {verdict}"
for trial in task["trials"]:
    is_whole = entered[trial["id"]] == len(rungs) - 1
    expected = "succeeded" if is_whole else "stopped"
    assert trial["state"] == expected, f"trial {trial['id']} is {trial['state']} where {expected} was decided"
    assert last[trial["id"]] in ("stop", "ended"), f"nothing was decided of trial {trial['id']}"
    assert len(trial["attempts"]) == 1 and trial["attempts"][0]["number"] == 0
best = min((r["metrics"]["loss"], t["id"]) for t in task["trials"] for r in t["reports"])
assert task["search"]["best"]["metric"] == best[0], f"the best is {task['search']['best']}"
PYTHON

# write_many_trials SECONDS: 40 of four steps, which take so long.
write_many_trials() {
    write_search 'name: async_halving, num_rungs: 3, divisor: 2, max_length: {batches: 4}, max_trials: 40, max_concurrent_trials: 12' \
        'on_launcher_loss: 120s' 'reconnect_window: 60s' <<TRIAL
echo "trial \$TRAIN_TRIAL_ID"
for batches in 1 2 3 4; do
    loss=\$(((TRAIN_TRIAL_ID * 17 + 5) % 40)).\$batches
    echo "{\"loss\": \$loss, \"batches\": \$batches}" >>"\$TRAIN_METRICS_FILE"
    sleep $1 # waits: the pace of a trial
done
TRIAL
}

# Of task ID, which has ended: each trial is there once, and decisions are those of halving.
expect_all_decided() { # ID
    expect_no_clash
    expect_equal "ranks" 40 "$(wc -l <"$shared/held")"
    on head "$train" task show --json "$1" >"$work/task.json"
    expect_equal "trials" 40 "$(field "len(d['trials'])")"
    /usr/bin/python3 "$shared/check_halving.py" "$work/task.json" '[1, 2, 4]' 2 >"$work/differs" 2>&1 ||
        note_failure "the decisions: $(tail -n 1 "$work/differs")"
    expect_equal "trials whose reports are not there once each" '[]' \
        "$(field "[t['id'] for t in d['trials'] if [r['step'] for r in t['reports']] != list(range(1, len(t['reports']) + 1))]")"
    expect_equal "trials without their log" "" "$(on head 'for trial in {0..39}; do
        [ "$('"$train"' task logs '"$1"' --trial $trial)" = "[0] trial $trial" ] || echo $trial
    done')"
}

many_trials() {
    write_many_trials 0.1
    launch "${on_three[@]}" /srv/shared/x.yaml
    expect_status 0
    expect_idle 2 head "${nodes[@]}"
    expect_equal "slots" 'node01 0,node01 1,node02 0,node02 1,node03 0,node03 1' \
        "$(sort -u "$shared/held" | paste -sd ,)"
    expect_all_decided "$(task_of "$work/err")"
}

# A host is away for a while, and meanwhile the supervisor is killed: another one goes on with all
# that runs, and nothing is decided otherwise.
many_trials_disturbed() {
    write_many_trials 0.5
    id=$(on head "$train launch -d ${on_three[*]} /srv/shared/x.yaml" 2>"$work/err")
    [[ $id =~ ^[a-z2-7]{8}$ ]] || note_failure "launch -d: '$id' $(cat "$work/err")"
    eventually 20 is_held 12 || note_failure "trials have not run"
    "$cluster" cut node02
    sleep 1 # waits: trials report there what nobody hears
    kill_supervisor
    start_on_head "$train" task attach "$id"
    within 30 "it is attended again" err_has "task $id is attended again"
    "$cluster" heal node02
    await_launch 120
    expect_status 0
    expect_all_decided "$id"
    expect_idle 3 head "${nodes[@]}"
}

# --- Logins ---

logins() { on "$1" 'grep -c Accepted /run/sshd.log || true'; }

reached_when_wanted() {
    restart "${nodes[@]}"
    write_search 'name: random, max_trials: 6, max_concurrent_trials: 2' <<<'sleep 0.1'
    launch "${on_three[@]}" /srv/shared/x.yaml
    expect_status 0
    expect_equal "where trials ran" "node01 0,node01 1" "$(sort -u "$shared/held" | paste -sd ,)"
    [ "$(logins node01)" -gt 0 ] || note_failure "the logins of node01 are not counted"
    expect_equal "logins to hosts that nothing runs on" "0 0" "$(logins node02) $(logins node03)"
}

# --- Trials of several ranks ---

# Ranks connect to where rank 0 listens, say who they are, and are told who has come. They end once
# two trials have met, so that these have run at once.
cat >"$shared/meet.py" <<'PYTHON'
import os, socket, time
trial, rank, size = (os.environ[name] for name in ("TRAIN_TRIAL_ID", "RANK", "WORLD_SIZE"))
place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
def read(connection):
    return connection.makefile().readline().strip()
if rank == "0":
    server = socket.create_server(("", place[1]))
    others = [server.accept()[0] for _ in range(int(size) - 1)]
    who = sorted([f"{trial}.0"] + [read(each) for each in others])
    for each in others:
        each.sendall((" ".join(who) + "\n").encode())
else:
    for _ in range(2400):
        try:
            connection = socket.create_connection(place)
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    connection.sendall(f"{trial}.{rank}\n".encode())
    who = read(connection).split()
print(f"rank {rank} of {size} on {os.uname().nodename} has met {' '.join(who)} at {place[0]}:{place[1]}", flush=True)
open(f"/srv/shared/go-{trial}", "w").close()
while len([name for name in os.listdir("/srv/shared") if name.startswith("go-")]) < 2:
    time.sleep(0.05)
PYTHON

ranks_meet() {
    write_search 'name: random, max_trials: 4, max_concurrent_trials: 0' \
        'resources: {slots_per_trial: 3, placement: spread}' <<<'exec /usr/bin/python3 /srv/shared/meet.py'
    sed -i '/slots_per_trial: 1/d' "$shared/x.yaml"
    launch "${on_three[@]}" /srv/shared/x.yaml
    expect_status 0
    expect_no_clash
    local trial rank
    for trial in 0 1 2 3; do
        for rank in 0 1 2; do
            expect_out "^\[$trial/$rank\] rank $rank of 3 on node0$((rank + 1)) has met $trial.0 $trial.1 $trial.2 at 10\.77\.1\.1:"
        done
        expect_equal "where trial $trial has met" 1 "$(grep "^\[$trial/" "$work/out" | sed 's/.* at //' | sort -u | wc -l)"
    done
    expect_equal "where the first two have met" 2 "$(grep '^\[[01]/' "$work/out" | sed 's/.* at //' | sort -u | wc -l)"
    expect_idle 2 head "${nodes[@]}"
}

# --- Hosts that go away ---

lost=(--set reconnect_window=0s --set max_restarts=0)
# waits: a trial runs for so many tenths of a second.
runs_for() { echo 'for ((i = 0; i < '"$1"'; i++)); do sleep 0.1; done'; }

# Nothing but the trials that ran there has failed, and none is placed there afterwards.
host_is_cut() {
    write_search 'name: random, max_trials: 30, max_concurrent_trials: 0' \
        <<<'until [ -e /srv/shared/go ]; do sleep 0.05; done'
    launch_start "${on_three[@]}" "${lost[@]}" /srv/shared/x.yaml
    within 20 "trials run on all slots" is_held 6
    "$cluster" cut node02
    # All that follows is over before the host is tried again.
    within 60 "the host is left out" err_has "^train: host 'node02' is left out for 60 s: silent for (1[5-9]|[2-9][0-9]|[0-9]{3,}) s"
    touch "$shared/go"
    await_launch 60
    expect_status 0
    read_task
    "$cluster" heal node02
    expect_equal "trials that failed" 2 "$(grep -c ": failed: host 'node02': silent for" "$work/err")"
    expect_equal "how often it is said" 1 "$(grep -c 'is left out' "$work/err")"
    expect_err '^train: 30 trials: 28 succeeded, 2 failed$'
    expect_equal "trials that were placed on the host" 2 \
        "$(field "len([t for t in d['trials'] for a in t['attempts'] if 'node02' in a['hosts']])")"
    expect_no_clash
    expect_idle 3 head node01 node03
}
is_held() { [ -e "$shared/held" ] && [ "$(wc -l <"$shared/held")" -ge "$1" ]; }

# A host that is not there from the first on fails no trial.
host_is_never_reached() {
    write_search 'name: random, max_trials: 12, max_concurrent_trials: 0' < <(runs_for 3)
    "$cluster" kill node02
    launch "${on_three[@]}" --set reconnect_window=0s /srv/shared/x.yaml
    expect_status 0
    expect_err "^train: host 'node02' is left out for 60 s: "
    expect_err '^train: 12 trials: 12 succeeded$'
    read_task
    expect_equal "where the trials of that host ran in the end" 2 \
        "$(field "len([t for t in d['trials'] if [a['number'] for a in t['attempts']] == [0, 1] and t['attempts'][0]['hosts'] == ['node02'] and t['state'] == 'succeeded'])")"
    expect_equal "restarts that they are told" "" "$(cat "$shared/restarts" 2>/dev/null)"
    "$cluster" boot node02
}

no_host_is_left() {
    write_search 'name: random, max_trials: 12, max_concurrent_trials: 0' <<<'sleep 0.1'
    "$cluster" crash node01
    "$cluster" crash node02
    launch -H 'node[01-02]:2' --set reconnect_window=0s /srv/shared/x.yaml
    expect_status 76
    expect_err "^train: no host is left that can hold another trial: host 'node0[12]': "
    expect_last_err 'failed: host \(exit 76\)$'
    "$cluster" boot node01
    "$cluster" boot node02
}

# --- Slots that others take ---

# Two searches from two machines: each goes around what the other one has, or is refused as busy.
two_searches() {
    write_search 'name: random, max_trials: 12, max_concurrent_trials: 0' < <(runs_for 3)
    local codes=() machine
    for machine in head node03; do
        on "$machine" "$train" launch -H 'node[01-02]:2' /srv/shared/x.yaml >"$work/out-$machine" 2>"$work/err-$machine" &
        codes+=($!)
    done
    for machine in head node03; do
        wait "${codes[0]}"
        case $? in
            0) tail -n 5 "$work/err-$machine" | grep -q '12 trials: 12 succeeded$' || note_failure "$machine: $(tail -n 5 "$work/err-$machine")" ;;
            75) grep -q '^train: not now, of what is free: ' "$work/err-$machine" || note_failure "$machine: $(cat "$work/err-$machine")" ;;
            *) note_failure "$machine ends otherwise: $(cat "$work/err-$machine")" ;;
        esac
        codes=("${codes[@]:1}")
    done
    expect_no_clash
    expect_idle 3 head "${nodes[@]}"
}

# Another task takes a slot in the middle of a search: the trial that was to have it waits.
slot_is_taken() {
    write_search 'name: random, max_trials: 8, max_concurrent_trials: 2' \
        <<<'until [ -e /srv/shared/go.$TRAIN_TRIAL_ID ] || [ -e /srv/shared/go ]; do sleep 0.05; done'
    launch_start -H node01:2 /srv/shared/x.yaml
    within 20 "two trials run" is_held 2
    on node03 "$train" launch --wait -H node01:2 -n 1 -- /bin/bash -c '. /srv/shared/hold_slot; until [ -e /srv/shared/gone ]; do sleep 0.05; done' >"$work/other" 2>&1 &
    local other=$!
    eventually 10 grep -qs '1st in line' "$work/other" || note_failure "the other one: $(cat "$work/other")"
    touch "$shared/go.0"
    within 10 "a trial waits" err_has '^train: trial [2-7] waits for slots: '
    within 10 "the other task runs" is_held 3
    touch "$shared/gone"
    wait "$other" || note_failure "the other one: $(cat "$work/other")"
    within 30 "the trial has its slot in the end" is_held 4
    touch "$shared/go"
    await_launch 30
    expect_status 0
    expect_err '^train: 8 trials: 8 succeeded$'
    expect_no_clash
}

soak_case "a host that is cut is left out, and the search goes on" host_is_cut
test_case "40 trials on 6 slots of 3 hosts end as it was decided, each alone on its slot" many_trials
test_case "a host that is cut and a supervisor that is killed change none of what is decided" many_trials_disturbed
test_case "a host is reached when a trial is placed there" reached_when_wanted
test_case "the ranks of each trial meet, at a place of their own" ranks_meet
test_case "trials of a host that is not reached run elsewhere" host_is_never_reached
test_case "a search ends when no host is left" no_host_is_left
test_case "two searches on the same hosts do not meet on a slot" two_searches
test_case "a trial whose slot another task takes waits for it" slot_is_taken
finish
