#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Hosts with something wrong, and what `train check` says of each; and that it says nothing else.
#   check_test.sh path/to/train
. "$(dirname "$0")/lib.sh"

use_cluster 4 --slots 2
use_train "${1:-}"
hosts='node[01-04]:2'

# What each host has of its own, as the launcher's directory is named there.
prepare() {
    local host
    for host in head "${nodes[@]}"; do on "$host" 'mkdir -p /srv/code; echo "print(1)" >/srv/code/run.py'; done
}

# check ARGUMENT...: of the script that all hosts have.
check() { run_on_head env --chdir=/srv/code "$train" check -H "$hosts" "$@"; }
check_run() { check -n 8 -- /usr/bin/python3 run.py; }

# expect_found CODE REGEX...: with that exit code, and these lines; no other host is told anything.
expect_found() {
    local regex
    expect_status "$1"
    shift
    for regex; do expect_out "$regex"; done
    # A heading, four hosts, and what was expected: a line with its next step.
    local unfit
    unfit=$(grep -cE '^node[^ ]*: (unfit|unknown): ' "$work/out")
    expect_equal "what keeps ranks from running" "$#" "$unfit"
}

all_are_fit() {
    check_run
    expect_status 0
    expect_err '^train: all 4 hosts are fit$'
    expect_out '^node01 +fit +2 +2 +0 +- +3\.[0-9.]+ '
    expect_equal "findings" 0 "$(grep -c '^node[^ ]*: ' "$work/out")"
    check --json -n 8 -- /usr/bin/python3 run.py
    expect_schema check "$work/out"
    expect_equal "programs" 1 "$(grep -o '"script_sha256": "[0-9a-f]*"' "$work/out" | sort -u | wc -l)"
    # Hosts as such, without an experiment.
    check
    expect_status 0
}

no_false_alarm() {
    local i
    for ((i = 0; i < 20; i++)); do
        check_run
        expect_status 0
    done
}

other_code() {
    on node03 'echo "print(2)" >/srv/code/run.py'
    check_run
    expect_found 1 "^node03: unfit: its 'run.py' differs from that of node\[01-02,04\] \(SHA-256 [0-9a-f]{12} here, [0-9a-f]{12} there\)$"
    expect_out '^  bring the same code to all hosts: --context DIR sends it with the launch$'
    expect_err '^train: 1 of 4 hosts is unfit \(exit 1\)$'
    # A context brings it.
    check -n 8 --context . -- /usr/bin/python3 run.py
    expect_status 0
    on node03 'cp /srv/code/run.py /srv/code/other; rm /srv/code/run.py'
    check_run
    expect_found 1 "^node03: unfit: python3 cannot read its script '/srv/code/run.py': no such file$"
    prepare
}

no_directory_and_no_program() {
    on node02 'mv /srv/code /srv/moved'
    check_run
    expect_found 1 "^node02: unfit: .*'/srv/code'.*no such file or directory"
    on node02 'mv /srv/moved /srv/code'
    on node01 "printf '#!/bin/sh\n' >/usr/local/bin/worker; chmod 755 /usr/local/bin/worker"
    check -n 8 -- worker
    expect_found 1 "^node\[02-04\]: unfit: program 'worker' was not found"
    expect_err '^train: 3 of 4 hosts are unfit \(exit 1\)$'
    # An interpreter of a shell line, and the Python of a script that is the program.
    on node03 'ln -s /usr/bin/python3 /usr/local/bin/python3.99'
    printf 'name: x\nentrypoint: python3.99 run.py\nresources: {slots_per_trial: 8}\n' >"$shared/line.yaml"
    check /srv/shared/line.yaml
    expect_found 1 "^node\[01-02,04\]: unfit: program 'python3.99' was not found"
    on node02 "printf '#!/usr/bin/python3\n' >/usr/local/bin/worker; chmod 755 /usr/local/bin/worker"
    run_on_head env --chdir=/srv/code "$train" check -H node02:2 -n 2 -- worker
    expect_status 0
    expect_out '^node02 +fit +2 +2 +0 +- +3\.'
}

disks() {
    on node01 'mount -t tmpfs -o size=1m small /tmp; head -c 2m /dev/zero >/tmp/full 2>/dev/null'
    on node02 'mount -t tmpfs -o ro none /tmp'
    on node03 'mount -t tmpfs -o size=64m,mode=1777 shm /dev/shm'
    on node04 'mount -t tmpfs -o nr_inodes=20,size=100m none /tmp'
    check_run
    expect_found 1 '^node01: unfit: /tmp \(temporary files\) is full: 0 MiB of 1 MiB are free$' \
        '^node02: unfit: nothing can be written to /tmp \(temporary files\): read-only file system$' \
        '^node04: unfit: /tmp \(temporary files\) has room for [0-9]+ more files$'
    expect_out '^node03: note: /dev/shm \(shared memory\) has 64 MiB'
    on node01 'umount /tmp'; on node02 'umount /tmp'; on node03 'umount /dev/shm'; on node04 'umount /tmp'
}

