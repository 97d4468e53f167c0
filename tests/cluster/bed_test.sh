#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The cluster itself: the launch tests can only be trusted if its hosts are apart and its faults real.
. "$(dirname "$0")/lib.sh"

use_cluster 2

ssh_answers() { on head ssh -o BatchMode=yes -o ConnectTimeout=2 -o ServerAliveInterval=2 "$1" hostname >"$work/out" 2>"$work/err"; }
expect_answer() { eventually 10 ssh_answers "$1" || note_failure "$2 does not answer"; }

hosts_are_apart() {
    local folder
    for folder in /root /tmp /var/tmp /run /dev/shm /srv /etc /usr/local/bin; do
        on node01 "touch $folder/of-node01-$$"
        [ ! -e "$folder/of-node01-$$" ] || note_failure "$folder of node01 is this machine's"
        on node02 "test ! -e $folder/of-node01-$$" || note_failure "$folder of node01 is node02's"
    done
    expect_equal "working directory of a command" "node01 /root" "$(on node01 'touch here; hostname; pwd' | xargs)"
    on node01 test -e /root/here || note_failure "a command's working directory is not the host's"
    restart node01
}

uptime_of() { on "$1" cut -d. -f1 /proc/uptime; }

clocks_begin_with_a_boot() {
    local uptime
    "$cluster" kill node01
    sleep 2 # waits: that whole seconds differ
    "$cluster" boot node01
    [ "$(uptime_of node01)" -lt "$(uptime_of node02)" ] ||
        note_failure "the clock of node01 goes on over a boot: $(uptime_of node01) s"
    # Its boot was after the start of this script, but for what a second is rounded to.
    uptime=$(uptime_of node02)
    [ "$uptime" -le $((SECONDS + 1)) ] || note_failure "node02 has run for $uptime s"
}

ssh_between_hosts() {
    expect_equal "node02 by ssh from the head" node02 "$(on head ssh -o BatchMode=yes node02 hostname)"
    expect_equal "head by ssh from node01" head "$(on node01 ssh -o BatchMode=yes head hostname)"
}

cut_and_heal() {
    "$cluster" cut node01
    ! ssh_answers node01 || note_failure "a host that is cut answers"
    expect_answer node02 "its neighbour"
    "$cluster" heal node01
    expect_answer node01 "a healed host"
}

# packets HOST: how many have come there.
packets() { on "$1" cat /sys/class/net/eth0/statistics/rx_packets; }

cut_one_way() {
    local before
    "$cluster" cut node01 in
    before=$(packets node01)
    ! ssh_answers node01 || note_failure "a host that hears nothing answers"
    expect_equal "packets that come to it" "$before" "$(packets node01)"
    "$cluster" heal node01
    expect_answer node01 "a host that could not hear"
    before=$(packets node01)
    "$cluster" cut node01 out
    ! ssh_answers node01 || note_failure "a host that cannot say a thing answers"
    [ "$(packets node01)" -gt "$before" ] || note_failure "nothing comes to it"
    "$cluster" heal node01
    expect_answer node01 "a host that could not speak"
}

# 60 kB at 20 kB/s, of which the queue takes a part at once.
slow_and_heal() {
    local began
    head -c 60000 /dev/urandom >"$shared/bytes"
    "$cluster" slow node01 160kbit
    began=${EPOCHREALTIME/./}
    on head 'ssh -o BatchMode=yes node01 wc -c </srv/shared/bytes' >/dev/null
    [ $((${EPOCHREALTIME/./} - began)) -gt 1500000 ] || note_failure "60 kB pass in $((${EPOCHREALTIME/./} - began)) us"
    "$cluster" heal node01
    # At that rate these would take five minutes.
    head -c 6000000 /dev/urandom >"$shared/bytes"
    began=${EPOCHREALTIME/./}
    on head 'ssh -o BatchMode=yes node01 wc -c </srv/shared/bytes' >/dev/null
    ! is_over 15 "$began" || note_failure "a healed host is slow"
}

freeze_and_thaw() {
    "$cluster" freeze node01
    ! ssh_answers node01 || note_failure "a frozen host answers"
    "$cluster" thaw node01
    expect_answer node01 "a thawed host"
}

