#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Launches of several users and machines that wait in line for slots of the same hosts.
#   wait_test.sh path/to/train
# shellcheck disable=SC2016 # programs for hosts and ranks are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 4 --slots 2
use_train "${1:-}"

# Another user of the first two hosts, who logs in from node04.
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

says() { grep -qs "$2" "$work/$1"; }

tickets_are() { # HOST COUNT
    [ "$(on "$1" 'ls /run/lock /run/lock/train 2>/dev/null | grep -c ticket-')" -eq "$2" ]
}

expect_tickets_gone() {
    local host
    for host in node01 node02; do
        eventually 10 tickets_are "$host" 0 || note_failure "a ticket is left on $host"
    done
}

# Gangs over both hosts, in both orders; what each rank says goes into one file of the host.
gangs() {
    make_user
    hold -H 'node[01-02]:2' -n 4
    on node01 'rm -f /srv/order; touch /srv/order; chmod 666 /srv/order'
    local mark='if [ "$(hostname)" = node01 ] && [ "$LOCAL_RANK" = 0 ]; then echo "$1" >>/srv/order; sleep 0.3; fi'
    on head "$train" launch --wait -H node01:2,node02:2 -n 4 -- /bin/sh -c "$mark" x root >"$work/root" 2>&1 &
    local root=$!
    eventually 10 says root 'waits for 4 slots on node\[01-02\], 1st in line' || note_failure "root is told: $(cat "$work/root")"
    as_bob launch --wait --set working_directory=/tmp -H node02:2,node01:2 -n 4 -- /bin/sh -c "$mark" x bob >"$work/bob" 2>&1 &
    local bob=$!
    eventually 10 says bob "2nd in line, behind task .* of root" || note_failure "bob is told: $(cat "$work/bob")"
    on node03 "$train" launch -H node02:2 -n 1 -- /bin/true >"$work/out" 2>&1
    expect_equal "exit status of one that does not wait" 75 $?
    touch "$shared/go"
    wait "$root" || note_failure "root: $(cat "$work/root")"
    wait "$bob" || note_failure "bob: $(cat "$work/bob")"
    expect_equal "order" "root bob" "$(on node01 cat /srv/order | tr '\n' ' ' | sed 's/ $//')"
    expect_tickets_gone
}

# Who waits goes on without a host that is cut, and meets it again.
cut_host() {
    hold -H 'node[01-02]:2' -n 4
    on head "$train" launch --wait -H node01:2,node02:2 -n 2 -- /bin/true >"$work/out" 2>&1 &
    local waits=$!
    eventually 10 says out '1st in line' || note_failure "it is told: $(cat "$work/out")"
    on node02 'pkill -KILL -f "agent [w]ait"'
    eventually 10 says out "host 'node02' is not waited for" || note_failure "it is told: $(cat "$work/out")"
    eventually 10 on node02 pgrep -f 'agent [w]ait' >/dev/null || note_failure "its ticket is not made anew"
    eventually 10 tickets_are node02 1 || note_failure "its ticket is not made anew"
    touch "$shared/go"
    wait "$waits" || note_failure "it ends with $?: $(cat "$work/out")"
    expect_tickets_gone
}

# A host that is cut says nothing: nobody waits for it for ever, on neither side.
silent_host() {
    local one=$shared/go1
    rm -f "$one"
    hold -H 'node02:2' -n 2
    on head "$train" launch -d -H 'node01:2' -n 2 -- /bin/sh -c 'while [ ! -e /srv/shared/go1 ]; do sleep 0.05; done' >"$work/out" 2>"$work/err" ||
        note_failure "it does not start: $(cat "$work/err")"
    on head "$train" launch --wait -H node01:2,node02:2 -n 2 --set resources.placement=pack -- hostname >"$work/out" 2>&1 &
    local waits=$!
    eventually 10 says out '1st in line' || note_failure "it is told: $(cat "$work/out")"
    "$cluster" cut node02
    eventually 45 says out "host 'node02' is not waited for" || note_failure "it is told: $(cat "$work/out")"
    expect_equal "why" 1 "$(grep -c "no word from it for 30 s" "$work/out")"
    eventually 15 tickets_are node02 0 || note_failure "its ticket stays on a host that is cut"
    touch "$one"
    wait "$waits" || note_failure "it ends with $?: $(cat "$work/out")"
    expect_equal "where it runs" 2 "$(grep -c '\] node01$' "$work/out")"
    "$cluster" heal node02
    touch "$shared/go"
    on head "$train" task wait "$id" >"$work/wait" 2>&1 || note_failure "the holder fails: $(cat "$work/wait")"
    expect_tickets_gone
}

