#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Directories that travel to hosts without a shared file system.   context_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 4 --slots 2
use_train "${1:-}"

# Below /root, which every host has for itself.
code=/root/code
cache=/root/.cache/train
on_four=(-H 'node[01-04]:1' -n 4)
on_one=(-H node01:1 -n 1)

# make_code COMMAND...: a fresh directory on the head, filled by that command in it.
make_code() { on head "rm -rf $code && mkdir -p $code && cd $code && $*"; }

# launch_code ARGUMENT...: with that directory as the context.
launch_code() { launch --context "$code" "$@"; }

contexts_on() { on "$1" "ls -A $2/contexts 2>/dev/null"; }
received_by() { on "$1" 'cat /sys/class/net/*/statistics/rx_bytes' | awk '{ sum += $1 } END { print sum }'; }

listing=$(cat "$(dirname "$0")/../listing.py")

# --- What works ---

delivered_once() {
    local before after rank
    make_code 'head -c 20M /dev/urandom >weights && echo "print(\"hello\")" >main.py'
    launch_code "${on_four[@]}" -- /bin/sh -c 'wc -c <weights; /usr/bin/python3 main.py; pwd'
    expect_status 0
    for rank in 0 1 2 3; do
        expect_out "^\[$rank\] 20971520\$"
        expect_out "^\[$rank\] hello\$"
        expect_out "^\[$rank\] $cache/runs/[a-z2-7]{8}-$rank\$"
    done
    before=$(received_by node03)
    launch_code "${on_four[@]}" -- /usr/bin/python3 main.py
    after=$(received_by node03)
    expect_status 0
    [ $((after - before)) -lt 1000000 ] || note_failure "node03 received $((after - before)) bytes again"
    expect_equal "contexts on node03" 1 "$(contexts_on node03 "$cache" | wc -l)"
    expect_idle 2 "${nodes[@]}"
}

everything_arrives_as_it_is() {
    make_code 'mkdir -p empty deep/er && echo secret >key && chmod 600 key && echo "#!/bin/sh" >run &&
        chmod 755 run && chmod 444 key2 2>/dev/null; ln -s ../run deep/up; ln -s gone dangling
        touch -- -rf "$(printf "new\nline")" "$(printf "\377\376")" "a b" "$(printf "%0200d" 7)"
        mkdir "$(printf "%0200d" 8)" && echo deep >"$(printf "%0200d" 8)/$(printf "%0200d" 9)"
        truncate -s 50M sparse && printf end >>sparse && chmod 750 deep && mkfifo fifo
        mkdir __pycache__ && touch __pycache__/x.pyc y.pyc skipped && echo /skipped >.trainignore'
    launch_code "${on_one[@]}" -- /usr/bin/python3 -c "$listing"
    expect_status 0
    expect_err "warning: 'fifo' is no file, folder or link, and is left out"
    sed -n 's/^\[0\] //p' "$work/out" | sort >"$work/there"
    on head "cd $code && rm -r fifo __pycache__ y.pyc skipped .trainignore && /usr/bin/python3 -c '$listing'" |
        sort >"$work/here"
    expect_equal "paths, modes, targets and contents" "$(cat "$work/here")" "$(cat "$work/there")"
    launch_code "${on_one[@]}" -- /bin/sh -c 'du -k sparse | cut -f 1'
    [ "$(sed -n 's/^\[0\] //p' "$work/out")" -lt 1000 ] || note_failure "the holes of a file are filled"
}

ranks_share_a_copy_of_their_own() {
    make_code 'echo original >file && mkdir sub'
    launch_code -H node01:2 -n 2 -- /bin/sh -c 'echo "$RANK" >"sub/$RANK"; echo changed >file; pwd'
    expect_status 0
    local run
    run=$(sed -n 's/^\[0\] //p' "$work/out")
    expect_out "^\[1\] $run\$"
    expect_equal "what the ranks left" "0 1 changed" "$(on node01 "cd $run && echo \$(cat sub/0 sub/1 file)")"
    launch_code -H node01:2 -n 2 --set working_directory=sub -- /bin/sh -c 'cat ../file; ls'
    expect_out '^\[1\] original$'
    expect_equal "lines of two ranks in an empty folder" 2 "$(wc -l <"$work/out")"
    launch_code "${on_one[@]}" --set working_directory=/usr/bin -- pwd
    expect_out '^\[0\] /usr/bin$'
}

through_openssh() {
    make_code 'head -c 9M /dev/urandom >weights'
    launch_code --transport openssh "${on_four[@]}" -- /bin/sh -c 'wc -c <weights'
    expect_status 0
    expect_equal "ranks that have it" 4 "$(grep -c ' 9437184$' "$work/out")"
    expect_idle 2 head "${nodes[@]}"
}

