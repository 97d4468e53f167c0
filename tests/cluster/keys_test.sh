#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Keys of every kind, from files and from ssh-agent, and passphrases.   keys_test.sh path/to/train
. "$(dirname "$0")/lib.sh"

use_cluster 2 --slots 1
use_train "${1:-}"

runs_on_both() {
    launch -H 'node[01-02]:1' -n 2 -- hostname
    expect_status 0
    expect_out '^\[1\] node02$'
}

# --- Kinds of keys ---

key_logs_in() { # FLAGS: of ssh-keygen; from a file, from the agent, and encrypted in the agent
    on head "ssh-keygen -q $1 -N '' -f key"
    authorize key "${nodes[@]}"
    configure 'Host *' '  IdentityFile ~/key' '  IdentitiesOnly yes'
    runs_on_both
    on head "ssh-agent -a /tmp/agent >/dev/null; SSH_AUTH_SOCK=/tmp/agent ssh-add -q key 2>&1
        ssh-keygen -q -p -P '' -N secret -f key >/dev/null"
    run_on_head env SSH_AUTH_SOCK=/tmp/agent "$train" launch -H 'node[01-02]:1' -n 2 -- hostname
    expect_status 0
    expect_out '^\[1\] node02$'
    # shellcheck disable=SC2016 # expanded on the head
    on head 'kill $(pgrep -x ssh-agent); while [ -e /tmp/agent ]; do sleep 0.05; done; rm -f key key.pub'
}

rsa_signs_with() { # ALGORITHM: the only one that the hosts take
    on head "ssh-keygen -q -t rsa -N '' -f rsa"
    sshd_option "PubkeyAcceptedAlgorithms ssh-ed25519,$1" "${nodes[@]}"
    authorize rsa "${nodes[@]}"
    configure 'Host *' '  IdentityFile ~/rsa' '  IdentitiesOnly yes'
    runs_on_both
    on head 'ssh-agent -a /tmp/agent >/dev/null; SSH_AUTH_SOCK=/tmp/agent ssh-add -q rsa 2>&1; rm rsa'
    run_on_head env SSH_AUTH_SOCK=/tmp/agent "$train" launch -H 'node[01-02]:1' -n 2 -- hostname
    expect_status 0
    restart head "${nodes[@]}"
}

# --- Host keys of every kind ---

host_key_is_known() { # TYPE: hashed, and with a port
    on node02 "ssh-keygen -q -t $1 -N '' -f /etc/ssh/other_key
        sed 's|^HostKey .*|HostKey /etc/ssh/other_key|' /etc/ssh/sshd_testbed >/etc/ssh/sshd_other"
    second_sshd node02 /etc/ssh/sshd_other
    on head 'sed -i "/^node02,/d" .ssh/known_hosts'
    # shellcheck disable=SC2016 # expanded on the head
    on node02 'cut -d " " -f 1,2 /etc/ssh/other_key.pub' |
        "$cluster" exec head /bin/bash -c 'read -r key; echo "[node02]:2222 $key" >>.ssh/known_hosts
            ssh-keygen -q -H -f .ssh/known_hosts >/dev/null 2>&1; rm -f .ssh/known_hosts.old'
    ! on head 'grep -q node .ssh/known_hosts' || note_failure "known_hosts still has names"
    configure 'Host node02' '  Port 2222'
    runs_on_both
    restart head node02
}

# --- Passphrases ---

# at_terminal [WORDS ANSWER]... -- ARGUMENT...: `train launch` at a terminal, answered.
at_terminal() { train_at_terminal launch "$@"; }
# train_at_terminal COMMAND [WORDS ANSWER]... -- ARGUMENT...
train_at_terminal() {
    local answers=() command
    read -ra command <<<"$1"
    shift
    while [ "$1" != -- ]; do
        answers+=("$1")
        shift
    done
    shift
    cp "$(dirname "$0")/terminal_session.py" "$shared/"
    run_on_head python3 /srv/shared/terminal_session.py "${answers[@]}" -- "$train" "${command[@]}" "$@"
}

lock_key() {
    on head 'ssh-keygen -q -t ed25519 -N secret -f .ssh/locked'
    authorize .ssh/locked "${nodes[@]}"
    configure 'Host *' '  IdentityFile ~/.ssh/locked'
}

both=(-H 'node[01-02]:1' -n 2)

passphrase_is_asked_for() {
    lock_key
    at_terminal 'passphrase for the key ~/.ssh/locked: ' wrong 'that was wrong' secret -- \
        "${both[@]}" -- hostname
    expect_status 0
    expect_out '^\[0\] node01$'
    expect_out '^\[1\] node02$'
    expect_equal "questions" 2 "$(grep -o 'passphrase for the key' "$work/out" | wc -l)"
    expect_no_out 'secret|wrong$'
    expect_out '^echo: on$'
    expect_idle 2 head "${nodes[@]}"
    restart head "${nodes[@]}"
}

