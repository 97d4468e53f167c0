#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Who holds which slots of hosts, whoever asks from wherever.   hosts_test.sh path/to/train
. "$(dirname "$0")/lib.sh"

use_cluster 3 --slots 2
use_train "${1:-}"
hosts='node[01-02]:2'

# Another user of node01 and node02, who logs in from node03.
make_user() {
    local host
    # shellcheck disable=SC2016 # node03 has it
    on node03 'id bob >/dev/null 2>&1 || useradd -M -d /srv/bob -p "*" bob; install -d -o bob -g bob -m 700 /srv/bob /srv/bob/.ssh
        [ -e /srv/bob/.ssh/id_ed25519 ] || runuser -u bob -- ssh-keygen -q -t ed25519 -N "" -f /srv/bob/.ssh/id_ed25519
        install -o bob -m 600 /root/.ssh/known_hosts /srv/bob/.ssh/known_hosts'
    for host in node01 node02; do
        on "$host" 'id bob >/dev/null 2>&1 || useradd -M -d /srv/bob -p "*" bob; install -d -o bob -g bob -m 700 /srv/bob /srv/bob/.ssh'
        on node03 'cat /srv/bob/.ssh/id_ed25519.pub' |
            "$cluster" exec "$host" /bin/bash -c 'cat >/srv/bob/.ssh/authorized_keys; chown bob: /srv/bob/.ssh/authorized_keys; chmod 600 /srv/bob/.ssh/authorized_keys'
    done
}

as_bob() { on node03 runuser -u bob -- env --chdir=/tmp HOME=/srv/bob XDG_STATE_HOME=/srv/bob/state "$train" "$@"; }

# list ARGUMENT...: `task list`, by root on the head.
list() { train_on_head task list "$@"; }

# A task of bob on both hosts, and one of root; sets `his` and `ours`.
two_tasks() {
    make_user
    his=$(as_bob launch -d --set working_directory=/tmp --set name=his -H "$hosts" -n 3 --set resources.placement=pack -- /bin/sleep 4711 2>"$work/bob") ||
        note_failure "bob cannot launch: $(cat "$work/bob")"
    ours=$(on head "$train" launch -d --set name=ours -H node02:2 -n 1 -- /bin/sleep 4711 2>"$work/root") ||
        note_failure "root cannot launch: $(cat "$work/root")"
}

# field NAME: of what was printed, by a Python expression on `d`.
field() { python3 -c 'import json, sys; d = json.load(open(sys.argv[2])); print(eval(sys.argv[1]))' "$1" "$work/out"; }

several_users() {
    two_tasks
    list -H "$hosts"
    expect_status 0
    expect_out "^$ours +ours +running +1 +node02 +1 +root "
    expect_out "^$his +his +running +3 +node\[01-02\] +- +bob +20.* -$"
    list -H "$hosts" --mine
    expect_no_out "^$his "
    expect_out "^$ours "
    list -H "$hosts" --json
    expect_schema task "$work/out"
    expect_equal "identities" 2 "$(field 'len({h["identity"] for h in d["hosts"]})')"
    expect_equal "slots" "[['bob', 'bob'], ['bob', 'root']]" \
        "$(field '[[s["holder"]["user"] for s in h["slots"]] for h in d["hosts"]]')"
    expect_equal "launcher" "True" \
        "$(field 'any(t["launcher"] and t["launcher"].endswith("on '"'node03'"'") and t["id"] == "'"$his"'" for t in d["tasks"])')"
    list -H "$hosts" --slots
    expect_out '^node01  0/2   \|a\|a\|$'
    expect_out '^node02  0/2   \|a\|b\|$'
    expect_out "^a held by task $his \('his'\) of bob \(launched by process [0-9]+ on 'node03'\)$"
    expect_out "^b held by task $ours \('ours'\) of root "
    expect_out '^node02: its leases are in /run/lock, with the identity [0-9a-f-]+:[0-9]+:[0-9]+$'
    as_bob task list -H "$hosts" >"$work/out"
    expect_out "^$ours +ours +running +1 +node02 +- +root "
    # Whatever its end is, what it held is free.
    on node01 "pkill -KILL -u bob"
    eventually 10 is_free node01 || note_failure "node01 is not free: $(cat "$work/out")"
    as_bob task kill "$his" >"$work/kill" 2>&1
    on head "$train" task kill "$ours" >"$work/kill" 2>&1
    list -H "$hosts" --slots
    expect_out '^node\[01-02\]  2/2   \|\.\|\.\|'
}

is_free() {
    list -H "$1:2" --slots
    out_has '^node01  2/2   \|\.\|\.\|$'
}

cut_host() {
    start_sleeper
    "$cluster" cut node02
    list -H "$hosts" --slots
    expect_status 76
    expect_out '^node01  1/2   \|a\|\.\|$'
    expect_out '^node02  \?     unreachable: '
    expect_err "^train: host 'node02': unreachable: "
    expect_last_err 'failed: host \(exit 76\)'
    list -H "$hosts" --json
    expect_status 76
    expect_schema task "$work/out"
    expect_equal "reachable" "[True, False]" "$(field '[h["reachable"] for h in d["hosts"]]')"
    train_on_head hosts list -H "$hosts" --json
    expect_schema task "$work/out"
    "$cluster" heal node02
    on head "$train" task kill "$ours" >"$work/kill" 2>&1
}

start_sleeper() {
    ours=$(on head "$train" launch -d --set name=ours -H node01:2 -n 1 -- /bin/sleep 4711 2>"$work/root") ||
        note_failure "root cannot launch: $(cat "$work/root")"
}

# Of one host the folder is named: who holds slots there is seen by those who name it as well.
named_folder() {
    printf 'hosts:\n  - {name: node01, slots: 2, lease_directory: "/srv/our locks"}\n' >"$shared/named.yaml"
    launch --hostfile /srv/shared/named.yaml -n 1 -- /bin/true
    expect_status 76
    expect_err "its slots are held in '/srv/our locks', which cannot be opened"
    on node01 'install -d -m 1777 "/srv/our locks"'
    ours=$(on head "$train" launch -d --hostfile /srv/shared/named.yaml -n 2 -- /bin/sleep 4711 2>"$work/root") ||
        note_failure "it does not start: $(cat "$work/root")"
    list --hostfile /srv/shared/named.yaml --slots
    expect_out '^node01  0/2   \|a\|a\|$'
    list -H node01:2 --slots
    expect_out '^node01  2/2   \|\.\|\.\|$'
    launch --hostfile /srv/shared/named.yaml -n 1 -- /bin/true
    expect_status 75
    on head "$train" task kill "$ours" >"$work/kill" 2>&1
}

# What hosts say of themselves is what a launch on them finds.
probed_hosts() {
    train_on_head hosts probe 'node[01-03]' --write /srv/shared/probed.yaml
    expect_status 0
    train_on_head config check -W --hosts /srv/shared/probed.yaml
    expect_status 0
    launch --hostfile /srv/shared/probed.yaml -n 3 --set resources.placement=spread -- /bin/hostname
    expect_status 0
    train_on_head hosts list --hostfile /srv/shared/probed.yaml
    expect_status 0
    expect_out "^node03 +up +$(nproc) +$(nproc) +0 +0 +places "
}

test_case "slots of several users and launchers are seen by each, until their holder is gone" several_users
test_case "a host that is cut is unreachable, and not free" cut_host
test_case "a folder of leases that the hosts file names is the host's" named_folder
test_case "a hosts file of what hosts have is one to launch with" probed_hosts
finish
