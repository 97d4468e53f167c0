#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tasks that are submitted as jobs of Slurm (engine: slurm), seen from the machine that submits them. The
# state folders of the hosts are not shared, unless a case says so.
#   slurm_engine_test.sh path/to/train [--plain]
. "$(dirname "$0")/slurm_lib.sh"

engine=("$train" launch --engine slurm)
state=/root/.local/state/train
# What each rank prints; it ends with the code that it is given.
cat >"$shared/rank.sh" <<'RANK'
echo "rank $RANK of $WORLD_SIZE on $(hostname) with $CUDA_VISIBLE_DEVICES in $PWD"
exit ${1:-0}
RANK
# A rank that takes its leave.
cat >"$shared/polite.sh" <<'RANK'
trap 'echo polite; exit 3' TERM
echo begun
sleep 4711 & wait
RANK

# The id of the job that the launcher on the head has submitted, and that of its task.
read_ids() {
    job=$(sed -n 's/^train: task [a-z2-7]* is job \([0-9]*\) of Slurm.*/\1/p' "$work/err")
    task=$(sed -n 's/^train: task \([a-z2-7]*\) is job .*/\1/p' "$work/err")
}
task_state() { on head "$train task list --all --csv" | awk -F, -v id="$1" '$1 == id { print $3 }'; }
is_running() { [ "$(job_state)" = RUNNING ]; }
is_recorded() { on head "$train task show $task" >"$work/show" 2>&1; }

shown() {
    run_on_head "${engine[@]}" -n 8 -- sh /srv/shared/rank.sh
    expect_status 0
    read_ids
    local rank
    for rank in 0 1 2 3 4 5 6 7; do
        expect_out "^\[$rank\] rank $rank of 8 on node0$((rank / 4 + 1)) with 0,1,2,3 in /root$"
    done
    expect_err "^train: job $job of Slurm runs on node\[01-02\]$"
    expect_err "^train: task $task: succeeded$"
    expect_job_state COMPLETED
    expect_free 5
}

fails() {
    run_on_head "${engine[@]}" -n 1 -- sh /srv/shared/rank.sh 7
    expect_status 7
    read_ids
    expect_err "^train: task $task: failed: worker: rank 0 on 'node01' exited with code 7"
    expect_equal "errors of srun" 0 "$(grep -c '^srun: error' "$work/err")"
}

some_ranks() {
    run_on_head "${engine[@]}" -n 8 --tee rank:1,6 --timestamps -- sh /srv/shared/rank.sh
    expect_status 0
    expect_equal "ranks that are shown" "1 6" "$(sed -n 's/^[0-9].*\[\([0-9]\)\] rank . of 8.*/\1/p' "$work/out" | sort | xargs)"
    expect_equal "lines" 2 "$(wc -l <"$work/out")"
}

# Whatever names hosts where it is submitted, those of the job are used in it.
other_nodes() {
    run_on_head env TRAIN_HOSTFILE=/srv/shared/hosts.plain SBATCH_PARTITION=short SQUEUE_PARTITION=none \
        "${engine[@]}" -n 1 --exclude node0[1-2] --set resources.resource_pool=p -- sh /srv/shared/rank.sh
    expect_status 0
    expect_out '^\[0\] rank 0 of 1 on node03 with 0 in /root$'
}

ctrl_c() {
    start_on_head "${engine[@]}" -n 2 -- sh /srv/shared/polite.sh
    within 60 "both ranks have begun" out_count_is 2 begun
    interrupt 1
    await_launch 60
    expect_status 130
    read_ids
    expect_equal "ranks that took their leave" 2 "$(grep -c polite "$work/out")"
    eventually 30 job_has_ended
    expect_job_state CANCELLED
    expect_free 5
}

from_outside() {
    run_on_head "${engine[@]}" -d -n 2 -- sh /srv/shared/polite.sh
    expect_status 0
    read_ids
    expect_equal "answer" "$task" "$(cat "$work/out")"
    eventually 60 is_running || note_failure "job $job does not start"
    train_on_head task list
    expect_out "^$task +sh +running +2 +node01 "
    expect_err "^train: task $task is job $job of Slurm: it runs on node01$"
    train_on_head task kill "$task" another
    expect_status 64
    expect_err "task $task is in a job of Slurm, and is not reached together with others"
    eventually 30 is_recorded || note_failure "no record: $(cat "$work/show")"
    train_on_head task exec "$task" --rank 1 -- hostname
    expect_out '^node01$'
    train_on_head task logs "$task"
    expect_out '^\[0\] begun$'
    train_on_head task kill "$task"
    expect_status 0
    expect_err "^train: task $task: killed$"
    eventually 30 job_has_ended
    train_on_head task list
    expect_no_out "^$task"
    train_on_head task show "$task"
    expect_status 66
    expect_err "task $task was job $job of Slurm, which has ended, and its record is not here"
    train_on_head task rm "$task"
    expect_status 0
}

