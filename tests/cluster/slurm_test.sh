#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Launches inside of Slurm's jobs, on nodes that run no sshd: the agent of a host is a step of the job.
#   slurm_test.sh path/to/train
. "$(dirname "$0")/slurm_lib.sh"

ranks_meet() {
    submit -N3 --ntasks-per-node=1 -- "$train" launch --set framework=tensorflow -- /usr/bin/python3 /srv/shared/tensorflow_worker.py || return
    end_of_job 60
    expect_job_state COMPLETED
    expect_equal "workers that met all" 3 "$(grep -c 'of 3 has met all' "$work/out")"
    expect_err "hosts of Slurm job $job .*node\[01-03\]"
    expect_free 5
}

# shellcheck disable=SC2016 # the ranks expand it
ranks_see() {
    submit -N3 --ntasks-per-node=2 -- "$train" launch -- /bin/sh -c \
        'echo "rank $RANK of $WORLD_SIZE on $(hostname): $MASTER_ADDR $module $PWD $(ulimit -Sn) $(env | grep -Ec "^(SLURM|SRUN)_")"' || return
    end_of_job 60
    expect_job_state COMPLETED
    # What the script of the job has set is on each host, and nothing of Slurm's.
    local rank
    for rank in 0 1 2 3 4 5; do
        expect_out "^\[$rank\] rank $rank of 6 on node0$((rank / 2 + 1)): 10\.77\.1\.1 loaded /tmp [0-9]+ 0$"
    done
}

# shellcheck disable=SC2016
own_gpus() {
    local first
    submit -N2 --gres=gpu:2 -- sleep 600 || return
    first=$job
    submit -N2 --gres=gpu:2 --ntasks-per-node=1 -- "$train" launch -- /bin/sh -c 'echo "GPU $CUDA_VISIBLE_DEVICES $ROCR_VISIBLE_DEVICES$GPU_DEVICE_ORDINAL$ZE_AFFINITY_MASK"' || return
    end_of_job 60
    expect_job_state COMPLETED
    expect_equal "ranks" 4 "$(wc -l <"$work/out")"
    for rank in 0 1 2 3; do expect_out "^\[$rank\] GPU 2,3 $"; done
    on head "scancel $first"
}

# Of three GPUs on two nodes, no variable says how they are dealt out; on a submitting host none says that
# there are any.
# shellcheck disable=SC2016
gpus_of_each_node() {
    submit -N2 --gpus=3 --ntasks-per-node=1 -- "$train" launch -- /bin/sh -c 'echo "$(hostname) $CUDA_VISIBLE_DEVICES"'
    end_of_job 60
    expect_job_state COMPLETED
    expect_equal "ranks of each node" "1 2" "$(sed 's/.*\(node0[0-9]\).*/\1/' "$work/out" | sort | uniq -c | awk '{ print $1 }' | sort | xargs)"
    run_on_head salloc -N2 --gres=gpu:2 "$train" launch -- /bin/sh -c 'echo "GPUs $CUDA_VISIBLE_DEVICES"'
    expect_status 0
    expect_equal "ranks" 4 "$(grep -c 'GPUs 0,1$' "$work/out")"
}

# Two jobs on the same nodes have CPUs of their own there.
jobs_do_not_meet() {
    local first
    submit -N2 --ntasks-per-node=2 -- "$train" launch -- /bin/sh -c "echo begun; $forever" || return
    first=$job
    eventually 30 job_out_has begun || note_failure "the first job does not begin"
    cp "$shared/out" "$work/first"
    submit -N2 --ntasks-per-node=2 -- "$train" launch -- true || return
    end_of_job 60
    expect_job_state COMPLETED
    on head "scancel $first"
    job=$first
    eventually 30 job_has_ended || note_failure "job $first does not end"
}

# shellcheck disable=SC2016
cancelled() {
    submit -N3 --ntasks-per-node=1 -- "$train" launch -- /bin/bash -c \
        'trap "echo told; exit 3" TERM; echo begun; while :; do sleep 0.1; done' || return
    eventually 30 has_begun 3 || note_failure "the ranks do not begin"
    on head "scancel $job"
    end_of_job 60
    expect_job_state CANCELLED
    expect_equal "ranks that were told" 3 "$(grep -c 'told$' "$work/out")"
    expect_err "^train: Slurm ends job $job: it was cancelled$"
    # Without cgroups Slurm signals the ranks as well, and their own end may come first.
    [ "$tracking" = plain ] || expect_err '^train: failed: interrupted: stopped by SIGTERM \(exit 143\)$'
    expect_free 10
}
has_begun() { [ "$(grep -cs 'begun$' "$shared/out")" = "$1" ]; }