# slow_link KIB TIMES: a context of so many, over both transports; a user who looks on sees how far it is, so
# often at least.
slow_link() {
    make_code "head -c $1k /dev/urandom >weights"
    printf '%s\n' 'hosts:' '- {name: node01, slots: 1}' '- {name: node02, slots: 1, transport: openssh}' >"$shared/slow"
    launch --hostfile /srv/shared/slow -n 2 -- true
    expect_status 0
    "$cluster" slow node01 100kbit
    "$cluster" slow node02 100kbit
    cp "$(dirname "$0")/terminal_session.py" "$shared/"
    run_on_head python3 /srv/shared/terminal_session.py -- \
        "$train" launch --context "$code" --hostfile /srv/shared/slow -n 2 -- /bin/sh -c 'wc -c <weights'
    expect_status 0
    expect_equal "ranks that have it" 2 "$(grep -c "] $(($1 * 1024))$" "$work/out")"
    expect_out '^train: the context is on its way to 2 hosts; the slowest has [0-9.]+ (KiB|bytes) of '"$1"'\.[0-9] KiB$'
    [ "$(grep -c 'is on its way' "$work/out")" -ge "$2" ] || note_failure "how far it is is said $(grep -c 'is on its way' "$work/out") times"
    expect_idle 2 head "${nodes[@]}"
}

# --- What goes wrong ---

# resent COMMAND: what that does to the packed file on node01 is found out, and it comes again.
resent() {
    local before after
    on node01 "cd $cache/contexts && $1"
    before=$(received_by node01)
    launch_code "${on_one[@]}" -- sha256sum -c sum
    after=$(received_by node01)
    expect_status 0
    [ $((after - before)) -gt 3000000 ] || note_failure "nothing was sent again after: $1"
}

damaged_cache() {
    restart node01
    make_code 'head -c 3M /dev/urandom >weights && sha256sum weights >sum'
    launch_code "${on_one[@]}" -- sha256sum -c sum
    expect_status 0
    resent 'chmod 600 * && printf damaged | dd of=$(ls) bs=1 seek=1000000 conv=notrunc status=none'
    resent 'chmod 600 * && truncate -s 1000000 *'
    resent 'chmod 600 * && echo more >>$(ls)'
    resent 'rm -r ../contexts'
    resent 'file=$(ls) && mv $file /root/moved && ln -s /root/moved $file'
    on node01 "rm -r $cache/contexts && ln -s /tmp $cache/contexts"
    launch_code "${on_one[@]}" -- pwd
    expect_status 0
    expect_out '^\[0\] /var/tmp/train-0/runs/'
    expect_equal "packed files through the link" 0 "$(on node01 'find /tmp -name "*.tar.gz"' | wc -l)"
    restart node01
}

# The binary is there already, so that the context alone has no place.
read_only_home() {
    make_code 'echo hello >file'
    launch "${on_one[@]}" -- true
    expect_status 0
    on node01 "mount --bind $cache $cache && mount -o remount,ro,bind $cache"
    launch_code "${on_one[@]}" -- pwd
    expect_status 0
    expect_out '^\[0\] /var/tmp/train-0/runs/'
    on node01 'mount -t tmpfs -o ro none /var/tmp && mkdir -p /tmp/train-0/full &&
        rm -rf /tmp/train-0/contexts && touch /tmp/train-0/contexts'
    launch_code "${on_one[@]}" -- pwd
    expect_status 76
    expect_err "host 'node01': no place takes the context .*/root/.cache/train.*read-only.*/var/tmp/train-0"
    expect_err 'make room in one of these places'
    expect_idle 2 node01
    restart node01
}

full_host() {
    make_code 'head -c 10M /dev/urandom >weights'
    launch "${on_one[@]}" -- true
    on node01 "mkdir -p $cache/contexts $cache/runs && mount -t tmpfs -o size=4M none $cache/contexts &&
        mount -t tmpfs -o size=4M none /var/tmp && mount -t tmpfs -o size=4M none /tmp"
    launch_code "${on_one[@]}" -- true
    expect_status 76
    expect_err "host 'node01': no place takes the context \(10.0 MiB\): .*less than 21.0 MiB left"
    # Enough for the packed file, but what it is unpacked to has its own limit.
    on node01 "umount $cache/contexts && mount -t tmpfs -o size=4M none $cache/runs"
    launch_code "${on_one[@]}" -- true
    expect_status 76
    expect_err "host 'node01': no place takes the context \(10.0 MiB\): cannot write '$cache/runs/.*/weights': no space left on device; '/var/tmp/train-0': it has less than 21.0 MiB left; '/tmp/train-0': "
    expect_equal "what is left in contexts" "" "$(contexts_on node01 "$cache")"
    expect_equal "what is left in runs" "" "$(on node01 "ls -A $cache/runs")"
    expect_idle 2 node01
    restart node01
}