names() {
    on node01 "sed -i 's/^10\.77\.1\.1 .*/127.0.1.1 node01/' /etc/hosts"
    on node02 'sed -i /node02/d /etc/hosts'
    check_run
    expect_found 0
    expect_out "^node01: note: its own name 'node01' means 127.0.1.1 there"
    expect_out "^node02: note: its own name 'node02' means no address there"
    on node01 "sed -i 's/^127\.0\.1\.1 .*/10.77.1.1 node01/' /etc/hosts"
    on node02 'echo 10.77.1.2 node02 >>/etc/hosts'
}

packages() {
    local folder=/usr/local/lib/python3.11/dist-packages
    # shellcheck disable=SC2016 # the host expands it
    on node02 'folder=$(/usr/bin/python3 -c "import site; print(site.getsitepackages()[0])"); mkdir -p /srv/lib
        mkdir -p /srv/lib/torch-9.9.dist-info; printf "Metadata-Version: 2.1\nName: torch\nVersion: 9.9\n" >/srv/lib/torch-9.9.dist-info/METADATA
        mount --bind /srv/lib "$folder"'
    check_run
    expect_found 1 '^node02: unfit: torch is 9\.9 here and (missing|[0-9.a-z+]+) on node\[01,03-04\]$'
    on node02 "umount $folder"
}

other_python() {
    # One that says of itself that it is another, and one that says nothing.
    on node01 "printf '#!/bin/sh\necho version 3.99.0\n' >/usr/local/bin/python3; chmod 755 /usr/local/bin/python3"
    on node04 "printf '#!/bin/sh\nexec sleep 4711\n' >/usr/local/bin/python3; chmod 755 /usr/local/bin/python3"
    check -n 8 -- python3 run.py
    expect_found 1 '^node01: unfit: /usr/local/bin/python3 is Python 3\.99 here and 3\.[0-9]+ on node\[02-03\]$' \
        '^node04: unknown: /usr/local/bin/python3 does not say its version: it has not ended within 10 s$'
    expect_equal "sleepers" 0 "$(processes node04 '^sleep 4711')"
    on node01 'rm /usr/local/bin/python3'
    on node04 'rm /usr/local/bin/python3'
}

limits() {
    # Of a login, which sshd's are.
    # shellcheck disable=SC2016 # the host expands it
    on node03 'prlimit --pid "$(cat /run/sshd.pid)" --nofile=900:900'
    check_run
    expect_found 0
    expect_out '^node03: note: a process may open 900 files, and data loaders open many$'
    "$cluster" kill node03
    "$cluster" boot node03
    prepare
}

# rdma HOST STATE RATE: its kernel shows one port for RDMA from now on.
rdma() {
    on "$1" "if ! [ -d /sys/class/infiniband ]; then
            mkdir /srv/class && mount --bind /sys/class /srv/class && mount -t tmpfs none /sys/class &&
                mkdir /sys/class/net && mount --bind /srv/class/net /sys/class/net
        fi && mkdir -p /sys/class/infiniband/mlx5_0/ports/1 && cd /sys/class/infiniband/mlx5_0/ports/1 &&
        echo '$2' >state && echo '$3' >rate && echo InfiniBand >link_layer"
}

rdma_ports() {
    local host locked='^node\[01-04\]: unfit: a process may lock 64 KiB of memory, and RDMA locks its buffers$'
    for host in "${nodes[@]}"; do rdma "$host" '4: ACTIVE' '200 Gb/sec (4X HDR)' || exit 1; done
    # shellcheck disable=SC2016 # the host expands it
    for host in "${nodes[@]}"; do on "$host" 'prlimit --pid "$(cat /run/sshd.pid)" --memlock=65536:65536'; done
    check
    expect_found 1 "$locked"
    rdma node02 '1: DOWN' '10 Gb/sec (4X SDR)'
    rdma node03 '4: ACTIVE' '100 Gb/sec (2X HDR)'
    check
    expect_found 1 "$locked" '^node02: unfit: its RDMA port mlx5_0/1 is DOWN, and that of node\[01,03-04\] is ACTIVE$' \
        '^node03: unfit: its RDMA port mlx5_0/1 runs at 100 Gb/sec \(2X HDR\), and that of node\[01,04\] at 200 Gb/sec \(4X HDR\)$'
    check --json
    expect_schema check "$work/out"
    expect_out '"state": "DOWN"'
    for host in "${nodes[@]}"; do
        on "$host" 'umount /sys/class/net /sys/class && umount /srv/class && rmdir /srv/class' || exit 1
    done
}

