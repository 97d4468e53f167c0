#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Hosts that flood once they are logged in to: the launcher ends soon, names them, stays small, and
# takes a Ctrl-C. Each by both transports at once.
#   flood_test.sh path/to/train
. "$(dirname "$0")/lib.sh"

use_cluster 4 --slots 1
use_train "${1:-}"
install -m 755 "$(dirname "$0")/hostile_host" "$(dirname "$0")/flooding_sshd" \
    "$(dirname "$0")/watched" "$shared/"
# It speaks the version that the launcher under test speaks.
sed -n 's/^constexpr int wire_version = \([0-9]*\);$/\1/p' \
    "$(dirname "$0")/../../launcher/wire/message.hpp" >"$shared/wire_version"

most_kib=150000 # of a launcher; a quiet one takes a tenth of it
ways=(ssh openssh)
declare -A good=([ssh]=node01 [openssh]=node03) bad=([ssh]=node02 [openssh]=node04)

be_hostile() { # HOST MODE
    on "$1" "sed -i 's|^|command=\"/srv/shared/hostile_host $2\" |' .ssh/authorized_keys"
}

# start_flood MODE [SECONDS [SETTING]]: a launcher for each transport, left running, on a host that floods and a
# good one; nobody reads what it prints for so long.
start_flood() {
    local way
    for way in "${ways[@]}"; do
        rm -f "$shared/$way".*
        be_hostile "${bad[$way]}" "$1"
    done
    # shellcheck disable=SC2016 # expanded on the head
    start_on_head /bin/bash -c 'train=$0 setting=$2
        watch() { /srv/shared/watched $1 /srv/shared/$2 $train launch --transport $2 --set $setting \
            -H $3:1,$4:1 -n 2 -- /bin/sh -c "echo rank \$RANK is here; exec sleep 4711"; }
        watch $1 ssh node01 node02 & watch $1 openssh node03 node04 & wait' "$train" "${2:-0}" \
        "${3:-reconnect_window=60s}"
}

expect_used() { # WAY SECONDS and what it used: KIB MILLISECONDS
    [ "$3" -lt "$most_kib" ] || note_failure "$1: it grew to $3 KiB"
    # Noise on stderr is read for as long as an answer is waited for.
    [ "$4" -lt $(($2 * pace * 100)) ] || note_failure "$1: it used $4 ms of processor time"
}

# check_flood SECONDS STATUS REGEX: each has ended, after so much time of a processor at most, with that
# to be read about the host.
check_flood() {
    local way peak processor
    for way in "${ways[@]}"; do
        cat "$shared/$way.err" >"$work/err"
        cat "$shared/$way.out" >"$work/out"
        read -r status peak processor _ < <(cat "$shared/$way.used" || echo none 0 0 0)
        expect_status "$2"
        [ -z "$3" ] || expect_err "host '${bad[$way]}': .*($3)"
        expect_used "$way" "$1" "$peak" "$processor"
        grep -vE '^(train: |  )' "$work/err" && note_failure "$way: lines that are not the launcher's"
        [ "$case_failed" = no ] || show_launcher
    done
    expect_idle 5 head "${good[@]}"
    restart "${bad[@]}"
}

floods() { # SECONDS REGEX MODE [SECONDS [SETTING]]
    start_flood "$3" "${@:4}"
    await_launch 120
    check_flood "$1" 76 "$2"
    expect_last_err "${bad[openssh]}"
}

good_ranks_run() {
    local way
    for way in "${ways[@]}"; do [ "$(processes "${good[$way]}" '^sleep 4711')" -eq 1 ] || return 1; done
}
good_ranks_are_gone() {
    local way
    for way in "${ways[@]}"; do [ "$(processes "${good[$way]}" '^sleep 4711')" -eq 0 ] || return 1; done
}
hosts_flood() {
    local way
    for way in "${ways[@]}"; do [ "$(processes "${bad[$way]}" 'hostile_host')" -ge 1 ] || return 1; done
}
launchers_are_known() { [ -s "$shared/ssh.pid" ] && [ -s "$shared/openssh.pid" ]; }