warned() {
    start_on_head "${engine[@]}" --set stop_grace=100s -n 1 -- sh -c 'trap "echo polite; exit 3" TERM; echo begun; sleep 4711 & wait'
    within 60 "the rank has begun" out_has begun
    read_ids
    on head "scancel --batch --signal=USR1 $job"
    await_launch 60
    expect_status 143
    expect_out '^\[0\] polite$'
    expect_err "stopped by SIGTERM; Slurm warns that the time of job $job is nearly over"
}

waits_in_line() {
    local first second
    run_on_head "${engine[@]}" -d -n 16 -- sh -c 'until [ -e /srv/shared/go ]; do sleep 0.1; done'
    first=$(cat "$work/out")
    rm -f "$shared"/{go,seen}
    run_on_head "${engine[@]}" -d -n 16 -- sh -c 'sh /srv/shared/rank.sh; until [ -e /srv/shared/seen ]; do sleep 0.1; done; exit 4'
    read_ids
    second=$task
    eventually 30 has_reason || note_failure "Slurm gives no reason"
    train_on_head task list
    expect_out "^$second +sh +waiting +16 "
    expect_err "^train: task $second is job $job of Slurm: it waits for "
    train_on_head task logs "$second"
    expect_status 75
    start_on_head "$train" task attach "$second"
    within 30 "it says that the job waits" err_has 'it waits for '
    touch "$shared/go"
    within 60 "ranks are shown" out_count_is 16 '^\[[0-9]*\] rank'
    touch "$shared/seen"
    await_launch 90
    expect_status 4
    expect_equal "ranks" 16 "$(grep -c '^\[[0-9]*\] rank' "$work/out")"
    train_on_head task wait "$first"
    expect_status 0
    expect_err 'of Slurm has ended with code 0$'
}
has_reason() { on head "squeue -h -j $job -o %r" | grep -q 'Priority\|Resources'; }

cancelled_in_line() {
    run_on_head "${engine[@]}" -d -n 16 --set 'slurm.sbatch_args=[--hold]' -- true
    read_ids
    train_on_head task kill "$task"
    expect_status 0
    expect_err "job $job of Slurm is cancelled while it waits"
    expect_job_state CANCELLED
    train_on_head task list
    expect_no_out "^$task"
}

# refused CODE REGEX FLAG...
refused() {
    local code=$1 words=$2
    shift 2
    run_on_head "${engine[@]}" "$@" -- true
    expect_status "$code"
    expect_err "$words"
}
refusals() {
    refused 69 '17 slots asked, the 4 hosts have 16' -n 17
    refused 78 "did you mean 'short'" -n 1 --set resources.resource_pool=shrt
    refused 69 'max_runtime is 2 h, and partition short ends jobs after 60 s' -n 1 --max-runtime 2h --set resources.resource_pool=short
    refused 78 "partition p has no GPUs of the type 'h100'" -n 1 --set slurm.gpu_type=h100
    refused 64 'the engine slurm gets its hosts from Slurm' -n 1 -H node01
    refused 64 'Slurm chooses the slots' -n 1 --include node01:0
    refused 69 "Slurm refuses the job: .*no-such" -n 1 --set 'slurm.sbatch_args=[--no-such]'
    refused 69 'would wait for ever, so it is cancelled' -n 1 --set 'slurm.sbatch_args=[--partition=short, --time=5]'
    refused 64 '--json is not for a job' -n 1 --json
    expect_equal "jobs" '' "$(on head 'squeue -h -t PENDING,RUNNING')"
    expect_equal "notes" '' "$(on head "cd $state/jobs && ls *.sh" 2>/dev/null)"
}

without_a_node() {
    on head "scontrol update nodename=node04 state=drain reason='disk is full'"
    refused 75 'it fits once these nodes take jobs again: node04 \(drained: disk is full\)' -n 16
    on head "scontrol update nodename=node04 state=resume"
    eventually 30 nodes_answer || note_failure "node04 does not come back"
}
nodes_answer() { [ "$(on head 'sinfo -h -p p -o %T')" = idle ]; }

