#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Ports beside ranks of other hosts.   forward_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 2 --slots 1
use_train "${1:-}"

# A service on port 6006 beside rank 1. The first line of a connection says what it is for: `echo`
# sends back what follows, with host and attempt; `flood N` gets N bytes; `sent` is how many of them
# are sent.
cat >"$shared/service" <<'PYTHON'
import os, socket, sys, threading
attempt = os.environ["TRAIN_RESTART_COUNT"]
sent = 0
def flood(peer, count):
    global sent
    while sent < count: sent += peer.send(b"x" * min(65536, count - sent))
def serve(peer):
    file = peer.makefile("rb")
    word, *rest = file.readline().split()
    if word == b"echo": peer.sendall(b"%s %s " % (os.uname().nodename.encode(), attempt.encode()) + file.read())
    if word == b"sent": peer.sendall(b"%d" % sent)
    if word == b"flood": flood(peer, int(rest[0]))
    peer.shutdown(socket.SHUT_RDWR)
here = socket.create_server(("127.0.0.1", 6006), backlog=100)
open("/srv/shared/serves.%s" % attempt, "w").close()
def accept():
    while True: threading.Thread(target=serve, args=[here.accept()[0]], daemon=True).start()
threading.Thread(target=accept, daemon=True).start()
import time
while not os.path.exists("/srv/shared/fail.%s" % attempt) and not os.path.exists("/srv/shared/go"): time.sleep(0.05)
sys.exit(0 if os.path.exists("/srv/shared/go") else 3)
PYTHON

# clients PORT WHAT: connections from the head.
cat >"$shared/clients" <<'PYTHON'
import socket, sys, time
def say(words):
    there = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    there.sendall(words)
    there.shutdown(socket.SHUT_WR)
    return there
def hear(there):
    return b"".join(iter(lambda: there.recv(65536), b"")).decode()
def ask(words): return hear(say(words))
if sys.argv[2] == "twenty":
    for number in range(10): print(ask(b"echo\n%d in turn" % number))
    for number, there in enumerate([say(b"echo\n%d at once" % number) for number in range(10)]): print(hear(there))
elif sys.argv[2] == "once":
    print(ask(b"echo\nhello"))
else:
    many = 200_000_000
    slow = say(b"flood %d\n" % many)
    before, now = -1, 0
    while now == 0 or now != before: # nobody reads it: at some point no more is sent
        time.sleep(0.5)
        before, now = now, int(ask(b"sent\n"))
    print("held up" if now < many else "all is on its way", ask(b"echo\nmeanwhile"))
    got = 0
    while piece := slow.recv(1 << 20): got += len(piece)
    print("all came" if got == many else got)
PYTHON

serves() { test -e "$shared/serves.$1"; }
logins() { on node02 'grep -c "Accepted publickey" /run/sshd.log'; }
execs() { processes head "^train task exec $id "; }

# begin ARGUMENT...: a task whose rank 1 serves, and a port of the head that is forwarded to it.
begin() {
    rm -f "$shared"/{go,serves.*,fail.*}
    id=$(on head "$train" launch -d -H 'node[01-02]:1' -n 2 "$@" -- /bin/sh -c '
        [ "$RANK" = 0 ] || exec /usr/bin/python3 /srv/shared/service
        until [ -e /srv/shared/go ]; do sleep 0.05; done' 2>"$work/launch") ||
        note_failure "it does not start: $(cat "$work/launch")"
    eventually 60 serves 0 || note_failure "rank 1 does not serve"
    start_on_head "$train" forward "$id" 6006 --rank 1 --local 0
    eventually 60 err_has '^train: 127\.0\.0\.1:[0-9]+ is port '
    port=$(sed -n 's/^train: 127\.0\.0\.1:\([0-9]*\) is port .*/\1/p' "$work/err")
}
clients() { on head /usr/bin/python3 /srv/shared/clients "$port" "$@"; }

# Forwarding ends with the task.
finish_task() {
    touch "$shared/go"
    on head "$train" task wait "$id" >"$work/wait" 2>&1 || note_failure "it fails: $(cat "$work/wait")"
    await_launch 60
    expect_status 0
    expect_err "^train: task $id has ended$"
    expect_equal "logins that are left" 0 "$(settled execs)"
}

one_login() {
    local before
    begin
    before=$(logins)
    clients twenty >"$work/heard" 2>&1
    expect_equal "what twenty connections hear" \
        "$(for how in 'in turn' 'at once'; do for number in {0..9}; do echo "node02 0 $number $how"; done; done)" \
        "$(cat "$work/heard")"
    expect_equal "logins of twenty connections" 1 $(($(logins) - before))
    expect_equal "commands beside the rank" 1 "$(settled execs)"
    finish_task
}

slow_reader() {
    begin
    expect_equal "what clients hear" $'held up node02 0 meanwhile\nall came' "$(clients slow 2>&1)"
    finish_task
}

rank_restarts() {
    local before
    begin --set max_restarts=1 --set restart_delay=0
    before=$(logins)
    expect_equal "what came back" 'node02 0 hello' "$(clients once 2>&1)"
    touch "$shared/fail.0"
    eventually 60 serves 1 || note_failure "it is not started again"
    expect_equal "what came back after a restart" 'node02 1 hello' "$(clients once 2>&1)"
    expect_equal "logins" 2 $(($(logins) - before))
    finish_task
}

# As where the network of the old host is away: nobody here hears of the end there.
end_is_not_heard_of() {
    begin --set max_restarts=1 --set restart_delay=0
    expect_equal "what came back" 'node02 0 hello' "$(clients once 2>&1)"
    on head "pkill -STOP -f '^train task exec $id '"
    touch "$shared/fail.0"
    eventually 60 serves 1 || note_failure "it is not started again"
    expect_equal "what came back after a restart" 'node02 1 hello' "$(clients once 2>&1)"
    expect_equal "commands beside the rank" 1 "$(settled execs)"
    finish_task
}

interrupted() {
    begin
    expect_equal "what came back" 'node02 0 hello' "$(clients once 2>&1)"
    signal_launcher "$1"
    await_launch 20
    expect_status "$2"
    expect_equal "logins that are left" 0 "$(settled execs)"
    touch "$shared/go"
    on head "$train" task wait "$id" >"$work/wait" 2>&1 || note_failure "it fails: $(cat "$work/wait")"
}

test_case "all connections to a port beside a rank go over one login" one_login
test_case "a reader that is slow holds up no other connection" slow_reader
test_case "after a restart the next connection reaches the rank that runs then" rank_restarts
test_case "so it does where nobody has heard of the end of the old one" end_is_not_heard_of
test_case "Ctrl-C ends forwarding, and its login" interrupted INT 130
test_case "so does the end of the terminal" interrupted HUP 129
finish
