#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Launches on hosts that run no sshd, through a program that a hosts file names; from this machine.
#   command_test.sh path/to/train
. "$(dirname "$0")/lib.sh"

use_cluster 2 --slots 1
use_train "${1:-}"
here=$(realpath "$1")
export HOME="$work/home" XDG_STATE_HOME="$work/state"
unset XDG_CONFIG_HOME
mkdir "$HOME"
# shellcheck disable=SC2016 # the host expands it
for host in "${nodes[@]}"; do on "$host" 'kill "$(cat /run/sshd.pid)"'; done

# hosts_file COMMAND: as YAML.
hosts_file() {
    printf '%s\n' "defaults: {slots: 1, transport: {command: $1}}" 'hosts:' \
        '  - {name: node01, address: 10.77.1.1}' '  - {name: node02, address: 10.77.1.2}' >"$work/hosts.yaml"
}
by_words() { hosts_file "[\"$cluster\", exec, \"{host}\"]"; }

# train_here ARGUMENT...: to its end, on this machine.
train_here() {
    "$here" "$@" </dev/null >"$work/out" 2>"$work/err"
    status=$?
}
start_here() {
    env --default-signal=INT setsid "$here" "$@" </dev/null >"$work/out" 2>"$work/err" &
    launch_job=$!
}
on_both=(--hostfile "$work/hosts.yaml" -n 2)

ranks_meet() {
    by_words
    cp "$(dirname "$0")/../cli/tensorflow_worker.py" "$(dirname "$0")/../support/waiting.py" "$shared/"
    train_here launch "${on_both[@]}" --set framework=tensorflow -- \
        /usr/bin/python3 /srv/shared/tensorflow_worker.py
    expect_status 0
    expect_equal "workers that met all" 2 "$(grep -c 'of 2 has met all' "$work/out")"
    expect_idle 5 "${nodes[@]}"
}

a_shell_may_execute_the_line() {
    # The bed executes one word by a shell.
    hosts_file "[\"$cluster\", exec, \"{host}\", \"{command}\"]"
    train_here launch "${on_both[@]}" -- hostname
    expect_status 0
    expect_out '^\[0\] node01$'
    expect_out '^\[1\] node02$'
}

interrupted() {
    by_words
    start_here launch "${on_both[@]}" -- /bin/sh -c "$forever"
    within 30 "a worker runs on every host" workers_run
    kill -INT "$launch_job"
    await_launch 30
    expect_status 130
    expect_idle 5 "${nodes[@]}"
}

killed() {
    by_words
    start_here launch "${on_both[@]}" --set reconnect_window=10s -- /bin/sh -c "$forever"
    within 30 "a worker runs on every host" workers_run
    kill -KILL "$launch_job"
    wait "$launch_job" 2>/dev/null
    expect_idle 60 "${nodes[@]}"
}

connection_lost() {
    by_words
    start_here launch "${on_both[@]}" --set reconnect_window=60s -- /bin/sh -c \
        'echo begun; until [ -e /tmp/go ]; do sleep 0.1; done; echo done'
    within 30 "both ranks have begun" out_count_is 2 'begun$'
    local pid
    pid=$(connection)
    kill -KILL "$pid"
    within 30 "node02 is connected again" is_new_connection "$pid"
    for host in "${nodes[@]}"; do on "$host" 'touch /tmp/go'; done
    await_launch 60
    expect_status 0
    expect_equal "ranks that came to their end" 2 "$(grep -c 'done$' "$work/out")"
    expect_equal "ranks that began" 2 "$(grep -c 'begun$' "$work/out")"
}

# The process by which the launcher talks to the agent of node02: its parent is not of that host.
connection() {
    local pid
    for pid in $("$cluster" processes node02 'agent (re)?attach' | sed 's/ .*//'); do
        if grep -qs '^nsenter' "/proc/$(ps -o ppid= -p "$pid" | tr -d ' ')/cmdline"; then echo "$pid"; fi
    done
}
is_new_connection() { local now; now=$(connection); [ -n "$now" ] && [ "$now" != "$1" ]; }

tasks() {
    by_words
    # shellcheck disable=SC2016 # the shell there expands it
    train_here launch -d "${on_both[@]}" -- /bin/sh -c 'echo from $(hostname); '"$forever"
    expect_status 0
    local id
    id=$(cat "$work/out")
    within_here 30 "a worker runs on every host" workers_run
    train_here task exec "$id" --rank 1 -- hostname
    expect_out '^node02$'
    train_here hosts list --hostfile "$work/hosts.yaml"
    expect_out 'node02'
    train_here task kill "$id"
    expect_status 0
    train_here task logs "$id"
    expect_out '^\[1\] from node02$'
    expect_idle 5 "${nodes[@]}"
}
within_here() {
    local seconds=$1 what=$2
    shift 2
    eventually "$seconds" "$@" || note_failure "within $seconds s: $what"
}

refusals() {
    by_words
    "$cluster" kill node02
    train_here launch "${on_both[@]}" -- hostname
    expect_status 76
    expect_err "node02.*exec node02 .*exited with status .* before the agent was ready; it said 'cluster: node02 is off'"
    "$cluster" boot node02
    hosts_file '[nsenterr, "{host}"]'
    train_here launch "${on_both[@]}" -- hostname
    expect_err "nsenterr"
    [ "$status" -ne 0 ] || note_failure "it ran"
}

test_case "ranks of hosts without sshd meet" ranks_meet
test_case "a shell there may execute the line" a_shell_may_execute_the_line
test_case "Ctrl-C leaves nothing" interrupted
test_case "a launcher that is killed leaves nothing" killed
test_case "a lost connection is made again, to the same ranks" connection_lost
test_case "a task is listed, shown, entered and ended as over SSH" tasks
test_case "a host that is off, and a program that is not there, are told" refusals
finish
