#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What NVIDIA's driver says of the GPUs of hosts, in `train check` and before a launch, with the stand-in
# for its library.   devices_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the hosts are in single quotes
. "$(dirname "$0")/lib.sh"

gpus='NVIDIA A100-SXM4-80GB:2'
use_cluster 3 --gpus "$gpus"
use_train "${1:-}"
fake=$(dirname "$1")/../tests/fake_nvml/libnvidia-ml.so.1
hosts='node01:2,node02:2,node03:2'

# pretend HOST VARIABLE VALUE: the driver there says it from now on; nothing: as usual.
pretend() { on "$1" "if [ -n '${3:-}' ]; then echo '${3:-}' >/etc/fake_nvml/$2; else rm -f /etc/fake_nvml/$2; fi"; }

field() { /usr/bin/python3 -c 'import json, sys; d = json.load(open(sys.argv[2])); print(eval(sys.argv[1]))' "$1" "$work/out"; }
check() { run_on_head "$train" check -H "$hosts" "$@"; }

# expect_said CODE LINE HINT: of node02 alone.
expect_said() {
    expect_status "$1"
    expect_out "^node02: $2"
    expect_out "^  $3"
    expect_equal "what is said" 1 "$(grep -c '^node[^ ]*: ' "$work/out")"
}

healthy() {
    check
    expect_status 0
    expect_equal "what is said" 0 "$(grep -c '^node[^ ]*: ' "$work/out")"
    check --json
    expect_status 0
    expect_schema check "$work/out"
    expect_equal "GPUs that the driver describes" "[2, 2, 2]" "$(field "[len(h['facts']['devices']) for h in d['hosts']]")"
    expect_equal "bytes of one" 42949672960 "$(field "d['hosts'][0]['facts']['devices'][1]['memory']")"
}

lost() {
    pretend node02 FAKE_NVML_FAIL nvmlDeviceGetHandleByIndex_v2@1=15
    check
    expect_said 1 'unfit: GPU 1 does not answer: GPU is lost$' "reset it: 'nvidia-smi --gpu-reset -i "
    check --json
    expect_schema check "$work/out"
    # It is left out where that is wanted.
    run_on_head "$train" launch --exclude-unfit -H "$hosts" -n 4 -- /bin/true
    expect_status 0
    expect_err '^train: launching without node02$'
    pretend node02 FAKE_NVML_FAIL
}

mismatch() {
    pretend node02 FAKE_NVML_FAIL nvmlInit_v2=18
    check
    expect_said 1 "unfit: NVIDIA's library does not answer: Driver/library version mismatch$" 'reboot it, or load the driver anew'
    pretend node02 FAKE_NVML_FAIL
}

wants_a_reset() {
    pretend node02 FAKE_NVML_FACTS recovery=2
    check
    expect_status 1
    expect_out '^node02: unfit: the driver wants a reboot for GPU 0$'
    pretend node02 FAKE_NVML_FACTS pending=1
    check
    expect_status 0
    expect_out '^node02: note: GPU 1 replaces a bad row of memory at its next reset$'
    pretend node02 FAKE_NVML_FACTS
}

hot() {
    pretend node02 FAKE_NVML_FACTS reasons=64
    check
    expect_status 0
    expect_out '^node02: note: GPU 0 is slowed down by heat$'
    pretend node02 FAKE_NVML_FACTS
}

links() {
    pretend node01 FAKE_NVML_FACTS links=12,up=12
    pretend node02 FAKE_NVML_FACTS links=12,up=11
    pretend node03 FAKE_NVML_FACTS links=12,up=12
    check
    expect_status 1
    expect_out '^node02: unfit: GPU 1 has 11 NVLinks up, and most of its kind have 12$'
    pretend node01 FAKE_NVML_FACTS
    pretend node02 FAKE_NVML_FACTS
    pretend node03 FAKE_NVML_FACTS
}

peers() {
    pretend node02 FAKE_NVML_FACTS p2p=4
    check
    expect_said 1 "unfit: GPU 0 reads the memory of 0 others by itself, and most of its kind of 1: the driver's settings forbid it$" \
        'look for NVreg_RegistryDwords in /etc/modprobe.d there'
    pretend node01 FAKE_NVML_FACTS p2p=3
    pretend node02 FAKE_NVML_FACTS p2p=3
    pretend node03 FAKE_NVML_FACTS p2p=3
    check
    expect_status 0
    expect_out "^node\[01-03\]: note: peer access is off between its GPUs, so that NCCL copies through the host's memory: they are at different PCIe roots$"
    pretend node01 FAKE_NVML_FACTS
    pretend node02 FAKE_NVML_FACTS
    pretend node03 FAKE_NVML_FACTS
}

