#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Slots of hosts that launchers on several machines and of several users want.
#   leases_test.sh path/to/train
# shellcheck disable=SC2016 # programs for hosts and ranks are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 4 --slots 2
use_train "${1:-}"

# make_user NAME: another user of all hosts, who logs in from node04.
make_user() {
    local host home=/srv/$1
    local account="id $1 >/dev/null 2>&1 || useradd -M -d $home -p '*' $1; install -d -o $1 -g $1 -m 700 $home $home/.ssh"
    on node04 "$account
        [ -e $home/.ssh/id_ed25519 ] || runuser -u $1 -- ssh-keygen -q -t ed25519 -N '' -f $home/.ssh/id_ed25519
        install -o $1 -m 600 /root/.ssh/known_hosts $home/.ssh/known_hosts"
    for host in node01 node02; do
        on "$host" "$account"
        on node04 "cat $home/.ssh/id_ed25519.pub" |
            "$cluster" exec "$host" /bin/bash -c "cat >$home/.ssh/authorized_keys; chown $1: $home/.ssh/authorized_keys; chmod 600 $home/.ssh/authorized_keys"
    done
}

# as_user NAME ARGUMENT...: the program, from node04.
as_user() { on node04 runuser -u "$1" -- env --chdir=/tmp HOME="/srv/$1" XDG_STATE_HOME="/srv/$1/state" "$train" "${@:2}"; }
as_bob() { as_user bob "$@"; }

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
    make_user bob
    hold -H node01:2 -n 1
    as_bob launch --set working_directory=/tmp -H 'node[01-02]:2' -n 3 --set resources.placement=pack -- \
        /bin/sh -c 'echo $(uname -n) $LOCAL_RANK' >"$work/out" 2>"$work/bob"
    expect_equal "exit status" 0 $?
    expect_equal "where bob's ranks ran" "node01 0,node02 0,node02 1" "$(sed 's/^\[[0-9]*\] //' "$work/out" | sort | paste -sd ,)"
    bob_is_told '^train: slots that were planned are held by others$'
    bob_is_told "^  task $id \('sh'\) of root .* holds 1 slot of node01, for [0-9]+ s$"
    as_bob plan -H 'node[01-02]:2' -n 2 --live --format env --rank 1 -- /bin/true >"$work/out" 2>&1
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
    make_user bob
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
    eventually 20 launches_on node01 || note_failure "node01 is not free, although its launcher has died"
    "$cluster" heal node02
    eventually 20 launches_on node02 || note_failure "node02 is not free"
    on head "$train" task kill "$id" >/dev/null 2>&1 || true
}

launches_on() { on head "$train" launch -H "$1:2" -n 2 -- /bin/true >"$work/out" 2>&1; }

# Root makes the folder for leases on a host where a task has its own in another one.
better_folder() {
    hold -H node01:2 -n 1
    on node01 'install -d -m 1777 /run/lock/train'
    launch -H node01:2 -n 2 -- touch /tmp/started
    expect_status 75
    expect_err "^  task $id \('sh'\) of root .* holds 1 slot of node01, for [0-9]+ s$"
    on node01 'test ! -e /tmp/started' || note_failure "a rank was started"
    launch -H node01:2 -n 1 -- /bin/sh -c 'echo "slot $TRAIN_DEVICE_INDICES"; ls /run/lock/train'
    expect_status 0
    expect_err '^train: slots that were planned are held by others$'
    expect_out '^\[0\] place-1$'
    train_on_head task list -H node01:2
    expect_out "^$id "
    let_go
    launch -H node01:2 -n 2 -- /bin/true
    expect_status 0
    restart node01
}