# shellcheck disable=SC2016
out_of_time() {
    submit -N2 --ntasks-per-node=1 --time=1 -- "$train" launch -- /bin/bash -c \
        'trap "echo told; exit 3" TERM; echo begun; while :; do sleep 0.1; done' || return
    end_of_job 300
    expect_job_state TIMEOUT
    expect_equal "ranks that were told" 2 "$(grep -c 'told$' "$work/out")"
    expect_err "^train: Slurm ends job $job: its limit of time is over$"
}

requeued() {
    submit -N2 --ntasks-per-node=1 --requeue --open-mode=append -- "$train" launch -- /bin/sh -c "echo begun; $forever" || return
    eventually 30 has_begun 2 || note_failure "the ranks do not begin"
    on head "scontrol requeue $job"
    eventually 30 err_of_job_has "^train: Slurm ends job $job: it goes back into the queue$" ||
        note_failure "what the job says: $(cat "$shared/err")"
    on head "scancel $job"
    end_of_job 60
    expect_free 10
}
err_of_job_has() { grep -Eqs -- "$1" "$shared/err"; }

preempted() {
    local first
    submit -N2 --ntasks-per-node=1 --partition=low -- "$train" launch -- /bin/sh -c "echo begun; $forever" || return
    first=$job
    eventually 30 has_begun 2 || note_failure "the ranks do not begin"
    cp "$shared/err" "$work/first"
    on head "sbatch --parsable -N4 --exclusive --partition=high -o /dev/null --wrap true" >/dev/null
    eventually 60 err_of_job_has "^train: Slurm ends job $first: a job of higher priority takes its place$" ||
        note_failure "what the job says: $(cat "$shared/err")"
    expect_free 60
}

# The launcher is on no host of the job.
# shellcheck disable=SC2016
from_outside() {
    run_on_head salloc -N2 -w 'node[01-02]' --ntasks-per-node=1 "$train" launch -- /bin/sh -c 'echo "$(hostname) $MASTER_ADDR"'
    expect_status 0
    expect_out '^\[0\] node01 10\.77\.1\.1$'
    expect_out '^\[1\] node02 10\.77\.1\.1$'
    expect_free 5
}

# A step that Slurm ends tells the launcher, whose own process it does not signal.
step_is_told() {
    start_on_head salloc -N2 -w 'node[01-02]' --ntasks-per-node=1 "$train" launch -- /bin/bash -c \
        'trap "echo told; exit 3" TERM; echo begun; while :; do sleep 0.1; done'
    within 30 "both ranks begin" out_count_is 2 'begun$'
    # shellcheck disable=SC2016
    on node02 'kill -TERM "$(pgrep -f "agent attach" | head -n 1)"'
    await_launch 60
    expect_status 76
    expect_equal "ranks that were told" 2 "$(grep -c 'told$' "$work/out")"
    expect_err "node02.*a signal has told it to end"
    expect_free 10
}

launcher_killed() {
    start_on_head salloc -N2 -w 'node[01-02]' --ntasks-per-node=1 "$train" launch --set reconnect_window=10s -- /bin/sh -c "$forever"
    within 30 "both ranks run" are_running 2
    on head 'pkill -KILL -x train'
    wait "$launch_job" 2>/dev/null
    expect_free 60
}
are_running() { [ "$(all_processes '^sleep 4711' | wc -l)" -eq "$1" ]; }

# The agent lives on; the old step or a new one finds it.
connection_lost() {
    start_on_head salloc -N2 -w 'node[01-02]' --ntasks-per-node=1 "$train" launch --set reconnect_window=10m -- /bin/sh -c \
        'echo "begun $$"; until [ -e /srv/shared/go ]; do sleep 0.1; done; echo "done $$"'
    rm -f "$shared/go"
    within 30 "both ranks begin" out_count_is 2 'begun [0-9]+$'
    "$cluster" cut node02
    within 120 "node02 is missed" err_has "^train: host 'node02' is out of reach"
    "$cluster" heal node02
    : >"$shared/go"
    await_launch 120
    expect_status 0
    expect_equal "ranks" "$(sed -n 's/ begun / /p' "$work/out" | sort)" "$(sed -n 's/ done / /p' "$work/out" | sort)"
    expect_free 60
}