crashes() {
    pretend node02 FAKE_NVML_CRASH nvmlDeviceGetMigMode
    check
    expect_status 2
    expect_out "^node02: unknown: train-devices could not ask NVIDIA's driver: it was ended by signal 11"
    pretend node02 FAKE_NVML_CRASH
}

# A driver that never answers takes nothing along, and is ended. Its limit is the product's own.
hangs() {
    pretend node02 FAKE_NVML_HANG nvmlDeviceGetMemoryInfo
    check
    expect_said 2 "unknown: train-devices could not ask NVIDIA's driver: it has not ended within 15 s$" "'nvidia-smi' and 'dmesg' there show"
    expect_equal "programs that are left" "" "$(on node02 'pgrep -x train-devices')"
    pretend node02 FAKE_NVML_HANG
}

# A process on node02; `pid` is its number there.
start_busy() {
    pid=$(on node02 'exec setsid sleep 987 >/dev/null 2>&1 & echo $!')
    eventually 5 on node02 "grep -q 987 /proc/$pid/cmdline"
}

# A process outside of train that root does not see by its files, since it has none open here.
busy() {
    start_busy
    pretend node02 FAKE_NVML_FACTS "processes=1,pid=$pid"
    check
    expect_status 0
    expect_out "^node02: note: 2 of its 2 slots are used by processes outside of train: .*sleep 987"
    pretend node02 FAKE_NVML_FACTS
    on node02 "kill $pid"
}

for_alice() { run_on_head env --chdir=/tmp "$train" launch -H 'alice@node02:2' -n 1 "$@" -- /bin/true; }

# Another user's process: /proc does not let him look into it, so the driver is asked before slots are
# taken, for as long as the kernel says that somebody computes.
busy_for_another_user() {
    on node02 'useradd -M -d /srv/alice -p "*" alice && install -d -o alice -m 700 /srv/alice /srv/alice/.ssh &&
        install -o alice -m 600 /root/.ssh/authorized_keys /srv/alice/.ssh/'
    start_busy
    pretend node02 FAKE_NVML_FACTS "processes=1,pid=$pid"
    for_alice
    expect_status 75
    expect_err "sleep 987"
    for_alice --allow-busy
    expect_status 0
    pretend node02 FAKE_NVML_FACTS
    on node02 "kill $pid"
    for_alice
    expect_status 0
}

# A rank's memory that is not free yet when the next attempt is to start on its GPU.
launch_twice() { launch_start -H node02:1 -n 1 --set max_restarts=1 --set restart_delay=0s "$@" -- \
    /bin/sh -c 'echo "attempt $TRAIN_RESTART_COUNT"; test "$TRAIN_RESTART_COUNT" -gt 0 || {
        echo used=10 >/etc/fake_nvml/FAKE_NVML_FACTS; exit 1; }'; }

waits_for_memory() {
    launch_twice
    eventually 60 err_has "^train: host 'node02': the memory of its GPUs has not been free for [0-9]+ s: 9.0 of 40.0 GiB of GPU 0 are in use$"
    expect_no_out 'attempt 1'
    pretend node02 FAKE_NVML_FACTS
    await_launch 120
    expect_status 0
    expect_out '^\[0\] attempt 1$'
}

waits_no_longer_than_it_may() {
    launch_twice --set wait_for_gpu='{retry: 2, delay_s: 0.5}'
    await_launch 120
    expect_status 76
    expect_err "host 'node02': the memory of its GPUs is not free after [0-9]+ s: 9.0 of 40.0 GiB of GPU 0 are in use$"
    expect_no_out 'attempt 1'
    # Not even a first attempt starts there, where all GPUs are asked for.
    launch -H node02:1 -n 1 --set wait_for_gpu='{retry: 0}' -- /bin/true
    expect_status 0
    launch -H node02:1 -n 1 --set wait_for_gpu='{retry: 1, delay_s: 0.1}' -- /bin/true
    expect_status 76
    launch -H node02:1 -n 1 --set wait_for_gpu='{retry: 1, delay_s: 0.1, target_util: 0.3}' -- /bin/true
    expect_status 0
    pretend node02 FAKE_NVML_FACTS
    launch_twice --set wait_for_gpu=false
    await_launch 120
    expect_status 0
    pretend node02 FAKE_NVML_FACTS
}