passphrase_is_not_known() {
    lock_key
    at_terminal 'locked: ' a 'locked: ' b 'locked: ' c -- "${both[@]}" -- touch /tmp/started
    expect_status 76
    expect_equal "questions" 3 "$(grep -o 'passphrase for the key' "$work/out" | wc -l)"
    expect_out 'hosts node\[01-02\]: .*locked is encrypted, and 3 passphrases were wrong'
    expect_out 'ssh-add ~/.ssh/locked'
    expect_out '^echo: on$'
    restart head "${nodes[@]}"
}

interrupted_at_the_question() {
    lock_key
    at_terminal 'locked: ' ^C -- "${both[@]}" -- touch /tmp/started
    expect_status 130
    expect_out '^echo: on$'
    expect_out 'stopped by SIGINT'
    expect_idle 2 head "${nodes[@]}"
    restart head "${nodes[@]}"
}

nobody_to_ask() {
    lock_key
    launch "${both[@]}" -- touch /tmp/started
    expect_status 76
    expect_err 'locked is encrypted'
    expect_err 'ssh-add ~/.ssh/locked'
    # A terminal that is not the standard input's.
    cp "$(dirname "$0")/terminal_session.py" "$shared/"
    run_on_head python3 /srv/shared/terminal_session.py -- /bin/sh -c \
        "$train launch ${both[*]} -- touch /tmp/started </dev/null"
    expect_status 76
    expect_out 'locked is encrypted'
    expect_no_out 'passphrase for the key'
    restart head "${nodes[@]}"
}

accepted() { on "$1" 'grep -c "Accepted publickey" /run/sshd.log || true'; }
# lists REGEX: the list that was printed last has such a line; a list is printed when it has changed.
lists() { tac "$shared/watched" | sed '/^ID /q' | grep -qE "$1"; }
lists_nothing() { ! lists '^[a-z2-7]{8} '; }

# A round that shows a change is one more look; in between node01 breaks its session.
watched_list() {
    local id one two
    lock_key
    one=$(accepted node01)
    two=$(accepted node02)
    cp "$(dirname "$0")/terminal_session.py" "$shared/"
    rm -f "$shared/watched"
    start_on_head python3 /srv/shared/terminal_session.py 'locked: ' secret -- /bin/sh -c \
        "exec $train task list -H 'node[01-02]:1' --watch >/srv/shared/watched"
    within 20 "the first list" test -s "$shared/watched"
    id=$(on node02 "$train" launch -d -H localhost:1 -n 1 -- /bin/sleep 4711 2>"$work/launch") ||
        note_failure "it does not start: $(cat "$work/launch")"
    within 20 "a task is listed" lists "^$id .* node02 "
    on node01 'pkill -KILL -n -f "^sshd: root@"'
    on node02 "$train" task kill "$id" 2>"$work/kill" || note_failure "it is not killed: $(cat "$work/kill")"
    within 20 "nothing is listed" lists_nothing
    id=$(on node01 "$train" launch -d -H localhost:1 -n 1 -- /bin/sleep 4711 2>"$work/launch") ||
        note_failure "it does not start: $(cat "$work/launch")"
    within 20 "a task on the other host is listed" lists "^$id .* node01 "
    on head 'pkill -INT -f "^[^ ]*/train task list"'
    await_launch 10
    expect_status 254 # -2: by SIGINT
    expect_equal "questions" 1 "$(grep -o 'passphrase for the key' "$work/out" | wc -l)"
    expect_equal "logins to node01" 2 "$(($(accepted node01) - one))"
    expect_equal "logins to node02" 1 "$(($(accepted node02) - two))"
    expect_no_out unreachable
    expect_out '^echo: on$'
    on node01 "$train" task kill "$id" 2>"$work/kill" || note_failure "it is not killed: $(cat "$work/kill")"
    expect_idle 2 head "${nodes[@]}"
    restart head "${nodes[@]}"
}

for flags in '-t ed25519' '-t ecdsa -b 256' '-t ecdsa -b 384' '-t ecdsa -b 521' '-t rsa -b 3072'; do
    test_case "a key made with '$flags' logs in from a file, and encrypted from ssh-agent" \
        key_logs_in "$flags"
done
restart head "${nodes[@]}"
for algorithm in rsa-sha2-256 rsa-sha2-512; do
    test_case "an RSA key signs with $algorithm where the hosts want that, also in ssh-agent" \
        rsa_signs_with $algorithm
done
for type in ed25519 'ecdsa -b 256' 'ecdsa -b 384' 'ecdsa -b 521' rsa; do
    test_case "a host key of type $type is known by a hashed name with a port" \
        host_key_is_known "$type"
done
test_case "a passphrase is asked for at the terminal, once for all hosts" passphrase_is_asked_for
test_case "a list that is watched asks once and logs in once, and anew where a session breaks" watched_list
test_case "three wrong passphrases end the launch with what to do" passphrase_is_not_known
test_case "Ctrl-C at the question ends the launch and leaves the terminal as it was" interrupted_at_the_question
test_case "without a terminal nobody is asked, and ssh-add is named" nobody_to_ask
finish
