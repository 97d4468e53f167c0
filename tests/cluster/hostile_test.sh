#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Hosts that lie: whatever one sends, the launcher ends soon, names it, and stays small.
#   hostile_test.sh path/to/train
. "$(dirname "$0")/lib.sh"

how_many=2
[ -z "${TRAIN_SOAK:-}${TRAIN_TEST_ONLY:-}" ] || how_many=3
use_cluster $how_many --slots 1
use_train "${1:-}"
install -m 755 "$(dirname "$0")/hostile_host" "$(dirname "$0")/flooding_server" "$shared/"
# It speaks the version that the launcher under test speaks.
sed -n 's/^constexpr int wire_version = \([0-9]*\);$/\1/p' \
    "$(dirname "$0")/../../launcher/wire/message.hpp" >"$shared/wire_version"

both=(-H 'node[01-02]:1' -n 2)
settings=() # of one case
most_kib=150000 # of the launcher; a quiet one takes a tenth of it

# Runs a launcher, and leaves the most memory that it had, in KiB, in $shared/peak.
# shellcheck disable=SC2016 # expanded on the head
with_peak='"$@" & launcher=$!; echo $launcher >/srv/shared/launcher.pid
    while kill -0 $launcher 2>/dev/null; do
        sed -n "s/^VmHWM:[[:space:]]*\([0-9]*\).*/\1/p" /proc/$launcher/status >/tmp/peak.new 2>/dev/null
        [ -s /tmp/peak.new ] && mv /tmp/peak.new /srv/shared/peak
        sleep 0.1 # waits: looks now and then, as long as it lives
    done
    wait $launcher'

be_hostile() { # HOST MODE
    on "$1" "sed -i 's|^|command=\"/srv/shared/hostile_host $2\" |' .ssh/authorized_keys"
}

# hostile MODE [LINE] -- COMMAND...: `train launch` on both hosts, of which node02 is hostile; before
# it, LINE of bash is run for the launcher.
hostile() {
    local mode=$1 line=:
    shift
    if [ "$1" != -- ]; then line=$1; shift; fi
    be_hostile node02 "$mode"
    run_on_head /bin/bash -c "$line; $with_peak" - "$train" launch "${both[@]}" "${settings[@]}" "$@"
    local peak
    peak=$(cat "$shared/peak")
    [ "$peak" -lt "$most_kib" ] || note_failure "the launcher grew to $peak KiB"
    grep -q $'\033' "$work/out" "$work/err" && note_failure "an escape sequence was printed"
    expect_idle 5 node01
    restart node02
}

# is_cut_off REGEX MODE [LINE] -- COMMAND...: it is, for that reason.
is_cut_off() {
    local regex=$1
    shift
    hostile "$@"
    expect_status 76
    expect_err "node02.*($regex)"
    expect_last_err node02
}

# gets STATUS REGEX MODE [TO [LINE]]: somebody gets what a rank has left on a host that has turned hostile.
gets() {
    launch -H node02:1 -n 1 -- /bin/true
    local id peak
    id=$(sed -n 's/^train: task \([a-z0-9]*\): .*/\1/p' "$work/err")
    on head 'rm -rf /root/to /root/escaped && mkdir /root/to'
    be_hostile node02 "$3"
    run_on_head /bin/bash -c "${5:-:}; $with_peak" - "$train" task get "$id" /out "${4:-/root/to}"
    expect_status "$1"
    expect_err "$2"
    expect_own_lines
    expect_equal "what got out" "" "$(on head 'ls -d /root/escaped /root/to/escaped 2>/dev/null')"
    expect_equal "what is half done" "" "$(on head 'find /root/to -name ".train-get*"')"
    peak=$(cat "$shared/peak")
    [ "$peak" -lt "$most_kib" ] || note_failure "the launcher grew to $peak KiB"
    restart node02
}

noise_on_stderr() {
    hostile talkative -- hostname
    expect_status 0
    expect_equal "stdout" $'[0] node01\n[1] node02' "$(sort "$work/out")"
}

