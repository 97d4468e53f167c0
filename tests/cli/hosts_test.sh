#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Where the hosts come from, and which of them are left.   hosts_test.sh path/to/train
# shellcheck disable=SC2016 # messages name variables
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

# plan ARGUMENT...: of /bin/true; its hosts with their slots go to $work/hosts, as "n1 0,1;n2 0".
plan() {
    output=$work/plan.json run plan --json "$@" -- true
    [ "$status" = 0 ] || return
    field '";".join(h["host"] + " " + ",".join(map(str, h["slots"])) for h in d["trials"][0]["hosts"])' \
        "$work/plan.json" >"$work/hosts"
}

expect_hosts() {
    expect_status 0
    expect_equal "hosts" "$1" "$(cat "$work/hosts" 2>/dev/null)"
}

# refused STATUS REGEX... -- ARGUMENT...
refused() {
    local code=$1 wanted=() regex
    shift
    while [ "$1" != -- ]; do wanted+=("$1"); shift; done
    shift
    run plan "$@" -- true
    expect_status "$code"
    for regex in "${wanted[@]}"; do expect_err "$regex"; done
}

precedence() {
    echo 'f1 slots=2' >file
    echo 't1 slots=2' >other
    environment=(SLURM_JOB_ID=77 'SLURM_JOB_NODELIST=s1' SLURM_TASKS_PER_NODE=2)
    plan -n 2
    expect_hosts 's1 0,1'
    expect_err '^train: hosts of Slurm job 77 \(\$SLURM_JOB_NODELIST\): s1$'
    expect_equal "lines about hosts" 1 "$(grep -c 'hosts of' "$work/err")"
    environment+=(TRAIN_HOSTFILE=other)
    plan -n 2
    expect_hosts 't1 0,1'
    expect_no_err Slurm
    plan -n 2 --hostfile file
    expect_hosts 'f1 0,1'
    plan -n 2 -H h1:2
    expect_hosts 'h1 0,1'
    expect_no_err 'hosts of'
    refused 64 '-H and --hostfile were both given' -- -H h1 --hostfile file
    environment+=(TRAIN_HOSTFILE=)
    plan -n 2
    expect_hosts 's1 0,1'
    environment=()
    plan -n 1
    expect_hosts 'localhost 0'
    expect_equal "talk" "" "$(cat "$work/err")"
}

schedulers() {
    environment=('SLURM_JOB_NODELIST=node[01-03],gpu-b' 'SLURM_TASKS_PER_NODE=2(x3),1')
    plan -n 6
    expect_hosts 'node01 0,1;node02 0,1;node03 0,1'
    printf 'n1\nn1\nn2\nn2\n' >nodes
    environment=(PBS_JOBID=4 "PBS_NODEFILE=$work/here/nodes")
    plan -n 4
    expect_hosts 'n1 0,1;n2 0,1'
    expect_err '^train: hosts of PBS job 4 \(\$PBS_NODEFILE\): n\[1-2\]$'
    environment=(LSB_JOBID=5 "LSB_DJOB_HOSTFILE=$work/here/nodes")
    plan -n 4
    expect_hosts 'n1 0,1;n2 0,1'
    environment=('LSB_MCPU_HOSTS=n1 3 n2 3')
    plan -n 6
    expect_hosts 'n1 0,1,2;n2 0,1,2'
    printf 'n1 2 all.q@n1 UNDEFINED\nn2 2 all.q@n2 UNDEFINED\n' >pe
    environment=(JOB_ID=6 "PE_HOSTFILE=$work/here/pe")
    plan -n 4
    expect_hosts 'n1 0,1;n2 0,1'
    expect_err '^train: hosts of Grid Engine job 6 \(\$PE_HOSTFILE\): n\[1-2\]$'
}

scheduler_faults() {
    environment=("PBS_NODEFILE=$work/here/gone")
    refused 66 "^train: \\\$PBS_NODEFILE: cannot read the hosts file '.*/gone': no such file" -- -n 1
    : >empty
    environment=(PE_HOSTFILE=empty)
    refused 78 '^train: empty: \$PE_HOSTFILE: no hosts in it$' '-H or --hostfile' -- -n 1
    environment=('SLURM_JOB_NODELIST=n[1-2' )
    refused 78 "^train: \\\$SLURM_JOB_NODELIST: '\[' is not closed" '^  \| n\[1-2$' -- -n 1
    plan -n 1 -H h1:1
    expect_hosts 'h1 0'
    environment=(SLURM_JOB_NODELIST=n1 SLURM_STEP_ID=0 SLURM_PROCID=2)
    refused 64 'task 2 of a job step' 'srun -N 1 -n 1' -- -n 1
}

own_host_is_local() {
    environment=("SLURM_JOB_NODELIST=$(hostname)" SLURM_TASKS_PER_NODE=2 SLURM_JOB_CPUS_PER_NODE=2)
    run launch -n 2 -- /bin/sh -c 'echo "$RANK of $WORLD_SIZE in [$SLURM_JOB_NODELIST]"'
    expect_status 0
    expect_out '^\[0\] 0 of 2 in \[\]$'
    expect_err '^train: hosts of Slurm job '
}