program_is_sent() {
    on head "install -D -m 755 $train /root/bin/train; rm -f /tmp/.train-program-*"
    run_on_head /root/bin/train launch --engine slurm -n 5 -- sh /srv/shared/rank.sh
    expect_status 0
    expect_equal "ranks" 5 "$(grep -c '^\[[0-9]*\] rank' "$work/out")"
    local node
    for node in "${nodes[@]}"; do
        expect_equal "copies on $node" '' "$(on "$node" 'ls /tmp/.train-program-* 2>/dev/null')"
    done
}

directory_is_missing() {
    on head 'mkdir -p /root/only_here'
    run_on_head env --chdir=/root/only_here "${engine[@]}" -n 1 -- true
    expect_status 72
    expect_err 'of Slurm has ended with code 72$'
    expect_err 'code 72 is that of a directory or program that it lacks'
}

# What the launcher in the job says before its task is recorded is not lost.
launcher_fails() {
    run_on_head "${engine[@]}" -n 4 --set 'slurm.sbatch_args=[--gpus-per-node, "2"]' -- true
    expect_status 69
    expect_err '^train: 4 slots asked, node01 has 2'
    expect_equal "errors of srun" 0 "$(grep -c '^srun: error' "$work/err")"
}

# shellcheck disable=SC2016
by_determined() {
    cat >"$shared/det.yaml" <<'FILE'
name: det
entrypoint: sh /srv/shared/rank.sh
engine: slurm
resources: {slots_per_trial: 8, resource_pool: p}
slurm: {gpu_type: A100, slots_per_node: 2, sbatch_args: ["--comment=two words"]}
FILE
    train_on_head plan /srv/shared/det.yaml
    expect_status 0
    expect_equal "what is asked for" \
        'partition=p nodes=4 ntasks-per-node=2 cpus-per-task=2 gpus-per-node=a100:2' \
        "$(sed -n 's/^#SBATCH --\(partition\|nodes\|ntasks\|cpus\|gpus\)/\1/p' "$work/out" | xargs)"
    launch /srv/shared/det.yaml
    expect_status 0
    expect_equal "ranks" 8 "$(grep -c '^\[[0-9]*\] rank . of 8 on node0[1-4] with 0,1 ' "$work/out")"
    read_ids
    on head "scontrol show job $job -o" | grep -q 'Comment=two words' || note_failure "no comment of the file's"
    # In a job, it is launched there.
    submit -N2 --gpus-per-node=4 --ntasks-per-node=1 -- "$train" launch /srv/shared/det.yaml || return
    end_of_job 60
    expect_job_state COMPLETED
    expect_equal "ranks" 8 "$(grep -c '^\[[0-9]*\] rank' "$work/out")"
}

# The ranks of an experiment are the same over SSH, and see the same.
# shellcheck disable=SC2016 # the ranks expand it
same_as_over_ssh() {
    cat >"$shared/same.yaml" <<'FILE'
entrypoint: sh -c 'env >/srv/shared/env.$RANK'
slots_per_trial: 8
hyperparameters: {global_batch_size: 64}
FILE
    echo 'hosts: [{name: node01, slots: 4, slot_type: cuda}, {name: node02, slots: 4, slot_type: cuda}]' >"$shared/same_hosts.yaml"
    train_on_head plan /srv/shared/same.yaml --hostfile /srv/shared/same_hosts.yaml --json
    cp "$work/out" "$work/over_ssh"
    train_on_head plan /srv/shared/same.yaml --engine slurm --json
    diff "$work/over_ssh" "$work/out" || note_failure "the plans differ"
    launch /srv/shared/same.yaml --engine slurm
    expect_status 0
    /usr/bin/python3 - "$work/over_ssh" "$shared" <<'PYTHON' || note_failure "ranks see something else"
import json, sys
for rank in json.load(open(sys.argv[1]))["trials"][0]["ranks"]:
    seen = dict(line.rstrip("\n").split("=", 1) for line in open(f"{sys.argv[2]}/env.{rank['rank']}") if "=" in line)
    for name, value in rank["env"].items():
        planned = value if isinstance(value, str) else seen.get(name)
        assert seen.get(name, "").startswith(planned or "?"), (rank["rank"], name, value, seen.get(name))
PYTHON
}

