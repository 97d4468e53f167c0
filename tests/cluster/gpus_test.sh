#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What slots are: GPUs that hosts have, or places.   gpus_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 3 --gpus 'NVIDIA A100-SXM4-80GB:2'
use_train "${1:-}"

# What a rank was told of devices.
tell='echo "$RANK sees <$CUDA_VISIBLE_DEVICES> at <${TRAIN_DEVICE_INDICES-nothing}> by $TRAIN_BACKEND"'

lose_gpus() { on "$1" 'rm -r /proc/driver/nvidia/gpus/*'; }

# expect_ranks LINE...: all that ranks printed, in any order.
expect_ranks() { expect_equal "what ranks were told" "$(printf '%s\n' "$@")" "$(sort "$work/out")"; }

every_rank_gets_its_gpu() {
    launch -H 'node01:2,node02:2' -n 4 -- /bin/sh -c "$tell"
    expect_status 0
    expect_ranks '[0] 0 sees <0,1> at <0> by nccl' '[1] 1 sees <0,1> at <1> by nccl' \
        '[2] 2 sees <0,1> at <0> by nccl' '[3] 3 sees <0,1> at <1> by nccl'
    # Asked for by name, and of the host that has more GPUs than slots.
    launch -H 'node01:1,node02:1' -n 2 --set scaling_config.use_gpu=true -- /bin/sh -c "$tell"
    expect_status 0
    expect_ranks '[0] 0 sees <0> at <0> by nccl' '[1] 1 sees <0> at <0> by nccl'
    expect_idle 2 "${nodes[@]}"
}

sessions_have_their_own_list() {
    on node01 'echo "export CUDA_VISIBLE_DEVICES=1" >.bashrc'
    launch -H 'node01:1,node02:1' -n 2 -- /bin/sh -c "$tell"
    expect_status 0
    expect_ranks '[0] 0 sees <1> at <0> by nccl' '[1] 1 sees <0> at <0> by nccl'
    launch -H 'node01:2' -n 2 -- touch /tmp/started
    expect_status 76
    expect_err "host 'node01': says 2 slots and has 1 GPU \(1 more that its sessions may not use\)"
    printf '%s\n' 'hosts: [{name: node01, resources: {GPU: 1}}]' >"$shared/declared.yaml"
    launch --hostfile /srv/shared/declared.yaml -n 1 -- touch /tmp/started
    expect_status 76
    expect_err "host 'node01': its ranks are to get its GPUs 0, and its sessions may use 1"
    expect_nothing_started
    restart node01
}

without_gpus_slots_are_places() {
    lose_gpus node01
    lose_gpus node02
    launch -H 'node01:1,node02:2' -n 3 --set resources.placement=pack -- /bin/sh -c "$tell"
    expect_status 0
    expect_ranks '[0] 0 sees <> at <nothing> by gloo' '[1] 1 sees <> at <nothing> by gloo' \
        '[2] 2 sees <> at <nothing> by gloo'
    launch -H 'node01:2' -n 2 --set scaling_config.use_gpu=true -- touch /tmp/started
    expect_status 76
    expect_err "host 'node01': its 2 slots are to be GPUs, and it has no GPU"
    launch -H 'node01:2' -n 2 --set backend=nccl -- touch /tmp/started
    expect_status 76
    expect_err "host 'node01': its 2 slots are to be GPUs, and it has no GPU"
    expect_nothing_started
    restart node01 node02
}

too_few_gpus() {
    launch -H 'node[01-02]:4' -n 8 -- touch /tmp/started
    expect_status 76
    expect_err 'hosts node\[01-02\]: says 4 slots and has 2 GPUs'
    expect_err "'slots: 2' takes them alone, 'slot_type: cpu' in a hosts file makes"
    expect_nothing_started
    printf '%s\n' 'node01 slots=4 slot_type=cpu' >"$shared/places"
    launch --hostfile /srv/shared/places -n 4 -- /bin/sh -c "$tell"
    expect_status 0
    expect_ranks '[0] 0 sees <> at <nothing> by gloo' '[1] 1 sees <> at <nothing> by gloo' \
        '[2] 2 sees <> at <nothing> by gloo' '[3] 3 sees <> at <nothing> by gloo'
}