# Ann was the first on the host, so that its lock files are hers. While ben holds both slots somebody
# cleans the folder.
lock_files_are_removed() {
    restart node01
    make_user ann
    make_user ben
    as_user ann launch --set working_directory=/tmp -H node01:2 -n 2 -- /bin/true >"$work/out" 2>"$work/ann" ||
        note_failure "ann cannot launch: $(cat "$work/ann")"
    rm -f "$shared/go"
    id=$(as_user ben launch -d --set working_directory=/tmp -H node01:2 -n 2 -- \
        /bin/sh -c 'while [ ! -e /srv/shared/go ]; do sleep 0.05; done' 2>"$work/ben") ||
        note_failure "ben cannot launch: $(cat "$work/ben")"
    expect_equal "whose the lock files are" ann "$(on node01 'stat -c %U /run/lock/train-lease-place-*' | sort -u)"
    on node01 'rm /run/lock/train-lease-place-* /run/lock/train-lease-mutex'
    as_user ann launch --set working_directory=/tmp -H node01:2 -n 1 -- touch /tmp/started >"$work/out" 2>"$work/err"
    status=$?
    expect_status 75
    expect_err "^  task $id \('sh'\) of ben \(launched by process [0-9]+ on 'node04'\) holds 2 slots of node01, for [0-9]+ s$"
    on node01 'test ! -e /tmp/started' || note_failure "a rank was started"
    as_user ann task list -H node01:2 >"$work/out" 2>"$work/err"
    expect_out "^$id "
    expect_err "lock files of task $id were removed or replaced: its word counts$"
    touch "$shared/go"
    as_user ben task wait "$id" >"$work/wait" 2>&1 || note_failure "it fails: $(cat "$work/wait")"
    as_user ann launch --set working_directory=/tmp -H node01:2 -n 2 -- /bin/true >"$work/out" 2>"$work/err"
    status=$?
    expect_status 0
    restart node01
}

as_on_node01() { on node01 runuser -u "$1" -- "${@:2}"; }

# What anybody can make where all may write: a link under the name of root's folder, which leads one
# user elsewhere, and other things under the names of lock files.
squatters() {
    restart node01
    make_user ann
    make_user ben
    as_on_node01 ben ln -s /dev/shm /run/lock/train
    rm -f "$shared/go"
    id=$(as_user ben launch -d --set working_directory=/tmp -H node01:2 -n 2 -- \
        /bin/sh -c 'while [ ! -e /srv/shared/go ]; do sleep 0.05; done' 2>"$work/ben") ||
        note_failure "ben cannot launch: $(cat "$work/ben")"
    as_on_node01 ben rm /run/lock/train
    as_user ann launch --set working_directory=/tmp -H node01:2 -n 2 -- touch /tmp/started >"$work/out" 2>"$work/err"
    status=$?
    expect_status 75
    expect_err "^  task $id \('sh'\) of ben \(launched by process [0-9]+ on 'node04'\) holds 2 slots of node01, for [0-9]+ s$"
    on node01 'test ! -e /tmp/started' || note_failure "a rank was started"
    # Ben's lock files are gone, and their names are somebody else's.
    on node01 'rm /run/lock/train-lease-mutex'
    as_on_node01 ann mkdir /run/lock/train-lease-mutex
    as_user ann launch --set working_directory=/tmp -H node01:2 -n 1 -- touch /tmp/started >"$work/out" 2>"$work/err"
    status=$?
    expect_status 75
    expect_err "^  task $id \('sh'\) of ben "
    on node01 'test ! -e /tmp/started' || note_failure "a rank was started"
    touch "$shared/go"
    as_user ben task wait "$id" >"$work/wait" 2>&1 || note_failure "it fails: $(cat "$work/wait")"
    as_user ben launch --set working_directory=/tmp -H node01:2 -n 2 -- /bin/sh -c 'ls /tmp' >"$work/out" 2>"$work/err"
    status=$?
    expect_status 0
    expect_out '\] train-lease-place-1$'
    as_user ben task list -H node01:2 >"$work/out" 2>"$work/err"
    expect_err "'/run/lock/train-lease-mutex' is a folder of ann, so that no slots can be held with it; tasks use the next folder$"
    on node01 'rm /tmp/train-lease-mutex'
    as_on_node01 ann mkfifo /tmp/train-lease-mutex
    as_user ben launch --set working_directory=/tmp -H node01:2 -n 2 -- /bin/true >"$work/out" 2>"$work/err"
    status=$?
    expect_status 76
    expect_err "'/run/lock/train-lease-mutex' is a folder of ann"
    expect_err "'/tmp/train-lease-mutex' is a pipe of ann"
    on node01 'rm -rf /tmp/train-lease-*'
    restart node01
}

