#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Many hosts at one address, and hosts that cannot be reached.   reach_test.sh path/to/train
. "$(dirname "$0")/lib.sh"

use_cluster 6 --slots 1
use_train "${1:-}"

# --- Many connections to one address ---

# write_aliases COUNT ADDRESS: a hosts file of so many hosts at that address.
write_aliases() {
    local number
    echo 'hosts:'
    for ((number = 1; number <= $1; number++)); do
        printf '  - {name: w%02d, address: %s, slots: 1}\n' "$number" "$2"
    done
} >"$shared/aliases.yaml"

restrict_startups() { # VALUE: of MaxStartups on node01
    on node01 "sed -i '1i MaxStartups $1' /etc/ssh/sshd_testbed && sed -i '1i LogLevel VERBOSE' /etc/ssh/sshd_testbed"
    reload_sshd node01
}

refusals() { on node01 'grep -c "drop connection" /run/sshd.log'; }

one_address() { # STARTUPS [ARGUMENT...]
    local startups=$1 began=$SECONDS
    shift
    write_aliases 64 10.77.1.1
    restrict_startups "$startups"
    launch --hostfile /srv/shared/aliases.yaml -n 64 "$@" -- true
    expect_status 0
    echo "      $((SECONDS - began)) s; connections that sshd refused: $(refusals)"
    restart node01
}

one_jump_host() { # ARGUMENT...: hosts behind a jump host that takes two logins at a time
    configure 'Host node* !node01' '  ProxyJump node01'
    restrict_startups 2:100:2
    launch -H 'node[02-06]:1' -n 5 "$@" -- true
    expect_status 0
    echo "      connections that sshd refused: $(refusals)"
    restart head node01
}

# --- Hosts that cannot be reached ---

# hang_at_banner HOST: something there listens on port 2300 and never says a word.
hang_at_banner() {
    on "$1" 'setsid python3 -c "
import socket, time
listener = socket.create_server((\"0.0.0.0\", 2300))
open(\"/tmp/listens\", \"w\").close()
time.sleep(3600)" >/dev/null 2>&1 &'
    eventually 10 on "$1" test -e /tmp/listens || note_failure "nothing listens on $1"
}

in_every_way() {
    printf '%s\n' 'hosts:' '  - {name: node01, slots: 1, port: 2222}' \
        '  - {name: node02, slots: 1, port: 2222}' '  - {name: node03, slots: 1}' \
        '  - {name: node04, slots: 1, port: 2300}' '  - {name: node05, slots: 1}' \
        '  - {name: node06, slots: 1}' '  - {name: nowhere, slots: 1}' >"$shared/wrong.yaml"
    "$cluster" cut node03
    hang_at_banner node04
    on node05 'echo "sleep 600" >.bashrc'
    launch --hostfile /srv/shared/wrong.yaml -n 7 -- touch /tmp/started
    expect_status 76
    expect_err "^train: (also: )?hosts node\[01-02\]: connection refused at port 2222\$"
    expect_err "^train: (also: )?host 'nowhere': name 'nowhere' does not resolve"
    expect_err "^train: also: hosts node\[03-05\]: no answer by then\$"
    "$cluster" heal node03
    restart node04 node05
    expect_nothing_started
}

silent_in_two_ways() {
    hang_at_banner node04
    hang_at_banner node05
    configure 'Host *' '  ConnectTimeout 3' 'Host node04 node05' '  Port 2300'
    "$cluster" cut node01
    "$cluster" cut node03
    launch -H 'node[01-06]:1' -n 6 -- touch /tmp/started
    expect_status 76
    expect_err "^train: (also: )?hosts node\[01,03\]: no answer from port 22\$"
    expect_err "^train: (also: )?hosts node\[04-05\]: port 2300 was silent for 3 s during the key exchange\$"
    "$cluster" heal node01
    "$cluster" heal node03
    restart head node04 node05
    expect_nothing_started
}

slow_rc_file() {
    on node02 'echo "sleep 4" >.bashrc'
    launch -H 'node[01-03]:1' -n 3 -- hostname
    expect_status 0
    expect_out '^\[1\] node02$'
    restart node02
}

# asks_for_a_name: whether a socket to port 53 is open on the head.
asks_for_a_name() { on head 'grep -q ":0035 " /proc/net/udp'; }

# For minutes, if it were waited for.
name_server_hangs() {
    on head 'printf "nameserver 10.77.1.2\noptions timeout:30 attempts:5\n" >/etc/resolv.conf; echo "hosts: files dns" >/etc/nsswitch.conf'
    "$cluster" cut node02
    launch_start -H no-such-host.example:1 -n 1 -- hostname
    within 10 "the name is looked up" asks_for_a_name
    signal_launcher INT
    await_launch 10
    expect_status 130
    restart head node02
}

test_case "64 hosts at one address come up through MaxStartups 10:30:100" one_address 10:30:100
test_case "64 hosts at one address come up through MaxStartups 1:100:1" one_address 1:100:1
test_case "64 hosts at one address come up through OpenSSH's client and MaxStartups 10:30:100" one_address 10:30:100 --transport openssh
test_case "hosts come up through a jump host that is overrun" one_jump_host
test_case "hosts come up through OpenSSH's client and a jump host that is overrun" one_jump_host --transport openssh
test_case "what is wrong with hosts is told by cause, and nobody waits for those that do not answer" in_every_way
test_case "hosts that are silent in different ways are told together" silent_in_two_ways
test_case "a host that takes its time is waited for" slow_rc_file
test_case "Ctrl-C while a name server does not answer" name_server_hangs
finish