is_coming_to() { on node01 "ls -A $1/contexts 2>/dev/null" | grep -q '^\.'; }

# The link is slow, so that there is time to fill the place. What was received is not sent again.
runs_full_on_the_way() {
    local before after
    make_code 'head -c 6M /dev/urandom >weights'
    launch "${on_one[@]}" -- true
    expect_status 0
    on node01 "mkdir -p $cache/contexts && mount -t tmpfs -o size=16M none $cache/contexts"
    before=$(received_by node01)
    "$cluster" slow node01 8mbit
    launch_start --context "$code" "${on_one[@]}" -- /bin/sh -c 'pwd; wc -c <weights'
    within 20 "the context is on its way" is_coming_to "$cache"
    on node01 "head -c 100M /dev/zero >$cache/contexts/filler 2>/dev/null"
    await_launch 60
    after=$(received_by node01)
    expect_status 0
    expect_out '^\[0\] /var/tmp/train-0/runs/'
    expect_out '^\[0\] 6291456$'
    ! err_has 'is on its way' || note_failure "how far it is goes to what is no terminal"
    [ $((after - before)) -lt 8000000 ] || note_failure "node01 received $((after - before)) bytes"
    expect_equal "what is left in contexts" filler "$(contexts_on node01 "$cache")"
    # The next task finds it there, though the better place is tried again.
    "$cluster" heal node01
    on node01 "rm $cache/contexts/filler && umount $cache/contexts"
    before=$(received_by node01)
    launch_code "${on_one[@]}" -- pwd
    after=$(received_by node01)
    expect_status 0
    expect_out "^\[0\] $cache/runs/"
    [ $((after - before)) -lt 1000000 ] || note_failure "node01 received $((after - before)) bytes again"
    restart node01
}

cannot_be_unpacked_there() {
    make_code 'head -c 6M /dev/urandom >weights'
    launch "${on_one[@]}" -- true
    on node01 "mkdir -p $cache/runs && mount -t tmpfs -o size=4M none $cache/runs"
    launch_code "${on_one[@]}" -- /bin/sh -c 'pwd; wc -c <weights'
    expect_status 0
    expect_out '^\[0\] /var/tmp/train-0/runs/'
    expect_out '^\[0\] 6291456$'
    expect_equal "what is left in runs" "" "$(on node01 "ls -A $cache/runs")"
    restart node01
}

# What is refused is so before any rank is started; so is a host that is down together with it.
refused_here() {
    make_code 'truncate -s 70M big.bin && truncate -s 40M other.bin'
    launch_code "${on_four[@]}" -- /bin/sh -c 'touch /tmp/started'
    expect_status 78
    expect_err "has 110.0 MiB, more than the 100.0 MiB that may travel; 'big.bin' has 70.0 MiB, 'other.bin'"
    expect_err 'name it in /root/code/.trainignore'
    make_code 'ln -s ../secret out && ln -s /etc/passwd abs && touch fine'
    launch_code "${on_four[@]}" -- /bin/sh -c 'touch /tmp/started'
    expect_status 78
    expect_err "link 'out' of the context points to '../secret', outside of it"
    expect_err "link 'abs' of the context points to '/etc/passwd', outside of it"
    local host
    for host in "${nodes[@]}"; do
        on "$host" 'test ! -e /tmp/started' || note_failure "a worker was started on $host"
    done
    expect_idle 2 head "${nodes[@]}"
}

is_being_sent() { on node02 "ls -A $cache/contexts 2>/dev/null" | grep -q '^\.'; }

launcher_dies_while_it_sends() {
    make_code 'head -c 90M /dev/urandom >weights'
    "$cluster" slow node02 32mbit
    launch_start --context "$code" "${on_four[@]}" -- true
    within 20 "the context is on its way to node02" is_being_sent
    signal_launcher KILL
    await_launch 5
    expect_idle 10 "${nodes[@]}"
    expect_equal "what is left in contexts" "" "$(contexts_on node02 "$cache" | grep '^\.')"
    expect_equal "what is left in runs" "" "$(on node02 "ls -A $cache/runs" | grep '^\.')"
}

host_freezes_while_it_takes() {
    make_code 'head -c 90M /dev/urandom >weights'
    "$cluster" slow node02 32mbit
    launch_start --context "$code" "${on_four[@]}" -- true
    within 20 "the context is on its way to node02" is_being_sent
    "$cluster" freeze node02
    await_launch 60
    expect_status 76
    expect_last_err node02
    expect_idle 5 node01 node03 node04
}

