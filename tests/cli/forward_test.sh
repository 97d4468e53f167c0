#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A port beside a rank, reached from here.   forward_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

# A rank that sends back what it gets, with its attempt in front, on a port that it writes into a file.
echoes='import os, socket, threading
here = socket.create_server(("127.0.0.1", 0))
name = "port.%s" % os.environ["TRAIN_RESTART_COUNT"]
with open(name + ".new", "w") as file: file.write(str(here.getsockname()[1]))
os.rename(name + ".new", name)
def serve(peer):
    peer.sendall(b"attempt %s:" % os.environ["TRAIN_RESTART_COUNT"].encode())
    while data := peer.recv(65536): peer.sendall(data)
    peer.close()
def accept():
    while True: threading.Thread(target=serve, args=[here.accept()[0]], daemon=True).start()
threading.Thread(target=accept, daemon=True).start()
import time
end = "end.%s" % os.environ["TRAIN_RESTART_COUNT"]
while not os.path.exists(end): time.sleep(0.05)
raise SystemExit(0 if os.path.exists("good") else 1)'

# Sends standard input to a port here, and prints what comes back.
talk_to() { # PORT
    /usr/bin/python3 -c 'import socket, sys, threading
there = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def send():
    there.sendall(sys.stdin.buffer.read())
    there.shutdown(socket.SHUT_WR)
threading.Thread(target=send).start()
while data := there.recv(65536): sys.stdout.buffer.write(data)' "$1"
}

# start_task ARGUMENT...: a task of one such rank; sets `id`, `port` and `task_launcher`.
start_task() {
    errors=$work/task.err output=$work/task.out start launch -n 1 "$@" -- /usr/bin/python3 -c "$echoes"
    task_launcher=$launcher
    eventually 60 test -e "$work/here/port.0"
    port=$(cat port.0)
    id=$(sed -n 's/^train: task \([a-z0-9]*\): .*/\1/p' "$work/task.err")
}

# start_forward ARGUMENT...: sets `local`.
start_forward() {
    start forward "$id" "$@" --local 0
    eventually 60 err_has '^train: 127\.0\.0\.1:[0-9]+ is port '
    local=$(sed -n 's/^train: 127\.0\.0\.1:\([0-9]*\) is port .*/\1/p' "$work/err")
}

end_all() { # LAUNCHER...
    local each
    touch good end.0 end.1
    for each; do
        launcher=$each
        await
        expect_status 0
    done
}

bytes_go_both_ways() {
    local forward part
    start_task
    start_forward "$port"
    forward=$launcher
    expect_equal "what came back" 'attempt 0:hello' "$(echo hello | talk_to "$local")"
    head -c 3000000 /dev/urandom >sent
    { printf 'attempt 0:'; cat sent; } >expected
    talk_to "$local" <sent >got
    cmp expected got || note_failure "3 MB did not come back as they were"
    for part in 1 2 3 4 5; do echo "$part" | talk_to "$local" >"got.$part" & done
    for part in 1 2 3 4 5; do
        eventually 60 grep -qs ":$part" "got.$part"
        expect_equal "one of several at a time" "attempt 0:$part" "$(cat "got.$part")"
    done
    expect_processes "commands beside the rank" 1 "task exec $id "
    end_all "$task_launcher" "$forward"
    expect_err "^train: task $id has ended$"
}

restarts_are_followed() {
    local forward
    start_task --set max_restarts=1 --set restart_delay=0
    start_forward "$port"
    forward=$launcher
    touch end.0
    eventually 60 test -e "$work/here/port.1"
    # Where the program listens now is another port: it says so.
    expect_equal "a port that nothing listens on any more" "" "$(echo x | talk_to "$local")"
    eventually 60 err_has "nothing answers on port $port there"
    kill -INT "$forward"
    launcher=$forward
    await
    expect_status 130
    port=$(cat port.1)
    start_forward "$port"
    expect_equal "what came back" 'attempt 1:hello' "$(echo hello | talk_to "$local")"
    forward=$launcher
    end_all "$task_launcher" "$forward"
}

# Holds a port on both loopback addresses; answers on ::1 alone, once there is a file `answer`.
holder='import os, socket, time
v4 = socket.socket()
v4.bind(("127.0.0.1", 0))
v6 = socket.socket(socket.AF_INET6)
v6.bind(("::1", v4.getsockname()[1]))
with open("held.new", "w") as file: file.write(str(v4.getsockname()[1]))
os.rename("held.new", "held")
while not os.path.exists("answer"): time.sleep(0.05)
v6.listen()
open("listens", "w").close()
while True:
    peer = v6.accept()[0]
    peer.sendall(b"from ::1")
    peer.close()'

nothing_answers() {
    local forward holds
    start_task
    exec_with_environment /usr/bin/python3 -c "$holder" &
    holds=$!
    eventually 60 test -e held
    start_forward "$(cat held)"
    forward=$launcher
    for _ in 1 2 3; do expect_equal "from a port that nothing listens on" "" "$(talk_to "$local" </dev/null 2>&1)"; done
    expect_equal "how often that is said" 1 "$(grep -c "^train: nothing answers on port $(cat held) there: connection refused$" "$work/err")"
    expect_processes "commands beside the rank" 1 "task exec $id "
    touch answer
    eventually 60 test -e listens
    expect_equal "once something listens, on IPv6" "from ::1" "$(talk_to "$local" </dev/null)"
    expect_processes "commands beside the rank" 1 "task exec $id "
    kill "$holds"
    wait "$holds" 2>/dev/null
    expect_equal "from a port that nothing listens on" "" "$(talk_to "$local" </dev/null 2>&1)"
    expect_equal "how often that is said" 2 "$(grep -c "^train: nothing answers" "$work/err")"
    end_all "$task_launcher" "$forward"
}

# The program `train` beside the rank may be anything.
far_side_is_a_stranger() {
    local forward
    mkdir strange
    printf '#!/bin/sh\necho this is no train; exec cat >/dev/null\n' >strange/train
    chmod 755 strange/train
    start_task -e "PATH=$PWD/strange:$PATH"
    start_forward "$port"
    forward=$launcher
    expect_equal "what comes from a stranger" "" "$(echo hello | talk_to "$local" 2>/dev/null)"
    eventually 60 err_has "^train: what answers beside the rank: sent a frame of unknown kind 32$"
    expect_processes "commands beside the rank" 0 "task exec $id "
    rm strange/train
    expect_equal "what comes back next" 'attempt 0:hello' "$(echo hello | talk_to "$local")"
    end_all "$task_launcher" "$forward"
}

what_cannot_be_forwarded() {
    start_task
    run forward "$id" 6006 --local "$port"
    expect_status 75
    expect_err "cannot listen on 127.0.0.1:$port: address already in use"
    expect_err 'local 0 for any that is free'
    run forward "$id" 0
    expect_status 64
    run forward none 6006
    expect_status 66
    end_all "$task_launcher"
    run forward "$id" 6006
    expect_status 66
    expect_err "task $id has ended"
}

test_case "bytes go both ways, over several connections at a time" bytes_go_both_ways
test_case "after a restart a connection reaches the rank that runs then" restarts_are_followed
test_case "a port that nothing listens on is said once, and may be listened on later" nothing_answers
test_case "whatever else answers beside the rank ends with an error, and forwarding goes on" far_side_is_a_stranger
test_case "what cannot be forwarded is said" what_cannot_be_forwarded
finish
