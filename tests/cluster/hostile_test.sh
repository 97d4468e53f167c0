#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Hosts that lie: whatever one sends, the launcher ends soon, names it, and stays small.
#   hostile_test.sh path/to/train
. "$(dirname "$0")/lib.sh"

use_cluster 2 --slots 1
use_train "${1:-}"
install -m 755 "$(dirname "$0")/hostile_host" "$shared/hostile_host"

both=(-H 'node[01-02]:1' -n 2)
most_kib=150000 # of the launcher; a quiet one takes a tenth of it

# Runs a launcher, and leaves the most memory that it had, in KiB, in $shared/peak.
# shellcheck disable=SC2016 # expanded on the head
with_peak='"$@" & launcher=$!; echo $launcher >/srv/shared/launcher.pid
    while kill -0 $launcher 2>/dev/null; do
        sed -n "s/^VmHWM:[[:space:]]*\([0-9]*\).*/\1/p" /proc/$launcher/status >/tmp/peak.new 2>/dev/null
        [ -s /tmp/peak.new ] && mv /tmp/peak.new /srv/shared/peak
        sleep 0.1
    done
    wait $launcher'

# hostile MODE [LINE] -- COMMAND...: `train launch` on both hosts, of which node02 is hostile; before
# it, LINE of bash is run for the launcher.
hostile() {
    local mode=$1 line=:
    shift
    if [ "$1" != -- ]; then line=$1; shift; fi
    on node02 "sed -i 's|^|command=\"/srv/shared/hostile_host $mode\" |' .ssh/authorized_keys"
    run_on_head /bin/bash -c "$line; $with_peak" - "$train" launch "${both[@]}" "$@"
    local peak
    peak=$(cat "$shared/peak")
    [ "$peak" -lt "$most_kib" ] || note_failure "the launcher grew to $peak KiB"
    grep -q $'\033' "$work/out" "$work/err" && note_failure "an escape sequence was printed"
    expect_idle 5 node01
    restart node02
}

# is_cut_off SECONDS REGEX MODE [LINE] -- COMMAND...: it is, in that time, with that to be read.
is_cut_off() {
    local seconds=$1 regex=$2 began=$SECONDS
    shift 2
    hostile "$@"
    [ $((SECONDS - began)) -le "$seconds" ] || note_failure "it took $((SECONDS - began)) s"
    expect_status 76
    expect_err "node02.*($regex)"
    expect_last_err node02
}

noise_on_stderr() {
    hostile talkative -- hostname
    expect_status 0
    expect_equal "stdout" $'[0] node01\n[1] node02' "$(sort "$work/out")"
}

lies() { is_cut_off "$@" -- /bin/sh -c "$forever"; }

# shellcheck disable=SC2016 # expanded by the worker
cut_off_in_the_middle() {
    is_cut_off 30 'unknown kind|silent' half -- \
        /bin/sh -c 'yes "rank $RANK prints" | head -c 4000000; exec sleep 4711'
}

# The launcher's stdout is a pipe that nobody reads for a while.
# shellcheck disable=SC2016 # expanded by the worker
flood_while_nobody_reads() {
    is_cut_off 20 'more output than' flood 'exec > >(sleep 5; exec cat >/dev/null)' -- \
        /bin/sh -c 'echo "rank $RANK is here"; exec sleep 4711'
}

test_case "garbage in place of frames" lies 10 'unknown kind' garbage
test_case "a frame that claims 2 GiB" lies 10 '2147483647 bytes' oversized
test_case "JSON that is nested without end" lies 10 'nested too deep' deep_json
test_case "a host that never reads and says nothing" lies 40 'silent' never_reads
test_case "output of a rank of another host" lies 10 'out of turn' stranger
test_case "escape sequences in what a host says of itself" lies 10 'no place' steering
test_case "noise without end on stderr" noise_on_stderr
test_case "a stream that breaks off in the middle of a frame" cut_off_in_the_middle
test_case "output without regard to what was acknowledged" flood_while_nobody_reads
finish