lies() { is_cut_off "$@" -- /bin/sh -c "$forever"; }

# Each line is the launcher's own, or belongs to one.
expect_own_lines() {
    grep -vE '^(train: |  )' "$work/err" && note_failure "lines that are not the launcher's"
    grep -n '^train: forged' "$work/err" && note_failure "a host made lines of the launcher"
    LC_ALL=C grep -nP '\xc2\x9b|\xe2\x80\xae' "$work/err" && note_failure "what steers a terminal was printed"
}

forged_refusal() {
    hostile forger -- hostname
    expect_status 72
    expect_err "host 'node02': no python3.x0atrain: forged.x1b"
    expect_own_lines
}

very_many_survivors() {
    hostile survivors -- hostname
    expect_status 0
    expect_err "left on 'node02': process 7 of user 0 could not be killed: x.x0atrain: forged"
    expect_err '[.]{3} and 99992 more'
    expect_own_lines
    [ "$(wc -c <"$work/err")" -lt 5000 ] || note_failure "it said $(wc -c <"$work/err") bytes"
}

# What is printed does not become shorter when it is packed. With a window, the agent would be asked
# again, and go on: it is the true one.
cut_off_in_the_middle() {
    local settings=(--set reconnect_window=0s)
    is_cut_off 'unknown kind|silent' half -- \
        /bin/sh -c 'head -c 4000000 /dev/urandom | base64; exec sleep 4711'
}

# The launcher's stdout is a pipe that nobody reads for a while.
# shellcheck disable=SC2016 # expanded by the worker
flood_while_nobody_reads() {
    is_cut_off 'more output than' flood 'exec > >(sleep 5; exec cat >/dev/null)' -- \
        /bin/sh -c 'echo "rank $RANK is here"; exec sleep 4711'
}

# What is sent fills the buffers of the host's sshd, or its channel's window if it is more than that.
# shellcheck disable=SC2016 # expanded on the head
upload_is_not_read() {
    local began way
    began=$(milliseconds)
    be_hostile node03 takes_no_upload
    run_on_head /bin/bash -c 'cd /srv/shared
        launch() { "$train" launch --transport $1 -H $2:1,node03:1 -n 2 -- hostname >$1.said 2>&1; echo $? >$1.status; }
        train=$0; launch ssh node01 & launch openssh node02; wait' "$train"
    for way in ssh openssh; do
        cat "$shared/$way.said" >"$work/err"
        expect_equal "exit status of the launch by $way" 76 "$(cat "$shared/$way.status")"
        expect_err "host 'node03': .*was silent for 60 s while the binary was being copied there" # the limit itself
        expect_last_err node03
    done
    expect_at_least 60 "$began" "it ended after"
    expect_idle 5 head node01 node02
    restart node03
}

# Nobody waits for that minute without a word.
says_that_it_waits() {
    be_hostile node02 takes_no_upload
    launch_start --transport "$1" -H node02:1 -n 1 -- hostname
    within 20 "it is said" err_has "^train: host 'node02' takes nothing of the program .*until 60 s have passed"
    signal_launcher INT
    await_launch 60
    expect_status 130
    restart node02
}

# Who holds up an upload does not hold up what is to be said of others.
others_are_told_at_once() {
    be_hostile node02 takes_no_upload
    printf '%s\n' 'hosts:' '  - {name: node01, slots: 1, port: 2222}' '  - {name: node02, slots: 1}' \
        >"$shared/refusing.yaml"
    launch --hostfile /srv/shared/refusing.yaml -n 2 -- hostname
    expect_status 76
    expect_err "host 'node01': connection refused"
    expect_err "host 'node02': no answer by then"
    restart node02
}

# --- Servers that flood before anybody is logged in ---

listens() { on node02 'grep -q ":1F90 " /proc/net/tcp'; }