search_shares_a_job() {
    cat >"$shared/search.yaml" <<'FILE'
name: grid
entrypoint: sh -c 'train report score=$RANK'
engine: slurm
resources: {slots_per_trial: 2}
hyperparameters: {lr: {type: categorical, vals: [1, 2, 3, 4, 5]}}
searcher: {name: grid, metric: score, max_concurrent_trials: 3}
FILE
    launch /srv/shared/search.yaml
    expect_status 0
    expect_err '5 trials: 5 succeeded'
    read_ids
    # Two trials of two GPUs on each node.
    expect_equal "nodes" 2 "$(on head "scontrol show job $job -o" | sed -n 's/.* NumNodes=\([0-9]*\) .*/\1/p')"
}

# start_shared OPTION... -- COMMAND...: with the state folder shared.
start_shared() { start_on_head env XDG_STATE_HOME=/srv/shared/state "${engine[@]}" --set max_restarts=2 "$@"; }
# shellcheck disable=SC2016 # the ranks expand it
waiting_rank='echo "attempt $TORCHELASTIC_RESTART_COUNT on $(hostname)"; trap "echo polite; exit 3" TERM; until [ -e /srv/shared/go ]; do sleep 0.1; done; echo done'

requeued() {
    rm -f "$shared/go"
    start_shared -n 8 -- sh -c "$waiting_rank"
    within 60 "the ranks have begun" out_count_is 8 'attempt 0'
    read_ids
    on head "scontrol requeue $job"
    within 60 "the job is in the queue again" err_has "^train: job $job of Slurm is in the queue again$"
    within 60 "the ranks have begun again" out_count_is 8 'attempt 1'
    expect_equal "ranks that took their leave" 8 "$(grep -c polite "$work/out")"
    expect_equal "ranks of the first attempt" 8 "$(grep -c 'attempt 0' "$work/out")"
    touch "$shared/go"
    await_launch 60
    expect_status 0
    expect_equal "ranks that are done" 8 "$(grep -c 'done' "$work/out")"
    expect_err "^train: task $task: succeeded$"
    run_on_head env XDG_STATE_HOME=/srv/shared/state "$train" task show "$task"
    expect_out "attempt 0 is over, and another one follows elsewhere"
    expect_free 10
}

# A job of higher priority takes all nodes for a while.
preempted() {
    rm -f "$shared/go"
    start_shared -n 8 --set resources.resource_pool=low -- sh -c "$waiting_rank"
    within 60 "the ranks have begun" out_count_is 8 'attempt 0'
    read_ids
    on head "sbatch --parsable -N4 --exclusive --partition=high -o /dev/null --wrap 'sleep 3'" >/dev/null
    within 60 "the job is in the queue again" err_has "^train: job $job of Slurm is in the queue again$"
    within 90 "the ranks have begun again" out_count_is 8 'attempt 1'
    touch "$shared/go"
    await_launch 60
    expect_status 0
    expect_equal "ranks that took their leave" 8 "$(grep -c polite "$work/out")"
}

# Slurm's warning that the time is nearly over; without a shared state folder the task begins anew.
put_back_in_time() {
    rm -f "$shared/go"
    start_on_head "${engine[@]}" --set max_restarts=1 -n 1 -- sh -c "$waiting_rank"
    within 60 "the rank has begun" out_has 'attempt 0'
    read_ids
    on head "scancel --batch --signal=USR1 $job"
    within 60 "the job is in the queue again" err_has "^train: job $job of Slurm is in the queue again$"
    within 60 "the rank has begun again" out_count_is 2 'attempt'
    expect_equal "ranks that took their leave" 1 "$(grep -c polite "$work/out")"
    # There is no restart left.
    on head "scancel --batch --signal=USR1 $job"
    await_launch 60
    expect_status 143
    expect_free 10
}

# The node of the launcher is lost: the task goes on elsewhere.
node_is_lost() {
    rm -f "$shared/go"
    start_shared -n 8 -- sh -c "$waiting_rank"
    within 60 "the ranks have begun" out_count_is 8 'attempt 0'
    read_ids
    "$cluster" kill node01
    within 120 "the job is in the queue again" err_has "^train: job $job of Slurm is in the queue again$"
    within 60 "the ranks have begun again" out_count_is 8 'attempt 1 on node0[2-4]'
    touch "$shared/go"
    await_launch 60
    expect_status 0
    expect_equal "ranks that are done" 8 "$(grep -c 'done' "$work/out")"
}

