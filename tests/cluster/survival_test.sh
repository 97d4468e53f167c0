#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Much output, and learning, through connections that break and launchers that die.
#   survival_test.sh path/to/train
# shellcheck disable=SC2016 # programs for hosts and ranks are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 2 --slots 1
use_train "${1:-}"

reconnects=20
adoptions=5
megabytes=${TRAIN_TEST_MEGABYTES:-100} # of both ranks together

# Prints its half of what is asked for, while it is being disturbed and at the latest afterwards.
cat >"$shared/prints_much" <<'BASH'
pieces=250
lines=$(($1 * 1000000 / 2 / 20 / pieces)) # of 20 bytes
for ((i = 0; i < pieces; i++)); do
    seq -f "$RANK: %016.0f" $((i * lines)) $((i * lines + lines - 1))
    [ -e "$2" ] || sleep 0.15
done
until [ -e "$2" ]; do sleep 0.05; done
BASH

take_over() {
    kill_supervisor
    start_on_head "$train" task attach "$id"
    within 20 "somebody attends it" err_has "^train: task $id is attended again"
    # The view; who attends the task goes on.
    signal_launcher KILL
    await_launch 5
}

# logins: to both hosts, so far.
logins() { for host in "${nodes[@]}"; do on "$host" 'grep Accepted /run/sshd.log'; done | wc -l; }
have_logged_in() { [ "$(logins)" -ge "$1" ]; }
# What sshd runs for a login there.
break_sessions() { on "$1" 'pkill -KILL -f "^sshd: root@notty"'; }

much_output() {
    local round before rank began=$SECONDS
    id=$(on head "$train launch -d -H node01:1,node02:1 -n 2 -- /bin/bash /srv/shared/prints_much $megabytes /srv/shared/go" 2>"$work/err")
    [[ $id =~ ^[a-z2-7]{8}$ ]] || note_failure "launch -d: '$id' $(cat "$work/err")"
    for ((round = 1; round <= reconnects; round++)); do
        before=$(logins)
        eventually 5 break_sessions "${nodes[$((round % 2))]}" || note_failure "round $round: there is no session"
        eventually 10 have_logged_in $((before + 1)) || note_failure "round $round: no connection comes again"
        [ $((round % (reconnects / adoptions))) -ne 0 ] || take_over
    done
    echo "      $reconnects reconnects and $adoptions adoptions in $((SECONDS - began)) s, $(on head "du -sm ~/.local/state/train/tasks/$id/logs" | cut -f1) MB of logs by then"
    touch "$shared/go"
    train_on_head task wait "$id"
    expect_status 0
    for rank in 0 1; do
        RANK=$rank /bin/bash "$shared/prints_much" "$megabytes" "$shared/go" >"$shared/expected"
        on head "$train task logs $id --rank $rank | cmp - /srv/shared/expected" >"$work/differs" 2>&1 ||
            note_failure "the log of rank $rank: $(head -n 2 "$work/differs")"
        expect_equal "bytes of rank $rank" $((megabytes * 500000)) "$(stat -c %s "$shared/expected")"
    done
    expect_idle 5 head "${nodes[@]}"
}

# fill_disk: what is left of the place where the launcher keeps its tasks, until `filler` is removed.
small=/srv/small
fill_disk() {
    on head "head -c 100M /dev/zero >$small/filler" 2>/dev/null
    expect_equal "room on the disk" 0 "$(on head "df --output=avail $small" | tail -n 1 | tr -d ' ')"
}

# start_on_small_disk COMMAND: two ranks run it once there is /srv/shared/go, when the disk is full.
start_on_small_disk() {
    rm -f "$shared/go" "$shared"/printed-*
    on head "mkdir -p $small && mount -t tmpfs -o size=40m none $small" || return
    start_on_head env XDG_STATE_HOME="$small" "$train" launch -H node01:1,node02:1 -n 2 --set log_limit=1GiB --set stop_grace=1s -- \
        /bin/sh -c "echo begins; until [ -e /srv/shared/go ]; do sleep 0.05; done; $1"
    within 20 "both ranks run" out_count_is 2 '\] begins$'
    id=$(sed -n 's/^train: task \([a-z0-9]*\): .*/\1/p' "$work/err")
    fill_disk
    touch "$shared/go"
}

# Output that finds no room waits on the hosts, and the ranks go on.
full_disk() {
    local rank
    start_on_small_disk 'seq 1 1000000; touch /srv/shared/printed-$RANK; until [ -e /srv/shared/printed-0 ] && [ -e /srv/shared/printed-1 ] && [ -e /srv/shared/room ]; do sleep 0.05; done'
    within 20 "it is said" err_has 'no space left on device: output is kept on the hosts until there is room'
    within 30 "both ranks have printed all" both_have_printed
    on head "rm $small/filler"
    within 20 "it is said that there is room" err_has '^train: the log disk \(.*\) takes output again$'
    touch "$shared/room"
    await_launch 30
    expect_status 0
    for rank in 0 1; do
        on head "XDG_STATE_HOME=$small $train task logs $id --rank $rank | cmp - <(echo begins; seq 1 1000000)" >"$work/differs" 2>&1 ||
            note_failure "the log of rank $rank: $(head -n 2 "$work/differs")"
    done
    expect_idle 5 head "${nodes[@]}"
    on head "umount $small"
}

both_have_printed() { [ -e "$shared/printed-0" ] && [ -e "$shared/printed-1" ]; }

# A stop need not be written down.
stopped_on_full_disk() {
    start_on_small_disk 'seq 1 100000; exec sleep 4711'
    within 20 "it is said" err_has 'no space left on device'
    signal_launcher INT
    await_launch 30
    expect_status 130
    expect_idle 5 head "${nodes[@]}"
    expect_equal "how it is recorded" interrupted "$(on head "XDG_STATE_HOME=$small $train task show $id --json" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["state"])')"
    on head "umount $small"
}

test_case "$megabytes MB of output come through $reconnects reconnects and $adoptions adoptions, byte for byte" much_output
test_case "while the launcher's disk is full, output waits on the hosts; the logs are whole once there is room" full_disk
test_case "Ctrl-C while the launcher's disk is full ends all ranks" stopped_on_full_disk
finish