rank_is_no_job() {
    environment=(LSB_HOSTS="$(hostname)")
    run launch -n 1 -- "$train" plan -n 1 -- true
    expect_status 0
    expect_out '^\[0\] localhost '
}

filters() {
    printf 'w0 slots=4\nw1 slots=4\n' >hosts
    plan --hostfile hosts -n 2 --include w1:0,3
    expect_hosts 'w1 0,3'
    plan --hostfile hosts -n 7 --exclude w0:1 --set resources.allow_heterogeneous=true
    expect_hosts 'w0 0,2,3;w1 0,1,2,3'
    plan --hostfile hosts -n 4 --exclude w1
    expect_hosts 'w0 0,1,2,3'
    plan --hostfile hosts -n 4 --include 'w1:3,0@w0:1-2'
    expect_hosts 'w0 1,2;w1 0,3'
    run plan --hostfile hosts -n 2 --include w1:0,3 -- true
    expect_out '^w1 +0-1 +[|]0[|]-[|]-[|]1[|]$'
    expect_out '^1 +w1 +1 +3 '
    refused 69 'w1 has 2' -- --hostfile hosts -n 3 --include w1:0,3
    refused 78 "^train: --include: there is no host 'w2'" "did you mean 'w0'" -- --hostfile hosts -n 1 --include w2
    refused 78 "^train: --exclude: 'w0' has no slot 4" 'slots are 0 to 3' -- --hostfile hosts -n 1 --exclude w0:4
    refused 64 '--include and --exclude were both given' 'use one of them' -- --hostfile hosts --include w0 --exclude w1
    refused 64 '^train: --include: an empty value names no hosts' -- -n 1 --include ''
    environment=('SLURM_JOB_NODELIST=s[1-4]' 'SLURM_TASKS_PER_NODE=2(x4)')
    plan -n 4 --exclude 's[2-3]'
    expect_hosts 's1 0,1;s4 0,1'
}

filtered_devices() {
    echo 'w[0-1] slots=4 slot_type=cuda' >gpu-hosts
    plan --hostfile gpu-hosts -n 4 --include w0:1,3@w1:0,2 --set 'scaling_config.use_gpu=true' --set scaling_config.num_workers=4
    expect_hosts 'w0 1,3;w1 0,2'
    expect_equal "devices" '[[1], [3], [0], [2]]' "$(field '[r["devices"] for r in d["trials"][0]["ranks"]]' "$work/plan.json")"
    expect_equal "visible" "1,3 1,3 0,2 0,2" \
        "$(field '" ".join(r["env"]["CUDA_VISIBLE_DEVICES"] for r in d["trials"][0]["ranks"])' "$work/plan.json")"
    expect_equal "indices" "0 1 0 1" \
        "$(field '" ".join(r["env"]["TRAIN_DEVICE_INDICES"] for r in d["trials"][0]["ranks"])' "$work/plan.json")"
    expect_schema plan "$work/plan.json"
    run launch -H localhost:4 -n 2 --exclude localhost:0,2 -- true
    expect_status 0
    with_environment "$train" task show "$(task_id)" >"$work/out"
    expect_out '^ +0 +localhost +1 '
    expect_out '^ +1 +localhost +3 '
}

files_and_names() {
    echo 'f1 slots=2' >hosts.txt
    run plan -H 'n[0-8/2]' -n 5 -- true
    expect_status 0
    refused 64 "^train: -H takes names of hosts, not the path '\./hosts\.txt'$" \
        '^  a file of hosts is given as --hostfile \./hosts\.txt$' -- -n 1 --hosts ./hosts.txt
    plan -n 1 -H hosts.txt
    expect_hosts 'hosts.txt 0'
    expect_err "^train: warning: -H takes 'hosts\.txt' for a host, and there is a file of that name$"
    refused 66 "^train: cannot read the hosts file 'w0,w1': no such file" \
        '^  a file is read; hosts themselves are given as -H w0,w1$' -- -n 1 --hostfile w0,w1
    refused 66 "did you mean 'hosts\.txt'" -- -n 1 --hostfile host.txt
}

test_case "flags, TRAIN_HOSTFILE, a scheduler and this machine, in this order" precedence
test_case "names that are files, and files that are names, are told apart" files_and_names
test_case "hosts and slots are those of the job: Slurm, PBS, LSF, Grid Engine" schedulers
test_case "a scheduler's variable that cannot be used is refused, not ignored" scheduler_faults
test_case "the job's host on which train runs needs no SSH" own_host_is_local
test_case "a rank that calls train does not take the job's hosts" rank_is_no_job
test_case "--include and --exclude choose hosts and slots" filters
test_case "the slots that a filter leaves are the devices that the ranks see" filtered_devices
finish