# --- Age ---

is_tidy() { [ -z "$(on node01 "ls -dA $1 2>/dev/null")" ]; }

old_things_go() {
    make_code 'echo one >file'
    launch_code "${on_one[@]}" -- true
    expect_status 0
    local zeros=0000000000000000 binary digest
    binary=train-$zeros${zeros}00000000 digest=$zeros$zeros$zeros$zeros
    local incomplete=contexts/.$digest.$zeros half=runs/.aaaaaaaa-1.$zeros
    on node01 "cd $cache && touch $binary $incomplete contexts/$digest.tar.gz && mkdir -p runs/aaaaaaaa-0/deep $half &&
        echo x >runs/aaaaaaaa-0/deep/file && ln -s /root runs/aaaaaaaa-0/link && echo x >/root/stays &&
        touch train-notes contexts/mine && mkdir -p runs/mine runs/bbbbbbbb-0 runs/.git &&
        touch -d '-40 days' $binary contexts/* train-notes runs/mine runs/.git &&
        touch -h -d '-8 days' runs/aaaaaaaa-0 && touch -d '-2 days' $incomplete $half"
    make_code 'echo two >file'
    rm -f "$shared/go"
    launch_start --context "$code" "${on_one[@]}" -- /bin/sh -c 'until [ -e /srv/shared/go ]; do sleep 0.05; done'
    local gone kept
    for gone in $binary $incomplete contexts/$digest.tar.gz runs/aaaaaaaa-0 $half 'runs/.aaaaaaaa*'; do
        eventually 20 is_tidy "$cache/$gone" || note_failure "$gone is still there"
    done
    touch "$shared/go"
    await_launch 30
    expect_status 0
    for kept in train-notes contexts/mine runs/mine runs/.git runs/bbbbbbbb-0 /root/stays; do
        on node01 "cd $cache && test -e $kept" || note_failure "$kept went"
    done
    expect_equal "contexts" 2 "$(contexts_on node01 "$cache" | wc -l)"
    expect_equal "programs" 2 "$(on node01 "ls $cache" | grep -c '^train-')"
}

# --- A file system that does not answer ---

# A server of files that is there and never says a word, as one of NFS that is down.
stall='import ctypes, os, time
device = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
if ctypes.CDLL(None).mount(b"stalled", b"/root/code/stalled", b"fuse", 0, options) == 0: time.sleep(3600)'

# is_stalled: not by looking into it.
is_stalled() { on head 'grep -q "^stalled /root/code/stalled " /proc/mounts'; }
an_agent_waits() { [ "$(processes node01 'agent attach')" -ge 1 ]; }

context_that_never_answers() {
    make_code 'mkdir stalled && echo one >file'
    on head "{ setsid /usr/bin/python3 -c '$stall' </dev/null >/dev/null 2>&1 &
        echo \$! >/root/stall.pid; }"
    eventually 5 is_stalled || note_failure "there is no such file system here: does the kernel have FUSE?"
    launch_start --context "$code" "${on_one[@]}" -- true
    within 20 "an agent waits on node01" an_agent_waits
    signal_launcher INT
    await_launch 30
    expect_status 130
    on head 'umount -l /root/code/stalled; kill "$(cat /root/stall.pid)"'
    expect_idle 10 head "${nodes[@]}"
}

test_case "a context reaches four hosts once, and the ranks start in it" delivered_once
test_case "names, modes, links, folders and holes arrive as they are" everything_arrives_as_it_is
test_case "the ranks of a host share one copy, and the next task has a fresh one" ranks_share_a_copy_of_their_own
test_case "a context travels through OpenSSH's client" through_openssh
test_case "where a link is slow a terminal shows how far it is" slow_link 90 1
soak_case "a slow link may take longer than a host may be silent" slow_link 220 2
test_case "a cached context that is damaged, gone or a link is not used" damaged_cache
test_case "a read-only home is passed over; without any place the host says so" read_only_home
test_case "a full host says so, and keeps nothing" full_host
test_case "a place that runs full on the way hands over to the next" runs_full_on_the_way
test_case "a place that a context cannot be unpacked to hands over to the next" cannot_be_unpacked_there
test_case "too large a context and links that leave it are refused with their names" refused_here
test_case "a launcher that dies while it sends leaves nothing half" launcher_dies_while_it_sends
soak_case "a host that freezes while it takes is named" host_freezes_while_it_takes
test_case "what nobody has used for long goes, and nothing else" old_things_go
test_case "Ctrl-C ends a launch whose context is on a file system that does not answer" context_that_never_answers
finish
