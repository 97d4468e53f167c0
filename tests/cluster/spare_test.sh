#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tasks that go on with other hosts where theirs have failed.
#   spare_test.sh path/to/train
# shellcheck disable=SC2016 # programs for hosts and ranks are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 4 --slots 2
use_train "${1:-}"

# In attempt 0 the ranks run for ever, or until they are told to fail; in later ones they tell where they are.
cat >"$shared/moves" <<'BASH'
echo "attempt $TRAIN_RESTART_COUNT of rank $RANK on $(hostname) with $MASTER_ADDR"
touch "/srv/shared/there.$TRAIN_RESTART_COUNT.$RANK.$(hostname)"
if [ "$TRAIN_RESTART_COUNT" = 0 ]; then
    until [ -e /srv/shared/fail ]; do sleep 0.1; done
    exit 3
fi
[ "$1" != forever ] || exec sleep 4711
BASH
# On two of some hosts, which are lost after ten seconds.
two_of=(-n 4 --set max_restarts=1 --set reconnect_window=10s)
id=
field() { on head "$train task show $id --json" | python3 -c "import json,sys; d=json.load(sys.stdin); print($1)"; }
hosts_of_attempts='"; ".join(a["hosts"] for a in d["attempts"])'
is_there() { ls "$shared/there.$1.$2."* >/dev/null 2>&1; }
# attempt_runs NUMBER: all four ranks of it.
attempt_runs() { is_there "$1" 0 && is_there "$1" 1 && is_there "$1" 2 && is_there "$1" 3; }
begin() {
    rm -f "$shared"/there.* "$shared/fail"
    launch_start "${two_of[@]}" "$@"
    within 30 "the ranks run" attempt_runs 0
}
# expect_move FOLDED NAMES: the second attempt was there.
expect_move() {
    expect_status 0
    expect_err "^train: attempt 1: on $1 instead of node\[01-02\]$"
    expect_equal "ranks of the second attempt" 4 "$(grep -c "attempt 1 of rank" "$work/out")"
    local first
    first=$(sed -n 's/^\[0\] attempt 1 of rank 0 on \(node0.\) with .*/\1/p' "$work/out")
    expect_equal "where the others meet rank 0" "$first" \
        "$(sed -n 's/.*attempt 1 .* with //p' "$work/out" | sed 's/10\.77\.1\./node0/' | sort -u)"
    id=$(task_id)
    expect_equal "hosts of the attempts" "node01,node02; $2" "$(field "$hosts_of_attempts")"
}

takes_over() { # LOST FOLDED NAMES
    begin -H 'node[01-03]:2' -- /bin/bash /srv/shared/moves
    "$cluster" kill "$1"
    await_launch 120
    expect_move "$2" "$3"
    expect_no_out "attempt 1 .* on $1"
    # shellcheck disable=SC2046 # words
    expect_idle 3 head $(echo "$3" | tr , ' ')
}

# The first spare is off, too: that costs no attempt.
spare_is_off() {
    "$cluster" kill node03
    begin -H 'node[01-04]:2' -- /bin/bash /srv/shared/moves
    "$cluster" kill node02
    await_launch 180
    expect_status 0
    expect_err "^train: host 'node03': "
    expect_err "^train: attempt 2: on node\[01,04\] instead of node\[01,03\]$"
    expect_equal "ranks of the last attempt" 4 "$(grep -c "attempt 2 of rank" "$work/out")"
    id=$(task_id)
    expect_equal "hosts of the attempts" "node01,node02; node01,node03; node01,node04" "$(field "$hosts_of_attempts")"
    expect_idle 3 head node01 node04
}

# What is left of a rank that hears of a lost one at once is over long before the lost host must have
# ended its ranks.
others_fail_at_once() {
    begin -H 'node[01-03]:2' --set restart_delay=0s --set reconnect_window=30s --set stop_grace=1s -- \
        /bin/bash /srv/shared/moves
    "$cluster" cut node02
    touch "$shared/fail"
    await_launch 120
    expect_err '^train: restart 1 of 1 in [0-9.]* s: by then the ranks of lost hosts have ended$'
    expect_move 'node\[01,03\]' node01,node03
    [ "$(processes node02 'shared/moves')" -eq 0 ] || note_failure "ranks of the first attempt run on node02"
    "$cluster" heal node02
    expect_idle 10 head node01 node02 node03
}

stopped_meanwhile() {
    begin -H 'node[01-03]:2' --set restart_delay=20s -- /bin/bash /srv/shared/moves
    "$cluster" kill node02
    touch "$shared/fail"
    within 60 "the restart is announced" err_has '^train: attempt 1: on node'
    interrupt 1
    await_launch 30
    expect_status 130
    id=$(task_id)
    expect_equal "hosts of the attempts" "node01,node02" "$(field "$hosts_of_attempts")"
    expect_idle 3 head node01 node03
}

# A further launcher knows where the ranks are, and one that only ends them.
launcher_dies() {
    begin -H 'node[01-03]:2' --set on_launcher_loss=20s -- /bin/bash /srv/shared/moves forever
    id=$(task_id)
    touch "$shared/fail"
    "$cluster" kill node01
    within 120 "the second attempt runs" attempt_runs 1
    signal_launcher KILL
    await_launch 10
    start_on_head "$train" task attach "$id"
    within 30 "the task is adopted" grep -q "attempt 1 of rank 0 on node02" "$work/out"
    expect_equal "where rank 3 is" node03 "$(on head "$train task exec $id --rank 3 -- hostname" 2>/dev/null)"
    signal_launcher KILL
    await_launch 10
    run_on_head "$train" task kill "$id"
    expect_status 0
    expect_idle 5 head node02 node03
}