# Memory that one task leaves behind when the next one takes its GPU.
next_task_waits() {
    launch -H node02:1 -n 1 -- /bin/sh -c 'echo used=10 >/etc/fake_nvml/FAKE_NVML_FACTS'
    expect_status 0
    launch_start -H node02:1 -n 1 -- /bin/sh -c 'echo "the next"'
    eventually 60 err_has "^train: host 'node02': the memory of its GPUs has not been free for [0-9]+ s: 9.0 of 40.0 GiB of GPU 0 are in use$"
    expect_no_out 'the next'
    pretend node02 FAKE_NVML_FACTS
    await_launch 120
    expect_status 0
    expect_out '^\[0\] the next$'
}

# Whoever stops it does not wait either.
is_stopped_while_it_waits() {
    launch_twice
    eventually 60 err_has 'has not been free for'
    interrupt 1
    await_launch 120
    expect_status 130
    pretend node02 FAKE_NVML_FACTS
    expect_idle 2 node02
}

# start_at_terminal [REGEX ACTION]... -- COMMAND...: it is left running at a terminal of the head: see screen.py.
start_at_terminal() {
    cp "$(dirname "$0")/../cli/screen.py" "$shared/"
    start_on_head env TERM=xterm python3 /srv/shared/screen.py 120 24 "$@"
}

watchers() { on "$1" "pgrep -fc '^train-devices watch'"; }
watches() { [ "$(watchers "$1")" = "$2" ]; }
until_end='until [ -e /srv/shared/end ]; do sleep 0.05; done'
at_once=(--set wait_for_gpu=false) # their memory is never free here
four=(-H 'node01:2,node02:2' -n 4 "${at_once[@]}")
# The folder of the last task.
task_folder() { on head 'ls -dt ~/.local/state/train/tasks/*/ | head -n 1'; }
samples_have() { on head "grep -Eqs '$1' $(task_folder)usage.jsonl"; }
shown='[0-9.]+s; 3\.2 of 4 GPUs, 60\.0 GiB; [0-9.]+ CPUs; '

gpus_are_shown() {
    pretend node01 FAKE_NVML_FACTS busy=60,used=11
    pretend node02 FAKE_NVML_FACTS busy=100,used=21
    rm -f "$shared/end" "$shared/seen"
    start_at_terminal "hosts, $shown" show . 'touch /srv/shared/seen' -- \
        "$train" launch "${four[@]}" -- /bin/sh -c "$until_end"
    within 60 "the GPUs in use are shown" test -e "$shared/seen"
    for host in node01 node02; do expect_equal "programs that watch GPUs of $host" 1 "$(watchers "$host")"; done
    within 60 "they are recorded" samples_have '"gpu":\[600,600,1000,1000\],"gpu_memory":\[10737418240,10737418240,21474836480,'
    touch "$shared/end"
    await_launch 60
    expect_status 0
    expect_out "^\| 4 ranks on 2 hosts, $shown"
    expect_idle 2 head node01 node02
    local id
    id=$(basename "$(task_folder)")
    on head "cd /tmp && /srv/shared/bin/train task report $id && grep -o '<h3>[^<]*</h3>' train-$id.html" >"$work/out" 2>&1
    expect_out '^<h3>GPUs in use</h3>$'
    expect_out '^<h3>GPU memory, GiB</h3>$'
}

# Of a task that another process drives.
gpus_are_shown_where_it_is_attached() {
    rm -f "$shared/end"
    launch -d "${four[@]}" -- /bin/sh -c "$until_end"
    expect_status 0
    start_at_terminal "hosts, $shown" show . 'touch /srv/shared/end' -- "$train" task attach "$(basename "$(task_folder)")"
    await_launch 120
    expect_status 0
    expect_out "^\| 4 ranks on 2 hosts, $shown"
    expect_idle 10 head node01 node02
}

