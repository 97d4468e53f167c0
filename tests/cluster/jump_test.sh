#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Hosts behind jump hosts.   jump_test.sh path/to/train
. "$(dirname "$0")/lib.sh"

use_cluster 6 --slots 1
use_train "${1:-}"

behind=(-H 'node[03-06]:1' -n 4)
# shellcheck disable=SC2016 # for the workers
whence='echo "from ${SSH_CONNECTION%% *}, meet at $MASTER_ADDR"'

# expect_from ADDRESS: all four ranks came from there, and not through a process of ssh.
expect_from() {
    expect_status 0
    expect_equal "ranks that came from $1 and meet at node03" 4 \
        "$(grep -c "from ${1//./\\.}, meet at 10\.77\.1\.3\$" "$work/out")"
    ! err_has "OpenSSH's own client" || note_failure "a process of ssh was used"
}

# --- What works ---

one_jump_host() {
    configure 'Host node03 node04 node05 node06' '  ProxyJump node01'
    launch "${behind[@]}" -- /bin/sh -c "$whence"
    expect_from 10.77.1.1
    launch_start "${behind[@]}" -- /bin/sh -c "$forever"
    within 30 "workers run" behind_run
    expect_equal "sessions with the jump host" 1 "$(settled sessions_with_node01)"
    signal_launcher INT
    await_launch 30
    expect_status 130
    expect_idle 2 head "${nodes[@]}"
    eventually 5 no_session_with_node01 || note_failure "a session with the jump host is left"
    restart head
}

sessions_with_node01() { processes node01 '^sshd: root'; }
no_session_with_node01() { [ "$(sessions_with_node01)" -eq 0 ]; }

behind_run() {
    local host
    for host in node03 node04 node05 node06; do
        [ "$(processes "$host" '^sleep 4711')" -eq 1 ] || return 1
    done
}

# Nobody behind the jump host has seen this machine's address.
launcher_takes_part() {
    configure 'Host node03 node04 node05 node06' '  ProxyJump node01'
    # shellcheck disable=SC2016 # for the workers
    launch -H 'head:1,node[03-04]:1' -n 3 -- /bin/sh -c 'echo "meet at $MASTER_ADDR"'
    expect_status 0
    expect_equal "ranks that meet at the head" 3 "$(grep -c 'meet at 10\.77\.0\.1$' "$work/out")"
    expect_idle 2 head "${nodes[@]}"
    # Through OpenSSH's own client, of whose connections less is known, and with two addresses.
    on head 'ip address add 10.88.0.1/16 dev eth0'
    # shellcheck disable=SC2016 # for the workers
    launch --transport openssh -H 'head:1,node[03-04]:1' -n 3 -- /bin/sh -c 'echo "meet at $MASTER_ADDR"'
    expect_status 0
    expect_equal "ranks that meet where hosts reach the head" 3 "$(grep -c 'meet at 10\.77\.0\.1$' "$work/out")"
    launch --transport openssh -H 'head:1,node[03-04]:1' -n 3 --set network=none -- touch /tmp/started
    expect_status 76
    expect_err "host 'head': the other hosts are to meet at this machine, and none of its addresses"
    expect_err "give it an 'address' or an 'interface' in the hosts file"
    expect_nothing_started
    printf '%s\n' 'hosts:' '  - {name: head, slots: 1, address: 10.77.0.1}' \
        '  - {name: "node[03-04]", slots: 1}' >"$shared/address.yaml"
    # shellcheck disable=SC2016 # for the workers
    launch --transport openssh --hostfile /srv/shared/address.yaml -n 3 -- \
        /bin/sh -c 'echo "meet at $MASTER_ADDR"'
    expect_status 0
    expect_equal "ranks that meet at the address" 3 "$(grep -c 'meet at 10\.77\.0\.1$' "$work/out")"
    on head 'ip address del 10.88.0.1/16 dev eth0'
    restart head
}

two_hops() {
    configure 'Host node03 node04 node05 node06' '  ProxyJump root@node01:22,ssh://node02'
    launch "${behind[@]}" -- /bin/sh -c "$whence"
    expect_from 10.77.1.2
    # A jump host that is reached through another.
    configure 'Host node03 node04 node05 node06' '  ProxyJump inner' 'Host inner' '  HostName 10.77.1.2' \
        '  ProxyJump outer' 'Host outer' '  HostName node01'
    launch "${behind[@]}" -- /bin/sh -c "$whence"
    expect_from 10.77.1.2
    # Tokens of the target's.
    configure 'Host node03 node04 node05 node06' '  ProxyJump %r@gate-of-%h' 'Host gate-of-*' \
        '  HostName node02'
    launch "${behind[@]}" -- /bin/sh -c "$whence"
    expect_from 10.77.1.2
    expect_idle 2 head "${nodes[@]}"
    restart head
}

own_identity() {
    on head 'ssh-keygen -q -t ecdsa -N "" -f .ssh/gate'
    authorize .ssh/gate node01
    configure 'Host node03 node04 node05 node06' '  ProxyJump node01' 'Host node01' \
        '  IdentityFile ~/.ssh/gate'
    launch "${behind[@]}" -- /bin/sh -c "$whence"
    expect_from 10.77.1.1
    restart head node01
}

sessions_are_not_limited() {
    sshd_option 'MaxSessions 1' node01
    configure 'Host node03 node04 node05 node06' '  ProxyJump node01'
    launch "${behind[@]}" -- /bin/sh -c "$whence"
    expect_from 10.77.1.1
    restart head node01
}

much_output() {
    # 32 MiB from each host, of which every byte counts.
    configure 'Host node03 node04 node05 node06' '  ProxyJump node01'
    launch --tee none "${behind[@]}" -- /bin/sh -c 'yes 0123456789abcdef | head -c 33554432'
    expect_status 0
    expect_whole_logs 4 'yes 0123456789abcdef | head -c 33554432'
    restart head
}

# --- Trust ---

jump_host_key_is_unknown() {
    on head 'sed -i /^node01,/d .ssh/known_hosts'
    configure 'Host node03 node04 node05 node06' '  ProxyJump node01'
    launch "${behind[@]}" -- touch /tmp/started
    expect_status 76
    expect_err "hosts node\[03-06\]: its jump host 'node01': the host key of .* is not known: ssh-ed25519 SHA256:"
    expect_err "accept this key: echo 'node01 ssh-ed25519 [^ ]*' >> /root/.ssh/known_hosts"
    expect_nothing_started
    restart head
}

host_key_behind_is_changed() {
    # shellcheck disable=SC2016 # expanded on the head
    on head 'ssh-keygen -q -t ed25519 -N "" -f other; read -r type key _ <other.pub
        sed -i "s|^\(node03,[^ ]*\) .*|\1 $type $key|; /^node04,/d" .ssh/known_hosts'
    configure 'Host node03 node04 node05 node06' '  ProxyJump node01'
    launch "${behind[@]}" -- touch /tmp/started
    expect_status 76
    expect_err "host 'node03': the host key of node03:22 has changed"
    expect_err "host 'node04': the host key of node04:22 is not known: ssh-ed25519 SHA256:"
    expect_err "accept this key: echo 'node04 ssh-ed25519 [^ ]*' >> /root/.ssh/known_hosts"
    expect_nothing_started
    restart head
}

# --- What fails ---

jump_host_refuses() {
    configure 'Host node03 node04 node05 node06' '  ProxyJump node01:2222'
    launch "${behind[@]}" -- touch /tmp/started
    expect_status 76
    expect_err "hosts node\[03-06\]: its jump host 'node01': connection refused at 10\.77\.1\.1:2222"
    expect_equal "mentions of the refusal before the last line" 1 \
        "$(grep -v '^train: failed: ' "$work/err" | grep -c 'connection refused')"
    expect_nothing_started
    restart head
}

jump_host_forwards_nothing() {
    sshd_option 'AllowTcpForwarding no' node01
    configure 'Host node03 node04 node05 node06' '  ProxyJump node01'
    launch "${behind[@]}" -- touch /tmp/started
    expect_status 76
    expect_err "hosts node\[03-06\]: its jump host 'node01' forwards no connections \(administratively prohibited\)"
    expect_err AllowTcpForwarding
    expect_nothing_started
    restart head node01
}

host_behind_refuses() {
    printf '%s\n' 'hosts:' '  - {name: node03, slots: 1}' '  - {name: node04, slots: 1, port: 2222}' \
        '  - {name: nowhere, slots: 1}' >"$shared/wrong.yaml"
    configure 'Host node03 node04 nowhere' '  ProxyJump node01'
    launch --hostfile /srv/shared/wrong.yaml -n 3 -- touch /tmp/started
    expect_status 76
    expect_err "host 'node04': its jump host 'node01' cannot connect to node04:2222"
    expect_err "host 'nowhere': its jump host 'node01' cannot connect to nowhere:22"
    expect_nothing_started
    restart head
}

hosts_behind_are_silent() {
    configure 'Host node03 node04 node05 node06' '  ProxyJump node01' '  ConnectTimeout 3'
    "$cluster" cut node03
    "$cluster" cut node04
    launch "${behind[@]}" -- touch /tmp/started
    expect_status 76
    expect_err "hosts node\[03-04\]: its jump host 'node01' got no answer from port 22 within 3 s"
    "$cluster" heal node03
    "$cluster" heal node04
    expect_nothing_started
    restart head
}

circle() {
    configure 'Host node03 node04 node05 node06' '  ProxyJump node01' 'Host node01' '  ProxyJump node02' \
        'Host node02' '  ProxyJump node01'
    launch "${behind[@]}" -- touch /tmp/started
    expect_status 76
    expect_err 'hosts node\[03-06\]: .*ProxyJump goes round in a circle'
    expect_nothing_started
    restart head
}

jump_host_dies() {
    configure 'Host node03 node04 node05 node06' '  ProxyJump node01'
    launch_start "${behind[@]}" --set reconnect_window=0s -- /bin/sh -c "$forever"
    within 30 "workers run" behind_run
    "$cluster" crash node01
    await_launch 30
    expect_status 76
    expect_err "hosts node\[03-06\]: its jump host 'node01': the connection to 10\.77\.1\.1:22 was lost in use"
    expect_idle 30 head node03 node04 node05 node06
    restart head node01
}

jump_host_loses_sessions() {
    configure 'Host node03 node04 node05 node06' '  ProxyJump node01'
    rm -f "$shared/go"
    launch_start "${behind[@]}" -- /bin/sh -c 'echo first; until [ -e /srv/shared/go ]; do sleep 0.05; done; echo last'
    within 30 "ranks have printed" out_count_is 4 first
    on node01 'pkill -KILL -f "^sshd: root"'
    touch "$shared/go"
    await_launch 60
    expect_status 0
    out_count_is 4 'last$' || note_failure "not all ranks have printed to the end"
    expect_idle 2 head node03 node04 node05 node06
    restart head
}

# --- What takes OpenSSH itself ---

jump_host_beyond_libssh2() {
    configure 'Host node03 node04' '  ProxyJump node01' 'Host node01' '  ProxyCommand ssh -W %h:%p node02'
    launch -H 'node[03-05]:1' -n 3 -- hostname
    expect_status 0
    expect_out '^\[0\] node03$'
    expect_out '^\[2\] node05$'
    expect_err "node03 is reached by OpenSSH's own client: its jump host 'node01': ssh's configuration has ProxyCommand"
    ! err_has 'node05 is reached' || note_failure "the host beside the jump host goes that way, too"
    launch --transport ssh -H 'node[03-05]:1' -n 3 -- touch /tmp/started
    expect_status 76
    expect_err "OpenSSH's own client only: its jump host 'node01': ssh's configuration has ProxyCommand"
    expect_nothing_started
    restart head
}

test_case "hosts behind a jump host share one session with it, and tell their own addresses" one_jump_host
test_case "the launcher's own machine takes part with an address that hosts behind a jump host reach" launcher_takes_part
test_case "jump hosts lead to jump hosts, as one line or as each one's own" two_hops
test_case "a jump host is logged in to with its own identity" own_identity
test_case "MaxSessions of a jump host does not count the hosts behind it" sessions_are_not_limited
test_case "32 MiB from each of four hosts come whole through one jump host" much_output
test_case "an unknown host key of a jump host stops the launch, once for all behind it" jump_host_key_is_unknown
test_case "host keys behind a jump host are checked as strictly" host_key_behind_is_changed
test_case "a jump host that refuses is tried and told once" jump_host_refuses
test_case "a jump host that may not forward says so" jump_host_forwards_nothing
test_case "a jump host that cannot connect says to which hosts" host_behind_refuses
test_case "silent hosts behind a jump host do not wait for each other" hosts_behind_are_silent
test_case "jump hosts that lead to each other are found out" circle
test_case "without a reconnect window a jump host that dies ends what is behind it, with its name" jump_host_dies
test_case "sessions of a jump host that are killed are made anew" jump_host_loses_sessions
test_case "a jump host that libssh2 cannot serve leaves those behind it to OpenSSH" jump_host_beyond_libssh2
finish
