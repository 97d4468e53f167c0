#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Networks that keep ranks from each other: they meet all the same, or the refusal names the pair.
#   meeting_test.sh path/to/train
. "$(dirname "$0")/lib.sh"

if ! /usr/bin/python3 -c 'import torch' 2>/dev/null; then
    echo "SKIPPED: /usr/bin/python3 has no torch (python3-torch)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
fi
use_cluster 3 --slots 1
use_train "${1:-}"

# Every rank sums over all, by the processes of a real gloo group.
cat >"$shared/sum.py" <<'EOF'
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.ones(1 << 18) * (dist.get_rank() + 1)
dist.all_reduce(total)
print("sum", int(total[0]), "by", os.environ.get("GLOO_SOCKET_IFNAME"),
      os.environ.get("NCCL_SOCKET_IFNAME"), "at", os.environ["MASTER_ADDR"], flush=True)
dist.barrier()
dist.destroy_process_group()
EOF

# sums ARGUMENT...: such a launch on all three hosts.
sums() { launch --hostfile /srv/shared/hosts.yaml "$@" -- /usr/bin/python3 /srv/shared/sum.py; }

# expect_sums INTERFACE: all three have met, by that.
expect_sums() {
    expect_status 0
    expect_equal "sums" 3 "$(grep -c "sum 6 by $1 =$1 at 10.77.1.1" "$work/out")"
}

# On Debian a host's own name is this, which gloo would ask the others to connect to.
# with_bridge NAME ADDRESS HOST: one that is of that host alone.
with_bridge() { on "$3" "ip link add $1 type veth peer name other-$1 && ip addr add $2 dev $1 &&
    ip link set other-$1 up && ip link set $1 up"; }
without_bridges() {
    local host name
    for host in "${nodes[@]}"; do for name; do on "$host" ip link del "$name"; done; done
}

names_that_mean_loopback() {
    local host
    for host in "${nodes[@]}"; do on "$host" "sed -i '1i 127.0.1.1 $host' /etc/hosts"; done
    sums
    expect_sums eth0
    for host in "${nodes[@]}"; do on "$host" "sed -i 1d /etc/hosts"; done
}

# What containers bring: the same address everywhere, and a bridge of the host alone.
bridges_of_each_host_alone() {
    local host
    for host in "${nodes[@]}"; do
        with_bridge docker0 172.17.0.1/16 "$host"
        with_bridge a0 "192.168.122.${host#node0}/24" "$host"
    done
    sums
    expect_sums eth0
    without_bridges docker0 a0
}

# The network that the user means is there on each host, and leads nowhere.
a_network_that_leads_nowhere() {
    local host
    for host in "${nodes[@]}"; do with_bridge a0 "192.168.122.${host#node0}/24" "$host"; done
    {
        echo 'hosts:'
        for host in "${nodes[@]}"; do echo "  - {name: $host, slots: 1, interface: a0}"; done
    } >"$shared/nowhere.yaml"
    launch --hostfile /srv/shared/nowhere.yaml -- /usr/bin/python3 /srv/shared/sum.py
    expect_status 76
    expect_err "'node01' does not reach 'node02': 192.168.122.2 .a0. (does not answer|has no way there)"
    expect_err "network: none"
    expect_idle 2 "${nodes[@]}"
    without_bridges a0
}

other_names() {
    on node02 'ip link set eth0 down && ip link set eth0 name ens3 && ip link set ens3 up'
    sums
    expect_status 0
    expect_equal "sums by eth0" 2 "$(grep -c 'sum 6 by eth0 =eth0' "$work/out")"
    expect_equal "sums by ens3" 1 "$(grep -c 'sum 6 by ens3 =ens3' "$work/out")"
    on node02 'ip link set ens3 down && ip link set ens3 name eth0 && ip link set eth0 up'
}

# drop HOST TARGET MATCH...: what it sends there and is like that vanishes.
drop() {
    local host=$1 target=$2
    shift 2
    on "$host" "nft add table ip t && nft add chain ip t out '{type filter hook output priority 0;}' &&
        nft add rule ip t out ip daddr $target $* drop" || note_failure "$host drops nothing"
}
drop_no_more() { on "$1" nft delete table ip t; }

a_firewall_that_is_open_one_way() {
    drop node01 10.77.1.2 "tcp flags '& (syn|ack)' == syn"
    sums
    expect_status 76
    expect_err "'node01' does not reach 'node02': 10.77.1.2 .eth0. does not answer"
    ! err_has "'node02' does not reach" || note_failure "the way that is open is named"
    expect_idle 2 "${nodes[@]}"
    drop_no_more node01
}

# Large packets get lost on their way, and nobody is told.
a_hole_for_large_packets() {
    drop node01 10.77.1.2 ip length gt 1000
    sums
    expect_status 76
    expect_err "'node01' does not reach 'node02': 10.77.1.2 .eth0. answers, and loses large packets or is slow"
    sums --exclude node02
    expect_status 0
    drop_no_more node01
}

what_the_user_says() {
    sums --set environment.environment_variables='[GLOO_SOCKET_IFNAME=eth0]'
    expect_status 0
    expect_equal "sums" 3 "$(grep -c 'sum 6 by eth0 =eth0' "$work/out")"
    # shellcheck disable=SC2016 # the rank expands it
    launch --hostfile /srv/shared/hosts.yaml --set network=none -- /bin/sh -c 'echo "told: $GLOO_SOCKET_IFNAME."'
    expect_status 0
    expect_out 'told: \.$'
}

test_case "ranks meet where a host's own name is a loopback address" names_that_mean_loopback
test_case "bridges that each host has for itself do no harm" bridges_of_each_host_alone
test_case "a declared network by which hosts do not reach each other is refused with the pair" a_network_that_leads_nowhere
test_case "interfaces may have other names on other hosts" other_names
test_case "a firewall that is open one way is named, before a rank starts" a_firewall_that_is_open_one_way
test_case "a network that loses large packets is named" a_hole_for_large_packets
test_case "what the user says of the network counts" what_the_user_says
finish