signal_launchers() {
    local way
    for way in "${ways[@]}"; do on head "kill -$1 $(cat "$shared/$way.pid")"; done
}

interrupted() { # MODE CONDITION
    start_flood "$1"
    within 20 "$2" "$2"
    within 10 "their process ids are known" launchers_are_known
    signal_launchers INT
    await_launch 60
    check_flood 25 130 ''
    for way in "${ways[@]}"; do
        ! grep -E "${bad[$way]}" "$shared/$way.err" || note_failure "$way: something of the host was waited for"
    done
}

# server_floods MODE REGEX: what listens on port 8080 of node02 lets in whoever comes, and floods; the
# host beside it is good.
server_floods() {
    local peak processor
    rm -f "$shared"/ssh.* "$shared/host_key"
    on node02 "setsid /srv/shared/flooding_sshd 8080 $1 /srv/shared/host_key >/dev/null 2>&1 &"
    eventually 10 test -s "$shared/host_key" || note_failure "the flooding server does not listen"
    # What the head knows of the others, and the key that was just made.
    on head "cd .ssh; cp -n known_hosts known_of_bed
        { cat known_of_bed; echo '[node02]:8080' \$(cat /srv/shared/host_key); } >known_hosts"
    printf '%s\n' 'hosts:' '  - {name: node01, slots: 1}' '  - {name: node02, slots: 1, port: 8080}' \
        >"$shared/flooding.yaml"
    run_on_head /srv/shared/watched 0 /srv/shared/ssh "$train" launch --transport ssh \
        --hostfile /srv/shared/flooding.yaml -n 2 -- hostname
    cat "$shared/ssh.err" >"$work/err"
    read -r status peak processor _ < <(cat "$shared/ssh.used" || echo none 0 0 0)
    expect_status 76
    expect_err "host 'node02': .*($2)"
    expect_last_err node02
    expect_used ssh 15 "$peak" "$processor"
    expect_idle 5 head node01
    restart node02
}

test_case "noise on stderr in place of an answer" floods 15 'more than 16 MiB on standard error' noise
soak_case "a frame that comes byte by byte" floods 30 'silent for [0-9]+ s' frame_slowly 0 reconnect_window=0s
test_case "a line without end in place of an answer" floods 10 'printed more than 64 KiB' endless_line
test_case "lines without end in place of an answer" floods 10 'printed more than 64 KiB' endless_lines
test_case "garbage in place of frames while ranks run" floods 15 'unknown kind' garbage_later
test_case "pongs that nobody asked for" floods 15 'floods' pongs
test_case "hellos without end" floods 15 'floods' hellos
test_case "hellos without end before it is ready" floods 15 'floods' hellos_before_ready
test_case "an agent that always waits for something" floods 15 'floods' blocked
test_case "an agent that has waited for ever" floods 15 'does not start its ranks' blocked_for_long
test_case "an agent that fails without end" floods 15 'its agent failed' agent_failures
# With the 10 s for which what it may have left is asked for.
test_case "output without regard to what was acknowledged" floods 25 'more output than' unasked_output 4
test_case "a frame of 4 GiB that comes slowly" floods 15 '4294967295 bytes' huge_frame_slowly
for mode in windows requests successes nothing ignored channels; do
    test_case "an SSH server that sends $mode without end" server_floods $mode 'more than 16 MiB that carry nothing'
done
for mode in questions global-questions; do
    test_case "an SSH server that sends $mode without end" server_floods $mode 'floods'
done
test_case "an SSH server that ends a channel without end" server_floods ends 'exited with status 0'
test_case "Ctrl-C while a host prints on stderr in place of an answer" interrupted murmur hosts_flood
test_case "Ctrl-C while an agent prints on stderr without end" interrupted noisy good_ranks_run
finish