# flood_from_node02 MODE: what listens on port 8080 there floods; a hosts file with it and node01.
flood_from_node02() {
    on node02 "setsid /srv/shared/flooding_server 8080 $1 >/dev/null 2>&1 &"
    eventually 10 listens || note_failure "the flooding server does not listen"
    printf '%s\n' 'hosts:' '  - {name: node01, slots: 1}' '  - {name: node02, slots: 1, port: 8080}' \
        >"$shared/flooding.yaml"
}

# The processor time of the launcher, in seconds, is what `times` of the shell around it tells last.
server_floods() { # MODE TRANSPORT REGEX
    local used
    flood_from_node02 "$1"
    # shellcheck disable=SC2016 # expanded on the head
    run_on_head /bin/bash -c '"$@"; code=$?; times >/srv/shared/times; exit $code' - \
        "$train" launch --transport "$2" --hostfile /srv/shared/flooding.yaml -n 2 -- hostname
    expect_status 76
    expect_err "^train: host 'node02': .*($3)"
    expect_last_err "host 'node02'"
    used=$(sed -n '$s/^\([0-9]*\)m\([0-9]*\)\..*/\1 * 60 + \2/p' "$shared/times")
    [ $((used)) -lt $((pace / 2)) ] || note_failure "it used $(tail -n 1 "$shared/times") of processor time"
    restart node02
}

is_connected() { on node02 'grep -q ":1F90 .* 01 " /proc/net/tcp'; }

interrupted_while_it_drops() {
    flood_from_node02 drops
    launch_start --hostfile /srv/shared/flooding.yaml -n 2 -- hostname
    within 10 "the launcher is connected" is_connected
    signal_launcher INT
    await_launch 60
    expect_status 130
    ! err_has node02 || note_failure "its greeting was waited for"
    restart node02
}

soak_case "a host that takes no upload is cut off after a minute, whatever way" upload_is_not_read
test_case "garbage in place of frames" lies 'unknown kind' garbage
test_case "a frame that claims 2 GiB" lies '2147483647 bytes' oversized
test_case "JSON that is nested without end" lies 'nested too deep' deep_json
test_case "JSON of 16 MiB" lies 'more than the 262144 allowed' big_json
test_case "words that would be lines of the launcher" forged_refusal
test_case "a hundred thousand processes left" very_many_survivors
soak_case "a host that never reads and says nothing" lies 'silent' never_reads
test_case "another launcher that is none" \
    lies "its agent serves another launcher of this task .process 7 on 'x'.*registry knows nothing" usurper
test_case "a name that leads out of the folder that is fetched" gets 76 'leaves its folder' gets_out
test_case "a folder through a link that was sent before" gets 66 "'/root/to/out/x': file exists" gets_through_a_link
unread='rm -f /root/unread; mkfifo /root/unread; exec 3<>/root/unread >&3'
test_case "a file without end for somebody who does not read it" \
    gets 76 'more than was asked for' gets_flooded - "$unread"
test_case "a file without end that comes byte by byte" gets 76 'more than was asked for' gets_crumbs - "$unread"
test_case "half a million things that cannot be fetched" gets 66 'and 499990 more' gets_troubles
test_case "output of a rank of another host" lies 'out of turn' stranger
test_case "escape sequences in what a host says of itself" lies 'no place' steering
test_case "noise without end on stderr" noise_on_stderr
soak_case "a stream that breaks off in the middle of a frame" cut_off_in_the_middle
test_case "output without regard to what was acknowledged" flood_while_nobody_reads
test_case "a server that sends lines in place of its greeting" server_floods lines ssh 'floods: more than 64 KiB'
test_case "a server that sends a line without end" server_floods line ssh 'floods: more than 64 KiB'
test_case "a server that sends packets in place of a key exchange" server_floods packets ssh 'before the login'
test_case "a server that floods OpenSSH's client" server_floods lines openssh 'does not greet as an SSH server does'
test_case "Ctrl-C while a server greets without end" interrupted_while_it_drops
test_case "a host that takes no upload is named after ten seconds" says_that_it_waits ssh
test_case "so it is by OpenSSH's client" says_that_it_waits openssh
test_case "hosts beside one that takes no upload are told at once" others_are_told_at_once
finish