# races ROUNDS HOSTS HOSTS: two machines launch on these at once, and a rank finds out whether it is
# alone on its host.
races() {
    local rounds=$1 started=0 refused=0 met=0 round code codes order machine
    for ((round = 0; round < rounds; round++)); do
        for machine in head node04; do
            order=$2
            [ "$machine" = head ] || order=$3
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
                *) note_failure "round $round: exit codes$codes" "$(cat "$work/head" "$work/node04")" ;;
            esac
        done
        if [[ "$codes" == *75* ]] || grep -q 'are held by others$' "$work/head" "$work/node04"; then met=$((met + 1)); fi
        [[ "$codes " == *" 0 "* ]] || note_failure "round $round: neither has started" "$(cat "$work/head" "$work/node04")"
    done
    echo "      $started have started, $refused were refused, $met pairs have met"
}

# Launchers on two machines, their agents, guards and ranks on two hosts, and what connects them, killed
# at random moments of launches and their ends: TRAIN_KILLS of them, TRAIN_KILL_SEED to have the same again.
killed_anywhere() {
    local seed=${TRAIN_KILL_SEED:-$RANDOM} kills=${TRAIN_KILLS:-8} kill machine victims host
    RANDOM=$seed
    for ((kill = 0; kill < kills; kill++)); do
        for machine in "${machines[@]}"; do
            "$cluster" exec "$machine" "$train" launch -H 'node[01-02]:2' -n 2 --set resources.placement=spread \
                --set reconnect_window=10s -- /bin/sh -c 'sleep 0.1' </dev/null >/dev/null 2>&1 &
            disown # how it ends is no news for the shell
        done
        sleep "0.$(printf %03d $((RANDOM % 1000)))" # waits: killed at any moment
        host=${machines[RANDOM % 2]}
        ((RANDOM % 3 == 0)) || host=node0$((RANDOM % 2 + 1))
        mapfile -t victims < <(strangers "$host" | cut -d ' ' -f 1)
        [ ${#victims[@]} -eq 0 ] || kill -KILL "${victims[RANDOM % ${#victims[@]}]}" 2>/dev/null
    done
    eventually 90 is_all_over || note_failure "seed $seed: not over: $(all_processes 'train|sleep'; not_over)"
    on head "$train" hosts list -H 'node[01-02]:2' --csv >"$work/out" 2>"$work/err"
    for host in node01 node02; do expect_out "^$host,up,2,2,0," || note_failure "seed $seed"; done
    for machine in "${machines[@]}"; do
        expect_equal "the registry of $machine, seed $seed" ok "$(on "$machine" "python3 -c 'import os, sqlite3
print(sqlite3.connect(os.path.expanduser(\"~/.local/state/train/tasks.db\"), timeout=600).execute(\"pragma integrity_check\").fetchone()[0])'")"
        on "$machine" "$train" launch -H 'node[01-02]:2' -n 4 -- /bin/true >"$work/out" 2>"$work/err" ||
            note_failure "seed $seed: a launch from $machine: $(cat "$work/err")"
    done
    echo "      $kills kills, seed $seed: $(awk -F, '{ n[$3]++ } END { for (s in n) printf "%s %d  ", s, n[s] }' "$work/ends")"
}
machines=(head node04)
not_over() {
    local machine
    for machine in "${machines[@]}"; do on "$machine" "$train" task list --all --csv; done | tr -d '\r' | grep -v '^ID,' |
        tee "$work/ends" | awk -F, '$3 !~ /^(succeeded|failed|killed|interrupted|timeout|lost)$/'
}
is_all_over() { are_idle "${machines[@]}" node01 node02 && [ -z "$(not_over)" ]; }

test_case "what one user holds another one is refused, and told who holds it" another_user
test_case "a launch goes around what another user holds, on other hosts too" goes_around
test_case "a launch that asks hosts what is free ends when it is told to" ends_while_hosts_are_asked
test_case "what a dead launcher's task held is free, of a host out of reach once its ranks have ended" dead_launcher
test_case "what is held in one folder of a host counts when root has made a better one" better_folder
test_case "what a user holds is his although its lock files, another one's, are removed" lock_files_are_removed
test_case "nobody takes slots from another one, or keeps him out, with what he makes where all may write" squatters
race_case "of two machines that launch at once on the same hosts one starts, never both, never neither" \
    races "${TRAIN_RACES:-12}" node01:1,node02:1 node02:1,node01:1
race_case "of two that launch at once on hosts of which they share one, never both start there, never neither" \
    races "${TRAIN_RACES:-6}" node01:1,node02:1 node02:1,node03:1
race_case "whoever is killed whenever, on two machines and two hosts, nothing is held and the registries are whole" killed_anywhere
finish