crash_and_boot() {
    local boot_id
    boot_id=$(on node01 cat /proc/sys/kernel/random/boot_id)
    on node01 touch /root/before
    "$cluster" crash node01
    ! ssh_answers node01 || note_failure "a crashed host answers"
    expect_err 'refused'
    "$cluster" boot node01
    expect_answer node01 "a booted host"
    on node01 test ! -e /root/before || note_failure "a booted host has its old files"
    [ "$(on node01 cat /proc/sys/kernel/random/boot_id)" != "$boot_id" ] || note_failure "a booted host has its old boot id"
}

power_off_and_boot() {
    "$cluster" kill node01
    ! ssh_answers node01 || note_failure "a host without power answers"
    expect_err 'timed out'
    "$cluster" boot node01
    expect_answer node01 "a booted host"
}

orphans_are_reaped() {
    on node01 '(setsid sleep 0.2 &); (setsid sleep 0.2 &)'
    expect_idle 5 node01
    eventually 5 has_no_zombie || note_failure "zombies stay"
}
has_no_zombie() { ! on node01 'ps -e -o stat= | grep -q Z'; }

# Part of the host: frozen and killed with it, and of no other name outside.
own_cgroups() {
    on node01 'mkdir /sys/fs/cgroup/of-node01 && { setsid sh -c "echo 0 >/sys/fs/cgroup/of-node01/cgroup.procs; exec sleep 4711" >/dev/null 2>&1 & }'
    eventually 5 on node01 'grep -q "populated 1" /sys/fs/cgroup/of-node01/cgroup.events' ||
        note_failure "a process does not get into a cgroup of its host"
    on node02 'test ! -e /sys/fs/cgroup/of-node01' || note_failure "a cgroup of node01 is node02's"
    eventually 5 has_a_sleeper || note_failure "a process in a cgroup of its host is not of the host"
    on node01 'test -w /run/lock && ls -d /var/lock/' >/dev/null || note_failure "there is no /run/lock"
    restart node01
    on node01 'test ! -e /sys/fs/cgroup/of-node01' || note_failure "a booted host has its old cgroups"
}

has_a_sleeper() { [ "$(processes node01 '^sleep 4711')" -eq 1 ]; }

# What ends with the summary after the cases that wait long, whose number another child has got.
number_given_again() {
    if [ ! -e /proc/sys/kernel/ns_last_pid ]; then
        skip "this kernel lets nobody choose the number of a process (CONFIG_CHECKPOINT_RESTORE)"
        return
    fi
    cat >"$work/file_test.sh" <<'BASH'
#!/bin/bash
if [ "${2:-}" = --slow ]; then echo '3 passed, 0 failed, 0 skipped'; exit; fi
. "$1"
work=$(mktemp -d)
leave_cluster() { rm -rf "$work"; }
start_slow_cases "$1"
while [ -e "/proc/$slow" ]; do sleep 0.02; done
echo $((slow - 1)) >/proc/sys/kernel/ns_last_pid
([ $BASHPID -eq "$slow" ] || echo "another number was given"; exit 4)
count_slow_cases
finish
BASH
    chmod +x "$work/file_test.sh"
    unshare --pid --fork --mount-proc "$work/file_test.sh" "${BASH_SOURCE[0]%/*}/lib.sh" >"$work/out" 2>&1
    expect_equal "what it says" '3 passed, 0 failed, 0 skipped' "$(cat "$work/out")"
}

test_case "hosts share no private folder with each other or with this machine" hosts_are_apart
test_case "a host has cgroups of its own" own_cgroups
test_case "hosts reach each other by ssh" ssh_between_hosts
test_case "a host that is cut is silent until it is healed" cut_and_heal
test_case "a host can be cut off in one direction" cut_one_way
test_case "a slow link is slow until it is healed" slow_and_heal
test_case "a frozen host does nothing until it is thawed" freeze_and_thaw
test_case "a crashed host refuses, and boots with fresh folders" crash_and_boot
test_case "a host without power is silent, and boots" power_off_and_boot
test_case "the clocks of a host begin with its boot" clocks_begin_with_a_boot
test_case "a host reaps its orphans" orphans_are_reaped
test_case "cases that wait long are counted though their number is given again" number_given_again
finish