# Who comes first on one host keeps nobody from another one.
first_on_one() {
    local first second one=$shared/go1
    rm -f "$one"
    hold -H 'node01:2' -n 2
    on head "$train" launch -d -H 'node02:2' -n 2 -- /bin/sh -c 'while [ ! -e /srv/shared/go1 ]; do sleep 0.05; done' >"$work/out" 2>"$work/err" ||
        note_failure "it does not start: $(cat "$work/err")"
    on head "$train" launch --wait -H node01:2 -n 2 -- hostname >"$work/first" 2>&1 &
    first=$!
    eventually 10 says first '1st in line' || note_failure "the first is told: $(cat "$work/first")"
    on head "$train" launch --wait -H node01:2,node02:2 -n 2 -- hostname >"$work/second" 2>&1 &
    second=$!
    eventually 10 says second '2nd in line, behind task' || note_failure "the second is told: $(cat "$work/second")"
    touch "$one"
    wait "$second" || note_failure "the second ends with $?: $(cat "$work/second")"
    says second 'it is its turn, on node02' || note_failure "the second is told: $(cat "$work/second")"
    says first 'it is its turn' && note_failure "the first is told: $(cat "$work/first")"
    touch "$shared/go"
    wait "$first" || note_failure "the first ends with $?: $(cat "$work/first")"
    expect_tickets_gone
}

# A gang that lacks a host holds up nobody on the other one, and has its place again afterwards.
stands_aside() {
    local gang small
    hold -H 'node01:2' -n 2
    on head "$train" launch --wait -H node01:2,node02:2 -n 4 -- hostname >"$work/gang" 2>&1 &
    gang=$!
    eventually 10 says gang '1st in line' || note_failure "the gang is told: $(cat "$work/gang")"
    on node02 'pkill -KILL -f "agent [w]ait"'
    eventually 10 says gang "host 'node02' is not waited for" || note_failure "the gang is told: $(cat "$work/gang")"
    "$cluster" cut node02
    eventually 60 says gang 'others go before it until node02 can be reached' || note_failure "the gang is told: $(cat "$work/gang")"
    on head "$train" launch --wait -H node01:2 -n 2 -- hostname >"$work/small" 2>&1 &
    small=$!
    eventually 10 says small '1st in line' || note_failure "the small one is told: $(cat "$work/small")"
    touch "$shared/go"
    wait "$small" || note_failure "the small one ends with $?: $(cat "$work/small")"
    "$cluster" heal node02
    wait "$gang" || note_failure "the gang ends with $?: $(cat "$work/gang")"
    says gang 'it is its turn, on node\[01-02\]' || note_failure "the gang is told: $(cat "$work/gang")"
    expect_equal "ranks of the gang" 4 "$(grep -Ec '\] node0[12]$' "$work/gang")"
    expect_tickets_gone
}

accepted() { on "$1" 'grep -c "Accepted publickey" /run/sshd.log || true'; }

# Since they were counted.
expect_logins() { # HOST NUMBER
    expect_equal "logins to $1" "$2" "$(($(accepted "$1") - before[$1]))"
}
count_logins() {
    local host
    for host in node01 node02 node03; do before[$host]=$(accepted "$host"); done
}

# serves HOST NUMBER: so many sessions of root has the host.
serves() { [ "$("$cluster" processes "$1" '^sshd: root@' | wc -l)" -eq "$2" ]; }
expect_sessions() { eventually 10 serves "$@" || note_failure "sessions on $1: not $2 but" "$("$cluster" processes "$1" '^sshd: root@')"; }

# start_waiting ARGUMENT...: a launch that stands in line.
start_waiting() {
    launch_start --wait "$@"
    eventually 10 err_has '1st in line' || note_failure "it does not stand in line"
}

# The refusal, the look, the line and the ranks take one login. A host that gets no ranks is let go
# when they start.
one_login() {
    local -A before
    rm -f "$shared/go1" "$shared/go2" "$shared"/up-*
    hold -H 'node[01-02]:2' -n 4
    on head "$train" launch -d -H node03:1 -n 1 -- /bin/sh -c 'while [ ! -e /srv/shared/go1 ]; do sleep 0.05; done' >"$work/one" 2>&1 ||
        note_failure "the other holder does not start: $(cat "$work/one")"
    count_logins
    start_waiting -H node01:2,node02:2,node03:1 -n 4 -- /bin/sh -c 'touch "/srv/shared/up-$RANK"; while [ ! -e /srv/shared/go2 ]; do sleep 0.05; done'
    expect_sessions node03 2
    touch "$shared/go"
    within 20 "all ranks run" test -e "$shared/up-0" -a -e "$shared/up-1" -a -e "$shared/up-2" -a -e "$shared/up-3"
    expect_sessions node01 1
    expect_sessions node03 1
    expect_tickets_gone
    touch "$shared/go2"
    await_launch 30
    expect_status 0
    expect_logins node01 1
    expect_logins node02 1
    expect_logins node03 1
    touch "$shared/go1"
}

