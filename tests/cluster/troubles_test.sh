#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What hosts can be in trouble with while they are well on the network: dead file systems, limits,
# other users.   troubles_test.sh path/to/train
. "$(dirname "$0")/lib.sh"

use_cluster 2 --slots 1
use_train "${1:-}"

both=(-H 'node[01-02]:1' -n 2)

# A file system that answers nobody, on FOLDER, for as long as its process lives.
cat >"$shared/hung_mount.py" <<'PYTHON'
import ctypes, os, sys, time
device = os.open("/dev/fuse", os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
options = f"fd={device},rootmode=40755,user_id=0,group_id=0,allow_other".encode()
if libc.mount(b"hung", sys.argv[1].encode(), b"fuse", 6, options) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
with open("/srv/hung.new", "w") as file:
    file.write(str(os.getpid()))
os.rename("/srv/hung.new", "/srv/hung")
time.sleep(3600)
PYTHON

# A server on the port that a rank has written down, by a user that is nobody else here.
cat >"$shared/thief.py" <<'PYTHON'
import os, socket, sys, time
while not os.path.exists("/srv/shared/port"):
    time.sleep(0.02)
with open("/srv/thief", "w") as file:
    file.write(str(os.getpid()))
os.setgid(23456)
os.setuid(23456)
port = int(open("/srv/shared/port").read())
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(("", port))
server.listen()
os.close(os.open("/srv/shared/stolen", os.O_CREAT | os.O_WRONLY))
time.sleep(3600)
PYTHON

file_system_does_not_answer() {
    local host
    for host in head node01 node02; do on "$host" 'mkdir -p /srv/data'; done
    on node02 'setsid -f python3 /srv/shared/hung_mount.py /srv/data >/srv/mount.log 2>&1'
    eventually 10 on node02 'test -e /srv/hung' || note_failure "nothing is mounted: $(on node02 'cat /srv/mount.log')"
    start_on_head env --chdir=/srv/data "$train" launch "${both[@]}" -- touch /tmp/started
    within 20 "what is waited for is told" err_has \
        "host 'node02': its file system has not answered for [0-9]+ s: stat of '/srv/data'"
    # Longer than a host may be silent: it is not taken for one that is frozen.
    stays 18 launch_runs || note_failure "the launch has ended"
    # shellcheck disable=SC2016
    on node02 'kill "$(cat /srv/hung)"'
    await_launch 20
    expect_status 76
    expect_last_err node02 host
    expect_err "'/srv/data': transport endpoint is not connected"
    expect_nothing_started
    restart head node01 node02
}

too_few_descriptors() {
    # shellcheck disable=SC2016
    on node02 'prlimit --nofile=64:64 --pid "$(cat /run/sshd.pid)"'
    launch -H 'node02:16' -n 16 -- touch /tmp/started
    expect_status 76
    expect_err "its 16 ranks take 58 descriptors of the agent, but the agent has [0-9]+ of at most 64 \(open files, ulimit -Hn\)"
    expect_last_err node02 host
    expect_nothing_started
    restart node02
}

port_is_stolen() {
    rm -f "$shared/port" "$shared/stolen"
    on node01 'setsid -f python3 /srv/shared/thief.py >/srv/thief.log 2>&1'
    chmod 1777 "$shared"
    # shellcheck disable=SC2016
    launch "${both[@]}" -- /bin/sh -c '[ "$RANK" = 0 ] || exec sleep 4711
        echo "$MASTER_PORT" >/srv/shared/port.new && mv /srv/shared/port.new /srv/shared/port
        while [ ! -e /srv/shared/stolen ]; do sleep 0.02; done
        exec python3 -c "
import os, socket
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind((\"\", int(os.environ[\"MASTER_PORT\"])))
server.listen()"'
    expect_status 76
    expect_err "^train: host 'node01': port $(cat "$shared/port"), .* is listened on by user 23456"
    expect_last_err node01 host
    # shellcheck disable=SC2016
    on node01 'kill "$(cat /srv/thief)"'
    expect_idle 2 "${nodes[@]}"
}

test_case "a file system that does not answer is named, and its host not taken for frozen" \
    file_system_does_not_answer
test_case "too few descriptors for the ranks are refused with the numbers" too_few_descriptors
test_case "a port that another user took is the cause of the failure" port_is_stolen
finish
