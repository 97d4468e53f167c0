#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Agents that are killed together with their guards, and what their ranks leave.
#   sweep_test.sh path/to/train
# shellcheck disable=SC2016 # programs for hosts and ranks are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 3 --slots 1
use_train "${1:-}"

on_three=(-H 'node[01-03]:1' -n 3)

# A rank ends with its agent. What it starts does not: a child, one in a session of its own, one that
# has forgotten its environment, one of both, and a daemon that has forked twice.
abandoned='sleep 4711 &
    setsid sleep 4711 &
    env -i sleep 4711 &
    (setsid env -i sleep 4711 &)
    (setsid sh -c "(setsid sleep 4711 >/dev/null 2>&1 </dev/null &)" &)
    exec sleep 4712'
# Only a cgroup holds one that keeps nothing of its rank.
forgetful='(setsid env -i sleep 4711 </dev/null >/dev/null 2>&1 &); '

sleeping() { "$cluster" processes "$1" '^sleep 471[12]' | wc -l; }
all_sleep() { # COUNT: on every host, the rank included
    local host
    for host in "${nodes[@]}"; do [ "$(sleeping "$host")" -eq "$1" ] || return 1; done
}

start_abandoned() { # SCRIPT COUNT ARGUMENT...
    local script=$1 count=$2
    shift 2
    start_on_head env --chdir=/tmp "$train" launch "$@" -- /bin/sh -c "$script"
    within 30 "all that the ranks start runs" all_sleep "$count"
}
start_with_cgroups() { start_abandoned "$forgetful$abandoned" 7 "$@"; }

# Stopped first, so that none does anything about the end of another.
signal_agents() { # SIGNAL HOST...
    local signal=$1 host
    shift
    for host in "$@"; do on "$host" "pkill -$signal train"; done
}
kill_agents() {
    signal_agents STOP "$@"
    signal_agents KILL "$@"
}

# folders_of HOST: what agents keep there, but for the program and contexts.
expect_no_state() {
    local host left
    for host in "$@"; do
        left=$(on "$host" 'find /tmp/train-* -mindepth 1 ! -name "train-*" 2>/dev/null
            find /sys/fs/cgroup -mindepth 1 -name "train-*"; find /dev/shm -mindepth 1')
        expect_equal "what is left in folders of $host" "" "$left"
    done
}

ended_line='[0-9]+ processes that it had left were ended$'

# Asked for once more, the host ends what was left before it says that there is no agent.
one_host() { # ARGUMENT...
    start_with_cgroups "${on_three[@]}" "$@"
    kill_agents node02
    await_launch 30
    expect_status 76
    expect_last_err "failed: host: host 'node02': its agent has ended, and its ranks with it \(exit 76\)$"
    expect_idle 10 "${nodes[@]}"
    expect_no_state "${nodes[@]}"
}

no_window() { # ARGUMENT...
    start_with_cgroups "${on_three[@]}" --set reconnect_window=0s "$@"
    kill_agents node02
    await_launch 30
    expect_status 76
    expect_err "^train: host 'node02': its agent was killed; $ended_line"
    expect_last_err node02 '\bhost\b' 'exit 76'
    expect_idle 10 "${nodes[@]}"
    expect_no_state "${nodes[@]}"
}

without_cgroups() {
    local host
    for host in "${nodes[@]}"; do
        on "$host" 'mount --bind /sys/fs/cgroup /sys/fs/cgroup && mount -o remount,bind,ro /sys/fs/cgroup'
    done
    start_abandoned "$abandoned" 6 "${on_three[@]}"
    kill_agents "${nodes[@]}"
    await_launch 30
    expect_status 76
    expect_last_err "failed: host: hosts? node.*: its agent has ended, and its ranks with it"
    expect_idle 10 "${nodes[@]}"
    expect_no_state "${nodes[@]}"
    restart "${nodes[@]}"
}

plain_user() {
    local host
    for host in "${nodes[@]}"; do
        on "$host" 'useradd -m -d /srv/worker -s /bin/bash -p "*" worker && cp -r .ssh /srv/worker/ &&
            chown -R worker: /srv/worker/.ssh'
    done
    start_abandoned "$abandoned" 6 -H 'worker@node[01-03]:1' -n 3 --set reconnect_window=0s
    kill_agents "${nodes[@]}"
    await_launch 30
    expect_status 76
    expect_equal "hosts that are told" 3 "$(grep -Ec "its agent was killed; $ended_line" "$work/err")"
    expect_idle 10 "${nodes[@]}"
    expect_no_state "${nodes[@]}"
    restart "${nodes[@]}"
}

kill_everything() {
    start_with_cgroups "${on_three[@]}" --set reconnect_window=0s
    signal_agents STOP "${nodes[@]}"
    signal_launcher KILL
    signal_agents KILL "${nodes[@]}"
    await_launch 10
    # The rank itself ends with its agent.
    eventually 5 all_sleep 6
    expect_equal "what is to be ended" "6 6 6" "$(settled all_sleeping)"
}
all_sleeping() { local host; for host in "${nodes[@]}"; do sleeping "$host"; done | paste -sd' '; }

next_launch() {
    kill_everything
    launch "${on_three[@]}" -- true
    expect_status 0
    expect_idle 10 "${nodes[@]}"
    expect_no_state "${nodes[@]}"
}

task_kill() {
    kill_everything
    local id
    id=$(on head "$train" task list --all --csv | awk -F, 'NR == 2 { print $1 }')
    train_on_head task kill "$id"
    expect_status 0
    expect_equal "hosts that are told" 3 "$(grep -Ec "its agent was killed; $ended_line" "$work/err")"
    expect_last_err "task $id has ended already: lost; nothing of it is left on its hosts"
    expect_idle 10 "${nodes[@]}"
    expect_no_state "${nodes[@]}"
}

logins() { # of all hosts, so far
    local host
    for host in "${nodes[@]}"; do on "$host" 'grep Accepted /run/sshd.log'; done | wc -l
}

# An agent may close its end of the connection before the launcher closes its own.
nothing_to_sweep() {
    local before
    before=$(logins)
    for _ in 1 2 3 4 5 6 7 8; do
        launch "${on_three[@]}" -- true
        expect_status 0
    done
    expect_equal "logins of 8 launches" 24 $(($(logins) - before))
}

task_kill_without_a_host() {
    kill_everything
    local id
    id=$(on head "$train" task list --all --csv | awk -F, 'NR == 2 { print $1 }')
    "$cluster" crash node03
    train_on_head task kill "$id"
    expect_status 76
    expect_err "^train: host 'node03': it is not known what its agent has left: .*refused"
    expect_idle 10 node01 node02
}

test_case "who has ended as it should is not asked again" nothing_to_sweep
test_case "kill -9 of agent and guard leaves nothing" one_host
test_case "the same through OpenSSH's client" one_host --transport openssh
test_case "the same where no cgroup can be made" without_cgroups
test_case "without a reconnect window a line says what was left" no_window
test_case "the same through OpenSSH's client, without a window" no_window --transport openssh
test_case "the same as a plain user" plain_user
test_case "what is left when the launcher is killed as well goes with the next launch" next_launch
test_case "what is left when the launcher is killed as well goes with task kill" task_kill
test_case "task kill names the hosts that cannot be asked" task_kill_without_a_host
finish