hosts_differ() {
    lose_gpus node03
    launch -H 'node[01-03]:1' -n 3 -- touch /tmp/started
    expect_status 76
    expect_err 'these differ: node01 2 GPUs, node02 2 GPUs, node03 no GPU'
    expect_err "'slot_type: cuda', or 'slot_type: cpu'"
    expect_nothing_started
    restart node03
}

mig_devices_are_no_gpus() {
    on node01 'mkdir -p /proc/driver/nvidia/capabilities/gpu1/mig/gi1/ci0'
    launch -H node01:2 -n 2 -- touch /tmp/started
    expect_status 76
    expect_err "host 'node01': says 2 slots and has 1 GPU and 1 in MIG mode, which is no whole device"
    launch -H node01:1 -n 1 -- /bin/sh -c "$tell"
    expect_status 0
    expect_ranks '[0] 0 sees <0> at <0> by nccl'
    on node01 'mkdir -p /proc/driver/nvidia/capabilities/gpu0/mig/gi1/ci0'
    launch -H node01:1 -n 1 -- touch /tmp/started
    expect_status 76
    expect_err 'no GPU but 2 in MIG mode, which are no whole devices'
    expect_err 'nvidia-smi -mig 0'
    expect_nothing_started
    restart node01
}

declared_gpus_are_checked() {
    printf '%s\n' 'defaults: {resources: {GPU: 2}}' 'hosts: [node01, node02]' >"$shared/declared.yaml"
    launch --hostfile /srv/shared/declared.yaml -n 4 -- /bin/sh -c "$tell"
    expect_status 0
    expect_equal "ranks with their GPUs" 4 "$(grep -c 'sees <0,1> at <[01]> by nccl' "$work/out")"
    lose_gpus node02
    launch --hostfile /srv/shared/declared.yaml -n 4 -- touch /tmp/started
    expect_status 76
    expect_err "host 'node02': declares 2 GPUs, and has no GPU"
    expect_nothing_started
    restart node02
}

interface_is_checked() {
    printf '%s\n' 'defaults: {slots: 1, interface: eth9}' 'hosts: [node01, node02]' >"$shared/eth9.yaml"
    launch --hostfile /srv/shared/eth9.yaml -n 2 -- touch /tmp/started
    expect_status 76
    expect_err "hosts node\[01-02\]: it has no network interface 'eth9': there are eth0, lo"
    expect_nothing_started
    sed 's/eth9/eth0/' "$shared/eth9.yaml" >"$shared/eth0.yaml"
    launch --hostfile /srv/shared/eth0.yaml -n 2 -- /bin/sh -c 'echo "by $NCCL_SOCKET_IFNAME"'
    expect_status 0
    expect_equal "ranks that are told" 2 "$(grep -c 'by =eth0' "$work/out")"
    expect_idle 2 "${nodes[@]}"
}

# compute_on HOST GPU...: a process outside of train has them open; `pid` is its number there.
compute_on() {
    local host=$1 gpu files='exec 9</dev/nvidia-uvm'
    shift
    for gpu in "$@"; do files+=" $((gpu + 3))</dev/nvidia$gpu"; done
    pid=$(on "$host" "/bin/bash -c '$files; exec sleep 987' >/dev/null 2>&1 & echo \$!")
    eventually 5 on "$host" "[ -e /proc/$pid ] && grep -q 987 /proc/$pid/cmdline"
}