# Slurm kills all that is in the step.
step_lost() {
    start_on_head salloc -N2 -w 'node[01-02]' --ntasks-per-node=1 "$train" launch -- /bin/sh -c "$forever"
    within 30 "both ranks run" are_running 2
    on head 'pkill -KILL -o -f "^srun .*nodelist=node02"'
    await_launch 60
    expect_status 76
    expect_err "node02.*its agent"
    expect_free 60
}

failing_rank() {
    # shellcheck disable=SC2016
    submit -N3 --ntasks-per-node=1 -- "$train" launch -- /bin/sh -c '[ $RANK -ne 2 ] || exit 7; '"$forever" || return
    end_of_job 60
    expect_job_state FAILED
    expect_err 'rank 2 .*node03.*exit(ed)? .*7'
    expect_free 10
}

# shellcheck disable=SC2016
components() {
    submit -N1 --ntasks-per-node=1 : --nodes=2 --ntasks-per-node=2 -- "$train" launch -- /bin/sh -c 'echo "$(hostname)"' || return
    end_of_job 60
    expect_job_state COMPLETED
    expect_equal "ranks of each host" "1 2 2" "$(sed 's/.* //' "$work/out" | sort | uniq -c | awk '{ print $1 }' | sort | xargs)"
}

digits() {
    mkdir -p "$shared/project"
    cp -r "$(dirname "$0")/../../examples" "$shared/project/"
    rm -f "$shared"/{out,err}
    job=$(on head "cd /srv/shared/project && PATH=/srv/shared/bin:\$PATH sbatch --parsable -o /srv/shared/out -e /srv/shared/err examples/slurm/job.sh") ||
        { note_failure "sbatch: $job"; return; }
    end_of_job 120
    expect_job_state COMPLETED
    expect_equal "ranks that print their accuracy" 4 "$(grep -c 'test accuracy 0\.9[5-9]' "$work/out")"
    expect_equal "different accuracies" 1 "$(sed -n 's/.*test accuracy //p' "$work/out" | sort -u | wc -l)"
}

over_ssh_on_purpose() {
    submit -N2 --ntasks-per-node=1 -- "$train" launch --transport ssh -- true || return
    end_of_job 60
    expect_job_state FAILED
    expect_err 'node02.*22'
}

# shellcheck disable=SC2016
without_srun() {
    submit -N2 --ntasks-per-node=1 -- env PATH=/nowhere "$train" launch -- /bin/true || return
    end_of_job 60
    expect_err 'over SSH, since there is no srun in \$PATH'
}

tracking=cgroup
options=(--node '* Gres=gpu:a100:4' --conf PreemptType=preempt/partition_prio
    --conf PreemptMode=CANCEL --partition 'low PriorityTier=1 PreemptMode=CANCEL'
    --partition 'high PriorityTier=10 PreemptMode=OFF')
if [ "${2:-}" = --slow ]; then tracking=plain options+=(--plain); else start_slow_cases "$1"; trap 'end_slow_cases; "$slurm" down; leave_cluster' EXIT; fi
use_slurm "${options[@]}"
test_case "ranks meet over steps of a job, without sshd" ranks_meet
test_case "ranks see what the job's script has set, and nothing of Slurm's" ranks_see
test_case "ranks get the GPUs of their job" own_gpus
test_case "Slurm is asked how many GPUs each node has" gpus_of_each_node
test_case "jobs on the same nodes do not hold each other's slots" jobs_do_not_meet
test_case "a job that is cancelled stops its ranks politely" cancelled
test_case "a job that goes back into the queue says so" requeued
test_case "a job that is preempted says so" preempted
[ "${2:-}" != --slow ] || test_case "a job whose time is over stops its ranks politely, and says so" out_of_time
test_case "a launcher on no host of the job uses its steps" from_outside
test_case "a step that is to end tells the launcher" step_is_told
test_case "a launcher that is killed leaves nothing" launcher_killed
test_case "a host that is away for a while keeps its ranks" connection_lost
test_case "a step that is lost is told, and leaves nothing" step_lost
test_case "a rank that fails ends the job" failing_rank
[ "${2:-}" = --slow ] || test_case "components of a heterogeneous job are one launch" components
test_case "four nodes train one model, by the example" digits
test_case "--transport ssh goes over SSH inside of a job" over_ssh_on_purpose
test_case "without srun, a job's hosts are reached over SSH" without_srun
if [ "${2:-}" != --slow ]; then count_slow_cases; fi
finish
