#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Slots of hosts that launchers on several machines and of several users want.
#   leases_test.sh path/to/train
# shellcheck disable=SC2016 # programs for hosts and ranks are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 4 --slots 2
use_train "${1:-}"

# Another user of all hosts, who logs in from node04.
make_user() {
    local host
    on node04 'id bob >/dev/null 2>&1 || useradd -M -d /srv/bob -p "*" bob; install -d -o bob -g bob -m 700 /srv/bob /srv/bob/.ssh
        [ -e /srv/bob/.ssh/id_ed25519 ] || runuser -u bob -- ssh-keygen -q -t ed25519 -N "" -f /srv/bob/.ssh/id_ed25519
        install -o bob -m 600 /root/.ssh/known_hosts /srv/bob/.ssh/known_hosts'
    for host in node01 node02; do
        on "$host" 'id bob >/dev/null 2>&1 || useradd -M -d /srv/bob -p "*" bob; install -d -o bob -g bob -m 700 /srv/bob /srv/bob/.ssh'
        on node04 'cat /srv/bob/.ssh/id_ed25519.pub' |
            "$cluster" exec "$host" /bin/bash -c 'cat >/srv/bob/.ssh/authorized_keys; chown bob: /srv/bob/.ssh/authorized_keys; chmod 600 /srv/bob/.ssh/authorized_keys'
    done
}

as_bob() { on node04 runuser -u bob -- env --chdir=/tmp HOME=/srv/bob XDG_STATE_HOME=/srv/bob/state "$train" "$@"; }

# hold ARGUMENT...: a task of root, from the head; sets `id`.
hold() {
    rm -f "$shared/go"
    id=$(on head "$train" launch -d "$@" -- /bin/sh -c 'while [ ! -e /srv/shared/go ]; do sleep 0.05; done' 2>"$work/err") ||
        note_failure "it does not start: $(cat "$work/err")"
}

let_go() {
    touch "$shared/go"
    on head "$train" task wait "$id" >"$work/wait" 2>&1 || note_failure "it fails: $(cat "$work/wait")"
}

bob_is_told() { grep -Eq -- "$1" "$work/bob" || note_failure "bob is not told $1: $(cat "$work/bob")"; }

# Of slots that root holds, bob's launch takes those beside them, on other hosts too.
goes_around() {
    make_user
    hold -H node01:2 -n 1
    as_bob launch --set working_directory=/tmp -H 'node[01-02]:2' -n 3 --set resources.placement=pack -- \
        /bin/sh -c 'echo $(uname -n) $LOCAL_RANK' >"$work/out" 2>"$work/bob"
    expect_equal "exit status" 0 $?
    expect_equal "where bob's ranks ran" "node01 0,node02 0,node02 1" "$(sed 's/^\[[0-9]*\] //' "$work/out" | sort | paste -sd ,)"
    bob_is_told '^train: slots that were planned are held by others$'
    bob_is_told "^  task $id \('sh'\) of root .* holds 1 slot of node01, for [0-9]+ s$"
    as_bob plan -H 'node[01-02]:2' -n 2 --live --format env --rank 0 -- /bin/true >"$work/out" 2>&1
    grep -q "node02" "$work/out" || note_failure "a plan of what is free: $(cat "$work/out")"
    let_go
}

# A host that is cut is asked as well, and is not waited for once somebody wants the end.
ends_while_hosts_are_asked() {
    hold -H node01:2 -n 2
    "$cluster" cut node02
    on head "$train" launch -H 'node[01-02]:2' -n 2 -- /bin/true >"$work/out" 2>"$work/err" &
    local waits=$!
    eventually 10 asks_hosts || note_failure "no host is asked: $(cat "$work/err")"
    on head "pkill -TERM -f 'train launch -H'"
    wait "$waits"
    expect_equal "exit status" 143 $?
    expect_equal "state" "killed" "$(on head "$train" task list --all --csv | tr -d '\r' | awk -F, 'NR == 2 { print $3 }')"
    "$cluster" heal node02
    let_go
}

asks_hosts() { on head "ss -Htn state syn-sent" | grep -q .; }

another_user() {
    make_user
    hold -H 'node[01-02]:2' -n 3 --set resources.placement=pack
    as_bob launch --set working_directory=/tmp -H node02:2 -n 2 -- /bin/true >"$work/out" 2>"$work/bob"
    expect_equal "exit status" 75 $?
    bob_is_told '^train: not now, of what is free: 2 slots asked, node02 has 1$'
    bob_is_told "^  task $id \('sh'\) of root \(launched by process [0-9]+ on 'head'\) holds 1 slot of node02, for [0-9]+ s$"
    bob_is_told '^  nearest count that fits: 1$'
    let_go
    as_bob launch --set working_directory=/tmp -H 'node[01-02]:2' -n 4 -- /bin/true >"$work/out" 2>"$work/bob"
    expect_equal "exit status" 0 $?
    on head "$train" launch -H node01:2 -n 2 -- /bin/true >"$work/out" 2>&1
    expect_equal "exit status for root on files of bob" 0 $?
}

# Whoever has died holds nothing; a host that is out of reach holds what its ranks have.
dead_launcher() {
    hold -H 'node[01-02]:2' -n 4 --set on_launcher_loss=stop --set reconnect_window=12s
    "$cluster" cut node02
    on head "pkill -KILL -f 'train launch -d'"
    eventually 10 launches_on node01 || note_failure "node01 is not free 10 s after its launcher has died"
    sleep 2
    "$cluster" heal node02
    eventually 20 launches_on node02 || note_failure "node02 is not free"
    on head "$train" task kill "$id" >/dev/null 2>&1 || true
}

launches_on() { on head "$train" launch -H "$1:2" -n 2 -- /bin/true >"$work/out" 2>&1; }

# Two machines, two hosts in both orders: a rank finds out whether it is alone there.
races() {
    local rounds=${TRAIN_RACES:-12} started=0 refused=0 met=0 round code codes order machine
    for ((round = 0; round < rounds; round++)); do
        for machine in head node03; do
            order=node01:1,node02:1
            [ "$machine" = head ] || order=node02:1,node01:1
            on "$machine" "$train" launch -H "$order" -n 2 -- /bin/sh -c 'mkdir /srv/alone || exit 9; sleep 0.05; rmdir /srv/alone' >"$work/$machine" 2>&1 &
        done
        codes=''
        for pid in $(jobs -p); do
            wait "$pid"
            codes+=" $?"
        done
        for code in $codes; do
            case $code in
                0) started=$((started + 1)) ;;
                75) refused=$((refused + 1)) ;;
                *) note_failure "round $round: exit codes$codes" "$(cat "$work/head" "$work/node03")" ;;
            esac
        done
        if [[ "$codes" == *75* ]] || grep -q 'are held by others$' "$work/head" "$work/node03"; then met=$((met + 1)); fi
        [[ "$codes " == *" 0 "* ]] || note_failure "round $round: neither has started" "$(cat "$work/head" "$work/node03")"
    done
    echo "      $started have started, $refused were refused, $met pairs have met"
    [ "$met" -gt 0 ] || note_failure "no two of $rounds pairs have met"
}

test_case "what one user holds another one is refused, and told who holds it" another_user
test_case "a launch goes around what another user holds, on other hosts too" goes_around
test_case "a launch that asks hosts what is free ends when it is told to" ends_while_hosts_are_asked
test_case "what a dead launcher's task held is free, of a host out of reach once its ranks have ended" dead_launcher
test_case "of two machines that launch at once on the same hosts one starts, never both, never neither" races
finish