# The replacement begins while ranks may run on the other side of the cut; once it is healed they are ended.
replaced_at_once() {
    begin -H 'node[01-03]:2' --set on_launcher_loss=continue --set replace=at_once -- \
        /bin/bash /srv/shared/moves forever
    "$cluster" cut node02
    within 60 "the second attempt runs" attempt_runs 1
    [ "$(processes node02 'shared/moves')" -gt 0 ] || note_failure "nothing runs on node02"
    "$cluster" heal node02
    within 90 "what was left there is ended" is_free node02
    { workers_are 2 node01 && workers_are 2 node03; } || note_failure "the second attempt does not go on"
    interrupt 1
    await_launch 30
    expect_idle 5 head node01 node02 node03
}
is_free() { [ "$(processes "$1" 'shared/moves')" -eq 0 ]; }
workers_are() { [ "$(processes "$2" '^sleep 4711')" -eq "$1" ]; }

# Nothing else has room: the lost host is waited for.
no_room() {
    begin -H 'node[01-02]:2,node03:1' -- /bin/bash /srv/shared/moves
    "$cluster" kill node02
    within 60 "the restart is announced" err_has '^train: restart 1 of 1 '
    "$cluster" heal node02 2>/dev/null
    "$cluster" boot node02
    await_launch 90
    expect_status 0
    expect_equal "ranks of the second attempt" 4 "$(grep -c "attempt 1 of rank" "$work/out")"
    id=$(task_id)
    expect_equal "hosts of the attempts" "node01,node02; node01,node02" "$(field "$hosts_of_attempts")"
}

with_context_and_events() {
    mkdir -p "$shared/code"
    cp "$shared/moves" "$shared/code/moves"
    rm -f "$shared/events"
    begin -H 'node[01-03]:2' --context /srv/shared/code --events /srv/shared/events --json -- /bin/bash moves
    "$cluster" kill node02
    await_launch 120
    expect_status 0
    expect_equal "attempts of the document" 'node01,node02; node01,node03' \
        "$(python3 -c "import json,sys; d=json.load(open(sys.argv[1])); print($hosts_of_attempts)" "$work/out")"
    expect_equal "the lost host in the events" node02 \
        "$(sed -n 's/.*attempt_failing.*"host":"\([^"]*\)".*/\1/p' "$shared/events")"
}

# The hosts of one name are broken: what runs there fails. Then a log policy finds that of another one.
is_blamed() {
    cat >"$shared/breaks" <<'BASH'
echo "attempt $TRAIN_RESTART_COUNT of rank $RANK on $(hostname) with $MASTER_ADDR"
touch "/srv/shared/there.$TRAIN_RESTART_COUNT.$RANK.$(hostname)"
until [ "$(find /srv/shared -maxdepth 1 -name "there.$TRAIN_RESTART_COUNT.*" | wc -l)" -eq 4 ]; do sleep 0.05; done
case $(hostname):$RANK in
node01:*) [ "$LOCAL_RANK" != 0 ] || exit 9 ;;
node03:*) [ "$LOCAL_RANK" != 0 ] || { echo "Xid 79 on this host" && exit 8; } ;;
esac
[ "$TRAIN_RESTART_COUNT" = 3 ] || exec sleep 4711
BASH
    rm -f "$shared"/there.*
    printf '%s\n' 'resources: {slots_per_trial: 4}' 'max_restarts: 3' 'restart_delay: 0s' 'entrypoint: bash /srv/shared/breaks' \
        'log_policies: [{pattern: Xid 79, action: exclude_node}]' >"$shared/blames.yaml"
    launch -H 'node[01-04]:2' /srv/shared/blames.yaml
    expect_status 0
    expect_err "^train: host 'node01' is left out from now on: its ranks were the first to fail in 2 attempts"
    expect_err "^train: host 'node03' is left out from now on: log policy 'Xid 79'"
    id=$(task_id)
    expect_equal "hosts of the attempts" "node01,node02; node01,node02; node02,node03; node02,node04" \
        "$(field "$hosts_of_attempts")"
    train_on_head task show "$id"
    expect_out "attempt 1 is over, .*; host 'node01' is left out from now on: its ranks were the first to fail"
    expect_idle 3 head "${nodes[@]}"
}

test_case "a spare host takes the place of one that is switched off" takes_over node02 'node\[01,03\]' node01,node03
test_case "so it does where rank 0 was" takes_over node01 'node\[02-03\]' node02,node03
test_case "a spare that is off itself costs no attempt" spare_is_off
test_case "ranks that fail at once wait for the lost ones to have ended" others_fail_at_once
test_case "Ctrl-C before the move ends the task where it was" stopped_meanwhile
test_case "a task that has moved is adopted, entered and ended where it is" launcher_dies
test_case "a host that is replaced at once is cleaned once it is back" replaced_at_once
test_case "a host whose ranks fail first is left out, and one that a log policy excludes" is_blamed
test_case "without room elsewhere the lost host is waited for" no_room
test_case "the context goes to a spare host, and the events name the lost one" with_context_and_events

finish