# Trials of a search have GPUs of a host at the same time, and one process asks for all of them.
one_asks_for_all_trials() {
    rm -f "$shared/end"
    printf '%s\n' 'hyperparameters: {x: {type: categorical, vals: [1, 2]}}' 'searcher: {name: grid, metric: loss}' \
        "entrypoint: '$until_end; train report loss=1'" 'resources: {slots_per_trial: 1}' \
        'wait_for_gpu: false' >"$shared/search.yaml"
    launch_start -H node01:2 /srv/shared/search.yaml
    within 60 "both trials run" on node01 '[ "$(pgrep -fc "^[^ ]*sh -c until")" = 2 ]'
    within 60 "a program watches GPUs" watches node01 1
    touch "$shared/end"
    await_launch 60
    expect_status 0
    expect_idle 2 node01
}

# A driver that hangs costs the numbers alone. What hangs does not see that its agent is gone.
gpus_hang() {
    pretend node02 FAKE_NVML_HANG nvmlDeviceGetUtilizationRates
    rm -f "$shared/end"
    launch_start -H 'node01:1,node02:1' -n 2 "${at_once[@]}" -- /bin/sh -c "$until_end"
    within 60 "the program that hangs is there" watches node02 1
    within 60 "what is known is recorded" samples_have '"gpu":\[600,null\]'
    touch "$shared/end"
    await_launch 60
    expect_status 0
    expect_idle 2 node01 node02
}

killed_agent() {
    rm -f "$shared/end"
    launch_start -H 'node02:1' -n 1 "${at_once[@]}" -- /bin/sh -c "$until_end"
    within 60 "a program watches GPUs" watches node02 1
    on node02 'kill -9 "$(ps -o ppid= -p "$(pgrep -f "^train-devices watch")" | tr -d " ")"'
    await_launch 60
    expect_status 76
    expect_idle 10 node02
    expect_equal "programs that watch GPUs" 0 "$(watchers node02)"
}
killed_agents() {
    killed_agent  # the driver hangs
    pretend node02 FAKE_NVML_HANG
    killed_agent
}

# Its end is not that of an attempt.
killed_watcher() {
    rm -f "$shared/end"
    launch_start -H 'node01:1,node02:1' -n 2 "${at_once[@]}" -- /bin/sh -c "$until_end"
    within 60 "all GPUs are known" samples_have '"gpu":\[600,1000\]'
    on node02 'pkill -9 -f "^train-devices watch"'
    within 60 "those of one host are not known any more" samples_have '"gpu":\[600,null\]'
    expect_equal "programs that watch GPUs" 0 "$(watchers node02)"
    touch "$shared/end"
    await_launch 60
    expect_status 0
    pretend node01 FAKE_NVML_FACTS
    pretend node02 FAKE_NVML_FACTS
}

install_nvml "$fake" "$gpus" "${nodes[@]}"
test_case "GPUs that are well are described, and nothing is said of them" healthy
test_case "a GPU that is lost is named with its next step, and can be left out" lost
test_case "a library that does not match the driver is named" mismatch
test_case "what the driver wants done is said" wants_a_reset
test_case "a GPU that is too hot is said" hot
test_case "a GPU with fewer links than the others is named" links
test_case "peer access that is off is named, and a note where it is off everywhere" peers
test_case "a driver that ends its program takes nothing along" crashes
test_case "a driver that hangs takes nothing along, and nothing is left of it" hangs
test_case "what computes on a GPU outside of train is told" busy
test_case "a GPU that another user's process computes on is not given away" busy_for_another_user
test_case "a restart waits until the memory of its GPU is free" waits_for_memory
test_case "the next task waits until the memory of its GPU is free" next_task_waits
test_case "a start waits for memory no longer than it may" waits_no_longer_than_it_may
test_case "a launch that waits for memory is stopped at once" is_stopped_while_it_waits
test_case "GPUs in use are shown at a terminal, recorded and drawn" gpus_are_shown
test_case "task attach shows them as well" gpus_are_shown_where_it_is_attached
test_case "one program asks for all trials of a host" one_asks_for_all_trials
test_case "a driver that hangs costs the use of its GPUs alone" gpus_hang
test_case "nothing watches GPUs once the agent was killed, even where the driver hangs" killed_agents
test_case "a program that watches GPUs may be killed, and nothing else ends" killed_watcher
finish
