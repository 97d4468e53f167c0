#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The links between hosts, as `train check --full` measures them.   links_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the hosts are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 4 --slots 2
use_train "${1:-}"
hosts='node[01-04]:2'

check() { run_on_head "$train" check -H "$hosts" "$@"; }
field() { /usr/bin/python3 -c 'import json, sys; d = json.load(open(sys.argv[2])); print(eval(sys.argv[1]))' "$1" "$work/out"; }

all_links_are_measured() {
    check --full
    expect_status 0
    expect_out '^6 links: [0-9.]+ [GM]bit/s \(slowest [0-9.]+ [GM]bit/s: node0[1-4] - node0[1-4]\), round trip '
    expect_err '^train: all 4 hosts are fit$'
    check --full --json
    expect_status 0
    expect_schema check "$work/out"
    expect_equal "pairs" "[('node01', 'node02'), ('node01', 'node03'), ('node01', 'node04'), ('node02', 'node03'), ('node02', 'node04'), ('node03', 'node04')]" \
        "$(field "sorted((l['from'], l['to']) for l in d['links'])")"
    expect_equal "that were measured" 6 "$(field "sum(1 for l in d['links'] if l['round_trip_ns'] > 0 and l['bytes_per_second_there'] > 0 and l['bytes_per_second_back'] > 0)")"
    # Without --full nothing is launched, and nobody is told of links.
    check --json
    expect_equal "links" None "$(field "d['links']")"
    expect_idle 4 "${nodes[@]}"
}

# Its 2 cores serve all hosts of the bed, which is harder than any network.
no_false_alarm() {
    local i
    for ((i = 0; i < 10; i++)); do
        check --full
        expect_status 0
        expect_equal "what is said" 0 "$(grep -c '^node[^ ]*: ' "$work/out")"
    done
}

# A thousandth of what the others have, on any machine.
slow_host() {
    "$cluster" slow node03 2mbit
    check --full
    expect_status 1
    expect_out '^node03: unfit: its link to others carries [0-9.]+ [km]bit/s, where most hosts have |^node03: unfit: its link to others carries [0-9.]+ Mbit/s, where most hosts have '
    expect_out "^  look at cable, port and duplex of its interface"
    expect_equal "what is said" 1 "$(grep -c '^node[^ ]*: ' "$work/out")"
    "$cluster" heal node03
}

# Neither is a neighbour of the other in the ring in which a launch looks.
pair_out_of_reach() {
    local address
    address=$(on node04 "ip -4 -o address show eth0" | sed 's/.*inet \([0-9.]*\).*/\1/')
    on node02 "ip route add unreachable $address"
    check --full
    expect_status 1
    expect_out '^node04: unfit: no data goes between it and node02: no route to host$'
    expect_out "^  look for a firewall between the two"
    check --full --json
    expect_schema check "$work/out"
    expect_equal "what is not measured" "[('node02', 'node04', 'no route to host')]" \
        "$(field "[(l['from'], l['to'], l['error']) for l in d['links'] if l['error']]")"
    on node02 "ip route del unreachable $address"
}

# Of those that are fit; the others are told for what they are.
unfit_hosts_are_left_out() {
    "$cluster" crash node04
    check --full
    expect_status 2
    expect_out '^3 links: '
    expect_out '^node04: unknown: '
    "$cluster" boot node04
    eventually 30 on node04 true
}

no_slot_is_free() {
    local id
    rm -f "$shared/go"
    id=$(on head "$train" launch -d -H 'node02:2' -n 2 -- /bin/sh -c 'while [ ! -e /srv/shared/go ]; do sleep 0.05; done' 2>"$work/err") ||
        note_failure "it does not start: $(cat "$work/err")"
    check --full
    expect_status 2
    expect_out '^node\[01-04\]: unknown: its links were not measured: '
    touch "$shared/go"
    on head "$train" task wait "$id" >"$work/wait" 2>&1 || note_failure "it fails: $(cat "$work/wait")"
}

launch_looks_first() {
    "$cluster" slow node03 2mbit
    run_on_head "$train" launch --check=full -H "$hosts" -n 2 -- /bin/true
    expect_status 76
    expect_err '^train: node03: its link to others carries '
    expect_err '; nothing was started$'
    run_on_head "$train" launch --check=full --exclude-unfit -H "$hosts" -n 6 -- /bin/true
    expect_status 0
    expect_err '^train: launching without node03$'
    "$cluster" heal node03
    run_on_head "$train" launch --check=half -H "$hosts" -- /bin/true
    expect_status 64
    expect_err "half"
}

# By hand, outside of a task.
by_hand() {
    run_on_head "$train" measure-links
    expect_status 64
    expect_err '^train: measure-links runs as the ranks of a task$'
    expect_err "^  'train check --full' starts it$"
}

test_case "each pair is measured, in both directions" all_links_are_measured
test_case "links that are well are never called slow" no_false_alarm
test_case "a host whose links are slow is named" slow_host
test_case "two hosts that do not reach each other are named" pair_out_of_reach
test_case "hosts that are not fit are left out" unfit_hosts_are_left_out
test_case "where a slot is not free nothing is measured, and that is said" no_slot_is_free
test_case "a launch measures links first where that is wanted" launch_looks_first
test_case "nobody calls it by hand" by_hand
finish