# The launcher misses another node before Slurm does.
other_node_is_lost() {
    rm -f "$shared/go"
    start_shared -n 8 -- sh -c "$waiting_rank"
    within 60 "the ranks have begun" out_count_is 8 'attempt 0'
    read_ids
    "$cluster" crash node02
    within 120 "the job is in the queue again" err_has "^train: job $job of Slurm is in the queue again$"
    within 60 "the ranks have begun again" out_count_is 8 'attempt 1 on node0[134]'
    touch "$shared/go"
    await_launch 60
    expect_status 0
}

# A job that is put back before its ranks have begun launches them.
put_back_at_once() {
    rm -f "$shared/go"
    run_on_head env XDG_STATE_HOME=/srv/shared/state "${engine[@]}" -d --set max_restarts=1 -n 8 -- sh -c "echo begun >>/srv/shared/begun; $waiting_rank"
    read_ids
    : >"$shared/begun"
    eventually 60 is_running || note_failure "job $job does not start"
    on head "scontrol requeue $job"
    eventually 30 is_pending || note_failure "job $job is not in the queue again"
    on head "scontrol update JobId=$job StartTime=now"
    eventually 60 is_running || note_failure "job $job does not start again"
    touch "$shared/go"
    run_on_head env XDG_STATE_HOME=/srv/shared/state "$train" task wait "$task"
    expect_status 0
}

# Trials that have ended are not run again, and the others go on.
search_goes_on() {
    rm -f "$shared/go"
    cat >"$shared/search.yaml" <<'FILE'
name: grid
entrypoint: sh -c 'echo "trial $TRAIN_TRIAL_ID attempt $TRAIN_RESTART_COUNT" >>/srv/shared/begun; [ $TRAIN_TRIAL_ID -lt 2 ] || until [ -e /srv/shared/go ]; do sleep 0.1; done; train report score=$TRAIN_TRIAL_ID'
engine: slurm
max_restarts: 1
resources: {slots_per_trial: 1}
hyperparameters: {lr: {type: categorical, vals: [1, 2, 3, 4, 5, 6]}}
searcher: {name: grid, metric: score, max_concurrent_trials: 2}
FILE
    : >"$shared/begun"
    start_on_head env XDG_STATE_HOME=/srv/shared/state "$train" launch /srv/shared/search.yaml
    within 60 "the trials have begun" begun_are 4
    read_ids
    on head "scontrol requeue $job"
    within 60 "the trials have begun again" begun_are 6
    touch "$shared/go"
    await_launch 60
    expect_status 0
    expect_err '6 trials: 6 succeeded'
    expect_equal "attempts of the trials" \
        '0:0 1:0 2:0 2:1 3:0 3:1 4:0 5:0' "$(sed 's/trial \(.*\) attempt \(.*\)/\1:\2/' "$shared/begun" | sort | xargs)"
}
begun_are() { [ "$(wc -l <"$shared/begun")" -ge "$1" ]; }

# A task whose job waits in the queue again is stopped there.
cancelled_in_between() {
    rm -f "$shared/go"
    run_on_head env XDG_STATE_HOME=/srv/shared/state "${engine[@]}" -d --set max_restarts=1 -n 1 -- sh -c "$waiting_rank"
    read_ids
    eventually 60 is_running || note_failure "job $job does not start"
    eventually 30 shared_task_is running || note_failure "the task does not run"
    on head "scontrol requeue $job"
    eventually 30 is_pending || note_failure "job $job is not in the queue again"
    run_on_head env XDG_STATE_HOME=/srv/shared/state "$train" task list
    expect_out "^$task +sh +waiting "
    run_on_head env XDG_STATE_HOME=/srv/shared/state "$train" task kill "$task"
    expect_status 0
    expect_err "job $job of Slurm is cancelled while it waits"
    expect_job_state CANCELLED
    run_on_head env XDG_STATE_HOME=/srv/shared/state "$train" task list --all
    expect_out "^$task +sh +killed "
}
is_pending() { [ "$(job_state)" = PENDING ]; }
shared_task_is() { on head "XDG_STATE_HOME=/srv/shared/state $train task list 2>/dev/null" | grep -q "^$task *sh *$1 "; }