# It waits in the process that then launches.
one_login_detached() {
    local -A before
    local other
    hold -H 'node[01-02]:2' -n 4
    count_logins
    other=$(on head "$train" launch -d --wait -H 'node[01-02]:2' -n 4 -- /bin/true 2>"$work/err") ||
        note_failure "it does not wait: $(cat "$work/err")"
    touch "$shared/go"
    on head "$train" task wait "$other" >"$work/out" 2>&1 || note_failure "it ends with $?: $(cat "$work/out")"
    expect_logins node01 1
    expect_logins node02 1
}

# That of the holder stays.
dead_session() {
    local -A before
    hold -H 'node[01-02]:2' -n 4
    count_logins
    start_waiting -H 'node[01-02]:2' -n 4 -- /bin/true
    on node01 'pkill -KILL -n -f "^sshd: root@"'
    eventually 10 err_has "host 'node01' is not waited for" || note_failure "it is not told"
    eventually 10 tickets_are node01 1 || note_failure "its ticket is not made anew"
    touch "$shared/go"
    await_launch 30
    expect_status 0
    expect_logins node01 2
    expect_logins node02 1
}

interrupted() {
    local host
    hold -H 'node[01-02]:2' -n 4
    start_waiting -H 'node[01-02]:2' -n 2 -- /bin/true
    for host in node01 node02; do expect_sessions "$host" 2; done
    signal_launcher INT
    await_launch 10
    expect_status 130
    for host in node01 node02; do expect_sessions "$host" 1; done
    expect_tickets_gone
    eventually 10 nobody_waits || note_failure "agents wait: $(all_processes 'agent [w]ait')"
    touch "$shared/go"
    on head "$train" task wait "$id" >"$work/out" 2>&1 || note_failure "the holder fails: $(cat "$work/out")"
}

nobody_waits() { [ -z "$(all_processes 'agent [w]ait')" ]; }

killed_launcher() {
    hold -H 'node[01-02]:2' -n 4
    on head "$train" launch --wait -H 'node[01-02]:2' -n 2 -- /bin/true >"$work/out" 2>&1 &
    local waits=$!
    eventually 10 says out '1st in line' || note_failure "it is told: $(cat "$work/out")"
    on head "pkill -KILL -f 'train launch --[w]ait'"
    wait "$waits"
    expect_tickets_gone
    touch "$shared/go"
    on head "$train" task wait "$id" >/dev/null 2>&1 || note_failure "the holder fails"
}

keep_mutex() {
    rm -f "$shared/kept"
    on node01 'nohup python3 -c "import fcntl, time
file = open(\"/run/lock/train-lease-mutex\", \"r+\")
while True:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        break
    except OSError:
        time.sleep(0.001)
open(\"/srv/shared/kept\", \"w\").close()
time.sleep(1000)" </dev/null >/dev/null 2>&1 & echo $! >/srv/shared/keeper'
    eventually 10 test -e "$shared/kept" || note_failure "the mutex is not kept"
}

# Whoever keeps the mutex delays those who wait, and ends none: at its turn, or when it comes.
kept_mutex() {
    local bob
    make_user
    hold -H 'node01:2' -n 2
    as_bob launch --wait --set working_directory=/tmp -H node01:2 -n 2 -- hostname >"$work/bob" 2>&1 &
    bob=$!
    eventually 10 says bob '1st in line' || note_failure "bob is told: $(cat "$work/bob")"
    keep_mutex
    touch "$shared/go"
    is_delayed "$bob"
    keep_mutex
    rm -f "$work/bob"
    as_bob launch --wait --set working_directory=/tmp -H node01:2 -n 2 -- hostname >"$work/bob" 2>&1 &
    is_delayed $!
}

is_delayed() {
    eventually 30 says bob "not yet: host 'node01': slot 0 held by a process that keeps the lock of '/run/lock/train-lease-mutex'" ||
        note_failure "bob is told: $(cat "$work/bob")"
    on node01 'kill -KILL $(cat /srv/shared/keeper)'
    wait "$1" || note_failure "bob ends with $?: $(cat "$work/bob")"
    expect_equal "ranks of bob" 2 "$(grep -c '\] node01$' "$work/bob")"
    expect_equal "how often it is said" 1 "$(grep -c 'not yet' "$work/bob")"
    expect_equal "how often its turn is said" 1 "$(grep -c 'it is its turn' "$work/bob")"
    expect_tickets_gone
}

test_case "gangs of two users wait for two hosts in one order" gangs
test_case "a host that loses a ticket is told of, and met again" cut_host
soak_case "a host that is cut while it is waited for is told of, and the others serve" silent_host
test_case "who lacks a host that is cut stands aside until it is there" stands_aside
test_case "a task starts where it is first, whoever is before it elsewhere" first_on_one
test_case "the tickets of a killed launcher go" killed_launcher
test_case "who keeps the mutex of a host delays those who wait, and ends none" kept_mutex
test_case "a task that was refused, waits and runs logs in once to each host" one_login
test_case "so does one that waits without a terminal" one_login_detached
test_case "a session that dies while a task waits is replaced" dead_session
test_case "nothing is left on a host where a task has waited that Ctrl-C ends" interrupted
finish