others_compute_on_them() {
    local foreign
    compute_on node01 1
    foreign=$pid
    launch -H 'node01:2' -n 2 -- touch /tmp/started
    expect_status 75
    expect_err "^  process $foreign of root \('sleep 987', of no task\) holds 1 slot of node01, for "
    expect_err 'beside processes outside of train: --allow-busy'
    on node01 'test ! -e /tmp/started' || note_failure "a rank was started"
    launch -H 'node01:2,node02:2' -n 2 --set resources.placement=pack -- /bin/sh -c "$tell"
    expect_status 0
    expect_err 'on node02 instead of node01'
    on head "$train" plan --live -H 'node01:2,node02:2' -n 2 --set resources.placement=pack --json -- true >"$work/out" 2>"$work/err"
    expect_out '"host": "node02"'
    launch -H 'node01:2' -n 2 --allow-busy -- /bin/sh -c "$tell"
    expect_status 0
    on head "$train" hosts list -H 'node01:2' >"$work/out" 2>"$work/err"
    expect_out "^node01 +up +2 +1 +0 +1 .* GPU 1 held by process $foreign of root \\('sleep 987', of no task\\)$"
    on head "$train" hosts list -H 'node01:2' --csv >"$work/out" 2>"$work/err"
    expect_out '^node01,up,2,1,0,1,gpus,'
    on head "$train" task list -H 'node01:2' --slots --csv >"$work/out" 2>"$work/err"
    expect_out "^node01,1,foreign,1,,,root,,[0-9]+,$foreign,sleep 987"
    on head "$train" hosts list -H 'node01:2' --json >"$work/out" 2>"$work/err"
    expect_schema task "$work/out"
    on head "$train" task list -H 'node01:2' --json >"$work/out" 2>"$work/err"
    expect_schema task "$work/out"
    tr -d ' \n' <"$work/out" >"$work/flat"
    grep -q "\"slot\":1,\"holder\":{\"task\":null,\"name\":null,\"user\":\"root\",[^}]*\"pid\":$foreign,\"command\":\"sleep987\"" "$work/flat" ||
        note_failure "who has GPU 1 is not said: $(cat "$work/flat")"
    on head "$train" task list -H 'node01:2' >"$work/out" 2>"$work/err"
    expect_err "host 'node01': GPU 1 held by process $foreign"
    on node01 "kill $foreign"
    eventually 5 on node01 "[ ! -e /proc/$foreign ]"
    launch -H 'node01:2' -n 2 -- /bin/sh -c "$tell"
    expect_status 0
}

# What a task's own ranks have open is theirs, whatever their programs open beside their GPUs.
own_ranks_are_no_strangers() {
    rm -f "$shared/go" "$shared/open"
    id=$(on head "$train" launch -d -H node01:1 -n 1 -- /bin/bash -c \
        'exec 3</dev/nvidia0 4</dev/nvidia1 9</dev/nvidia-uvm; touch /srv/shared/open; while [ ! -e /srv/shared/go ]; do sleep 0.05; done' 2>"$work/err") ||
        note_failure "it does not start: $(cat "$work/err")"
    eventually 10 test -e "$shared/open" || note_failure "its rank does not run"
    on head "$train" hosts list -H 'node01:2' >"$work/out" 2>"$work/err"
    expect_out '^node01 +up +2 +1 +1 +0 '
    launch -H 'node01:2' --include node01:1 -n 1 -- /bin/sh -c "$tell"
    expect_status 0
    touch "$shared/go"
    on head "$train" task wait "$id" >"$work/out" 2>&1 || note_failure "it fails: $(cat "$work/out")"
}

# It is looked for every 2 s.
waits_for_others() {
    local foreign
    compute_on node01 1
    foreign=$pid
    launch_start --wait -H node01:2 -n 2 -- /bin/sh -c "$tell"
    within 10 "it waits" err_has '^train: task [a-z0-9]+: waits for 2 slots on node01, 1st in line$'
    expect_err "^  process $foreign of root \('sleep 987', of no task\) holds 1 slot of node01, for "
    on node01 "kill $foreign"
    await_launch 30
    expect_status 0
    expect_ranks '[0] 0 sees <0,1> at <0> by nccl' '[1] 1 sees <0,1> at <1> by nccl'
    expect_idle 2 "${nodes[@]}"
}

test_case "slots of hosts with as many GPUs are GPUs, each rank's its own" every_rank_gets_its_gpu
test_case "CUDA_VISIBLE_DEVICES of a host's sessions says which GPUs slots are" sessions_have_their_own_list
test_case "slots of hosts without GPUs are places without any" without_gpus_slots_are_places
test_case "a host with fewer GPUs than slots is refused, unless its slots are said to be places" too_few_gpus
test_case "hosts with GPUs and hosts without make no trial together" hosts_differ
test_case "GPUs in MIG mode are not counted, and told" mig_devices_are_no_gpus
test_case "declared GPUs that a host has not start nothing" declared_gpus_are_checked
test_case "an interface that a host has not starts nothing" interface_is_checked
test_case "a GPU that a process outside of train computes on is busy" others_compute_on_them
test_case "who waits is served when a process outside of train ends" waits_for_others
test_case "what a task's ranks have open is of the task" own_ranks_are_no_strangers
finish