# Another user has a home of its own, on the file system that all nodes share.
# shellcheck disable=SC2016 # the shells of that user expand it
two_users() {
    local as='cd /srv/shared/games && exec setpriv --reuid=games --regid=games --clear-groups env HOME=/srv/shared/games USER=games LOGNAME=games'
    install -d -m 700 -o games -g games "$shared/games"
    rm -f "$shared/go"
    start_on_head bash -c "$as ${engine[*]} -n 2 -- sh -c 'id -un; until [ -e /srv/shared/go ]; do sleep 0.1; done'"
    within 60 "the ranks have begun" out_count_is 2 '^\[[01]\] games$'
    read_ids
    run_on_head "${engine[@]}" -n 8 -- sh /srv/shared/rank.sh
    expect_status 0
    train_on_head task list
    expect_no_out "^$task"
    train_on_head task kill "$task"
    expect_status 66
    run_on_head bash -c "$as $train task list"
    expect_out "^$task +sh +running .* games "
    touch "$shared/go"
    await_launch 60
    expect_status 0
}

# Where Slurm keeps jobs in groups of the kernel, it kills what uses more memory than it asked for.
out_of_memory() {
    on node01 '[ -d /run/groups/memory ]' || return 0
    cat >"$shared/oom.yaml" <<'FILE'
entrypoint: /usr/bin/python3 -c 'bytearray(500_000_000)'
engine: slurm
scaling_config: {num_workers: 1, use_gpu: true, trainer_resources: {CPU: 0}, resources_per_worker: {GPU: 1, memory: 100000000}}
FILE
    launch /srv/shared/oom.yaml
    expect_status 137
    expect_err 'memory'
}

shared_state() {
    run_on_head env XDG_STATE_HOME=/srv/shared/state "${engine[@]}" -n 1 -- sh /srv/shared/rank.sh
    expect_status 0
    read_ids
    run_on_head env XDG_STATE_HOME=/srv/shared/state "$train" task list --all
    expect_out "^$task +sh +succeeded "
    run_on_head env XDG_STATE_HOME=/srv/shared/state "$train" task logs "$task"
    expect_out '^\[0\] rank 0 of 1'
    expect_equal "notes" '' "$(ls "$shared/state/train/jobs")"
}

options=(--node '* Gres=gpu:a100:4' --partition 'short MaxTime=1' --conf SlurmdTimeout=15
    --conf PreemptType=preempt/partition_prio --conf PreemptMode=REQUEUE
    --partition 'low PriorityTier=1 PreemptMode=REQUEUE' --partition 'high PriorityTier=10 PreemptMode=OFF')
[ "${2:-}" != --plain ] || options+=(--plain)
use_slurm "${options[@]}"
test_case "a task that is submitted as a job is shown like any launch" shown
test_case "a rank that fails gives its code" fails
test_case "of some ranks the output is shown, with its times" some_ranks
test_case "filters choose among the nodes of the partition" other_nodes
test_case "Ctrl-C cancels the job, and its ranks take their leave" ctrl_c
test_case "a task in a job is seen, entered and stopped from outside" from_outside
test_case "a warning of Slurm stops the ranks in time" warned
test_case "a job that waits is listed with its reason, and can be attached to" waits_in_line
test_case "a job that waits is cancelled" cancelled_in_line
test_case "what cannot be is refused in words" refusals
test_case "a node that takes no jobs is named where it is needed" without_a_node
test_case "the program is sent where nodes lack it, and removed again" program_is_sent
test_case "a directory that the nodes lack is told" directory_is_missing
test_case "a launcher that refuses in the job says why" launcher_fails
test_case "Determined's keys for Slurm are asked for" by_determined
test_case "ranks are the same as over SSH" same_as_over_ssh
test_case "the trials of a search share one job" search_shares_a_job
test_case "a job that goes back into the queue goes on with its task" requeued
test_case "a job that is preempted goes on with its task" preempted
test_case "a job is put back into the queue before its time is over" put_back_in_time
test_case "a task goes on where the node of its launcher was lost" node_is_lost
test_case "so it does where another node was lost" other_node_is_lost
test_case "a job that is put back at once launches its task" put_back_at_once
test_case "a search goes on with the trials that had not ended" search_goes_on
test_case "a task whose job waits again is stopped" cancelled_in_between
test_case "the tasks of two users do not meet" two_users
test_case "a rank that uses more memory than it asked for is named" out_of_memory
test_case "records are at home where the state folder is shared" shared_state
finish