data() {
    local host
    for host in "${nodes[@]}"; do on "$host" 'mkdir /srv/data && head -c 32M /dev/zero >/srv/data/part'; done
    check --data /srv/data
    expect_found 0
    expect_out '^/srv/data: [0-9.]+ [MG]B/s \(slowest node0[1-4]: [0-9.]+ [MG]B/s\)$'
    on node03 'rm -r /srv/data'
    check --data /srv/data --json
    expect_status 1
    expect_schema check "$work/out"
    check --data /srv/data
    expect_found 1 '^node03: unfit: /srv/data cannot be read: no such file or directory$'
    for host in "${nodes[@]}"; do on "$host" 'rm -rf /srv/data'; done
    # Where there is none a host says what it has seen; what is relative would be another one on each.
    check --data srv/data
    expect_status 64
    expect_err "give a path that begins with '/'"
}

gpus_that_are_not_there() {
    printf 'hosts:\n- {name: "node[01-04]", slots: 2, slot_type: cuda}\n' >"$shared/gpus.yaml"
    run_on_head "$train" check --hostfile /srv/shared/gpus.yaml
    expect_found 1 '^node\[01-04\]: unfit: it shows 0 of the 2 GPUs that the hosts file says$'
}

the_same_machine_twice() {
    run_on_head "$train" check -H node01:2,10.77.1.1:2
    expect_status 1
    expect_out '^10\.77\.1\.1: unfit: it is the same machine as node01$'
}

slots_that_are_held() {
    local id
    id=$(on head "$train" launch -d -H node02:2 -n 1 -- /bin/sleep 4711 2>"$work/launched")
    check_run
    expect_found 0
    expect_out '^node02: note: 1 of its 2 slots is held$'
    expect_out '^node02 +fit +2 +1 '
    on head "$train" task kill "$id" >"$work/kill" 2>&1
}

launches() {
    on node03 'echo "print(2)" >/srv/code/run.py'
    "$cluster" kill node04
    launch_in /srv/code -H "$hosts" -n 2 --check -- /usr/bin/python3 run.py
    expect_status 76
    expect_err "^train: node03: its 'run.py' differs from that of node\[01-02\]"
    expect_err '^train: node04: '
    expect_err '^train: 1 of 4 hosts is unfit, 1 could not be checked; nothing was started$'
    expect_err '^  --exclude-unfit launches on the others$'
    launch_in /srv/code -H "$hosts" -n 3 --exclude-unfit -- /usr/bin/python3 run.py
    expect_status 0
    expect_err '^train: launching without node\[03-04\]$'
    expect_err "3 ranks of .* on node\[01-02\];"
    # The others are too few.
    launch_in /srv/code -H "$hosts" -n 8 --exclude-unfit -- /usr/bin/python3 run.py
    expect_status 69
    "$cluster" boot node04
    prepare
    launch_in /srv/code -H "$hosts" -n 8 --check -- /usr/bin/python3 run.py
    expect_status 0
}

out_of_reach() {
    "$cluster" kill node04
    check_run
    expect_found 2 '^node04: unknown: '
    expect_err '^train: 1 of 4 hosts could not be checked \(exit 2\)$'
    check --json -n 8 -- /usr/bin/python3 run.py
    expect_schema check "$work/out"
    "$cluster" boot node04
    prepare
}

what_does_not_fit_is_refused_as_ever() {
    check -n 99 -- /usr/bin/python3 run.py
    expect_status 69
    expect_equal "answer" 0 "$(wc -c <"$work/out")"
}

prepare
test_case "hosts that are alike and have what is needed are fit" all_are_fit
test_case "no check of fit hosts finds anything" no_false_alarm
test_case "other code, or none, is found unless a context brings it" other_code
test_case "a directory or a program that a host lacks is named" no_directory_and_no_program
test_case "disks that are full, read-only, small or without files are told apart" disks
test_case "own names that mean nothing to others are said" names
test_case "another torch is found without importing it" packages
test_case "another Python is unfit, and one that hangs holds nobody up" other_python
test_case "a low limit of open files is said" limits
test_case "ports for RDMA that are down or slow are named" rdma_ports
test_case "data is read on each host, and missed where it is not" data
test_case "GPUs that a hosts file says and a host does not show are missed" gpus_that_are_not_there
test_case "one machine under two names is one" the_same_machine_twice
test_case "slots that others hold leave a host fit" slots_that_are_held
test_case "a launch looks first, refuses or leaves out what is not fit" launches
test_case "of a host out of reach nobody can tell" out_of_reach
test_case "what can never be placed is refused before hosts are asked" what_does_not_fit_is_refused_as_ever
finish
