#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Networks, hosts and processes that go away under ranks that run, and come back or do not.
#   network_test.sh path/to/train
# shellcheck disable=SC2016 # programs for hosts and ranks are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 3 --slots 2
use_train "${1:-}"

# Prints NUMBER lines, one every 40 ms, the last one when `go` is there; a child shall not outlive it
# either.
cat >"$shared/steady" <<'BASH'
sleep 4711 &
for ((i = 0; i < $1; i++)); do
    [ "$i" -lt $(($1 - 1)) ] || until [ -e /srv/shared/go ]; do sleep 0.04; done
    echo "line $i of rank $RANK"
    sleep 0.04 # waits: the pace of the rank
done
BASH

on_three=(-H 'node[01-03]:1' -n 3)
id=''     # of the task
at_least_10='([1-9][0-9]|[0-9]{3,}) s'
at_least_15='(1[5-9]|[2-9][0-9]|[0-9]{3,}) s'

# start_steady LINES ARGUMENT...: three ranks on three hosts that print steadily, and a bystander.
start_steady() {
    local lines=$1
    shift
    rm -f "$shared/go"
    start_bystander
    launch_start "${on_three[@]}" "$@" -- /bin/bash /srv/shared/steady "$lines"
    within 30 "all ranks print" all_print
    id=$(sed -n 's/^train: task \([a-z0-9]*\): .*/\1/p' "$work/err")
}
all_print() {
    local rank
    for rank in 0 1 2; do out_has "^\[$rank\] line 5 " || return 1; done
}
lines_of() { grep -c "^\[$1\] line" "$work/out"; }
has_more_than() { [ "$(lines_of "$1")" -gt "$2" ]; }

# Nothing lost, nothing doubled, nothing else: on the terminal and in the log of each rank.
expect_whole_output() { # LINES
    local rank
    for rank in 0 1 2; do
        seq -f "line %g of rank $rank" 0 $(($1 - 1)) >"$shared/expected-$rank"
        sed -n "s/^\[$rank\] //p" "$work/out" | cmp - "$shared/expected-$rank" >"$work/differs" 2>&1 ||
            note_failure "what rank $rank printed, on the terminal: $(head -n 2 "$work/differs")"
        on head "cmp <(/srv/shared/bin/train task logs $id --rank $rank) /srv/shared/expected-$rank" \
            >"$work/differs" 2>&1 ||
            note_failure "the log of rank $rank: $(head -n 2 "$work/differs")"
    done
}

# expect_output_again RANK NUMBER SINCE: more lines than that come, the last one at the latest.
expect_output_again() {
    touch "$shared/go"
    eventually 15 has_more_than "$1" "$2" || note_failure "rank $1 prints nothing after the heal"
    echo "    rank $1 prints again after $(($(milliseconds) - $3)) ms"
}

# --- Processes of the task ---

# process HOST ROLE: the process id, there, of the agent of the task, its guard, the subreaper that its
# ranks are below, the bridge of its connection or the session of sshd that the bridge runs in.
process() {
    on "$1" 'ps -e -o pid=,ppid=,comm=,args=' | awk -v role="$2" -v key="$id" '
        { parent[$1] = $2; name[$1] = $3 }
        $0 ~ "agent (re)?attach " key "-" { ours[$1] }
        /bash \/srv\/shared\/steady/ { shells[$1] }
        END {
            # A shell that is about to start another program is one of these, too.
            for (pid in shells) if (!(parent[pid] in shells)) rank = pid
            for (pid in ours) if (name[parent[pid]] ~ /^sshd/) bridge = pid
            found["bridge"] = bridge; found["session"] = parent[bridge]
            found["subreaper"] = parent[rank]; found["agent"] = parent[parent[rank]]
            found["guard"] = parent[parent[parent[rank]]]
            print found[role]
        }'
}
signal_process() { on "$2" "kill -$1 $(process "$2" "$3")"; }

# ranks_on HOST: how many processes of its ranks there are. Looks from outside, at a host in any state.
ranks_on() { processes "$1" '^/bin/bash /srv/shared/steady|^sleep (4711|0.04)'; }
no_rank_on() { [ "$(ranks_on "$1")" -eq 0 ]; }
expect_no_rank() { # SECONDS HOST
    eventually "$1" no_rank_on "$2" ||
        note_failure "ranks of $2 run after $1 s:" "$("$cluster" processes "$2" 'steady|sleep')"
}
expect_ranks() { [ "$(ranks_on "$1")" -ge 2 ] || note_failure "the rank of $1 does not run"; }

# Of the ranks of all hosts, at the end of a case.
expect_all_gone() {
    expect_bystander
    expect_idle 3 head "${nodes[@]}"
}

# --- A network that is away ---

# On one host all packets are lost, on another what it is sent, on the third what it says.
short_cut() {
    start_steady 120
    "$cluster" cut node01
    "$cluster" cut node02 in
    "$cluster" cut node03 out
    sleep 8 # waits: so long they are away
    local rank before=() since
    for rank in 0 1 2; do
        expect_ranks "${nodes[$rank]}"
        before[rank]=$(lines_of "$rank")
    done
    since=$(milliseconds)
    for rank in 0 1 2; do "$cluster" heal "${nodes[$rank]}"; done
    for rank in 0 1 2; do expect_output_again "$rank" "${before[$rank]}" "$since"; done
    await_launch 30
    expect_status 0
    expect_whole_output 120
    expect_all_gone
}

long_cut() {
    start_steady 450
    "$cluster" cut node02
    within 30 "what is waited for is said" err_has "^train: host 'node02' is out of reach for $at_least_15 now; its ranks go on, and it is waited for another [0-9]+ s \(reconnect_window\)"
    expect_ranks node02
    local before since
    before=$(lines_of 1) since=$(milliseconds)
    "$cluster" heal node02
    expect_output_again 1 "$before" "$since"
    within 15 "it is said that it is back" err_has "^train: host 'node02' is back after $at_least_15; nothing of its output is lost$"
    await_launch 30
    expect_status 0
    expect_equal "lines that name the host" 2 "$(grep -c "^train: host 'node02'" "$work/err")"
    expect_whole_output 450
    expect_all_gone
}

cut_beyond_window() { # [DIRECTION]
    start_steady 5000 --set reconnect_window=10s
    "$cluster" cut node02 "$@"
    await_launch 60
    expect_status 76
    expect_no_rank 2 node02 # it is still cut: its agent has seen to that
    expect_err "^train: host 'node02': out of reach for $at_least_10, longer than reconnect_window \(10 s\)"
    expect_last_err node02 'exit 76'
    expect_idle_but_for_bystander 2 node01 node03
    "$cluster" heal node02
    expect_all_gone
}
expect_idle_but_for_bystander() { # SECONDS HOST...
    local seconds=$1 host
    shift
    for host in "$@"; do expect_no_rank "$seconds" "$host"; done
}

no_window() {
    start_steady 5000 --set reconnect_window=0s
    "$cluster" cut node02
    await_launch 60
    expect_status 76
    expect_err "^train: host 'node02': silent for $at_least_15"
    expect_last_err node02 'exit 76'
    expect_idle_but_for_bystander 2 node01 node03
    "$cluster" heal node02
    expect_no_rank 60 node02
    expect_all_gone
}

no_window_and_no_session() {
    start_steady 5000 --set reconnect_window=0s
    signal_process KILL node02 session
    await_launch 60
    expect_status 76
    expect_last_err node02 'exit 76'
    ! err_has 'silent for' || note_failure "its silence was waited for"
    expect_all_gone
}

# Logging in fails while the host is away and after it is back, and then does not.
login_fails() {
    start_steady 250
    local before since
    "$cluster" cut node02
    on node02 mv .ssh/authorized_keys .ssh/aside
    sleep 5 # waits: so long it is away
    before=$(failed_logins node02)
    "$cluster" heal node02
    signal_process KILL node02 session
    within 20 "somebody fails to log in, twice" login_has_failed node02 $((before + 2))
    expect_ranks node02
    before=$(lines_of 1) since=$(milliseconds)
    on node02 mv .ssh/aside .ssh/authorized_keys
    expect_output_again 1 "$before" "$since"
    await_launch 30
    expect_status 0
    expect_whole_output 250
    expect_all_gone
}

failed_logins() { on "$1" 'grep -c "authenticating user root .*preauth" /run/sshd.log || true'; }
login_has_failed() { [ "$(failed_logins "$1")" -ge "$2" ]; }

# --- Processes that are killed ---

killed_and_back() { # ROLE
    start_steady 80
    local before since
    signal_process KILL node02 "$1"
    before=$(lines_of 1) since=$(milliseconds)
    expect_output_again 1 "$before" "$since"
    await_launch 30
    expect_status 0
    expect_equal "lines of stderr" 1 "$(wc -l <"$work/err")"
    expect_whole_output 80
    expect_all_gone
}

killed_and_lost() { # ROLE WORDS
    start_steady 5000
    signal_process KILL node02 "$1"
    await_launch 30
    expect_status 76
    expect_last_err "host 'node02'" "$2" 'exit 76'
    ! err_has 'out of reach' || note_failure "it was waited for"
    expect_all_gone
}

# Everything of the attempt was below it: its agent sees to what it has left.
subreaper_is_killed() {
    start_steady 5000
    signal_process KILL node02 subreaper
    await_launch 30
    expect_status 137
    expect_last_err "rank 1 on 'node02' was killed by SIGKILL"
    expect_no_rank 2 node02
    expect_all_gone
}

agent_and_guard_are_killed() {
    start_steady 5000
    local guard agent
    guard=$(process node02 guard) agent=$(process node02 agent)
    # Until both stand still the agent is told of the end of its guard.
    on node02 "kill -STOP $guard $agent; until [ \"\$(ps -o state= -p $guard,$agent | tr -d '\n')\" = TT ]; do sleep 0.02; done
        kill -KILL $guard $agent"
    await_launch 30
    expect_status 76
    expect_last_err "host 'node02'" 'its agent has ended' 'exit 76'
    expect_no_rank 2 node02
    expect_all_gone
}

# Its stream stands, and it says nothing: the guard does what the agent does not.
agent_is_stopped() {
    start_steady 5000 --set reconnect_window=10s
    local since
    since=$(milliseconds)
    signal_process STOP node02 agent
    await_launch 60
    expect_status 76
    expect_at_least 7 "$since" "its guard ends the ranks after"
    expect_no_rank 2 node02
    expect_last_err "host 'node02'" 'its agent has ended' 'exit 76'
    expect_all_gone
}

# In bursts, through connections that break again and again; they are made anew once a second at last.
flood() {
    local kills=0
    rm -f "$shared/go"
    launch_start -H 'node02:1' -n 1 -- /bin/bash -c "for ((i = 0; i < 40; i++)); do
        [ \$i -lt 39 ] || until [ -e /srv/shared/go ]; do sleep 0.1; done
        seq -f 'this is line %.0f of a lot of lines, all of one length or nearly so' \$((i * 45000 + 1)) \$(((i + 1) * 45000)); sleep 0.5; done"
    within 20 "it prints" out_has '^\[0\] this is line 1 '
    id=$(sed -n 's/^train: task \([a-z0-9]*\): .*/\1/p' "$work/err")
    within 100 "20 connections are killed" has_killed_20
    touch "$shared/go"
    await_launch 100
    expect_status 0
    echo "    $kills connections were killed; $(($(wc -c <"$work/out") / 1000000)) MB were printed"
    sed 's/^\[0\] //' "$work/out" |
        cmp - <(seq -f 'this is line %.0f of a lot of lines, all of one length or nearly so' 1 1800000) \
            >"$work/differs" 2>&1 || note_failure "the terminal: $(head -n 2 "$work/differs")"
    expect_whole_logs 1 "seq -f 'this is line %.0f of a lot of lines, all of one length or nearly so' 1 1800000"
    : >"$work/out"
    expect_idle 3 head "${nodes[@]}"
}

has_killed_20() {
    local role=session
    [ $((kills % 2)) -eq 0 ] || role=bridge
    if signal_process KILL node02 "$role" 2>/dev/null; then kills=$((kills + 1)); fi
    [ "$kills" -ge 20 ]
}

# --- Hosts that stand still or lose power ---

short_freeze() {
    start_steady 60
    "$cluster" freeze node02
    sleep 8 # waits: so long it stands still
    local before since
    before=$(lines_of 1) since=$(milliseconds)
    "$cluster" thaw node02
    expect_output_again 1 "$before" "$since"
    await_launch 30
    expect_status 0
    expect_whole_output 60
    expect_all_gone
}

freeze_beyond_window() {
    start_steady 5000 --set reconnect_window=10s
    "$cluster" freeze node02
    await_launch 60
    expect_status 76
    expect_err "^train: host 'node02': out of reach for $at_least_10, longer than reconnect_window \(10 s\)"
    expect_last_err node02 'exit 76'
    expect_idle_but_for_bystander 2 node01 node03
    "$cluster" thaw node02
    expect_no_rank 2 node02
    expect_all_gone
}

power_off_and_on() {
    start_steady 5000
    "$cluster" kill node02
    sleep 3 # waits: so long it has no power
    "$cluster" boot node02
    await_launch 60
    expect_status 76
    expect_last_err "host 'node02'" 'was started anew' 'exit 76'
    on head "$train task wait $bystander" 2>/dev/null # it has lost the host as well
    expect_equal "exit status of the other task" 76 $?
    expect_idle 3 head "${nodes[@]}"
}

# --- Time to save ---

# Prints lines until its stop file is there, and notes that it has seen it.
cat >"$shared/saving" <<'BASH'
for ((i = 0; ; i++)); do
    [ ! -e "$TRAIN_STOP_FILE" ] || break
    echo "line $i of rank $RANK"
    sleep 0.04 # waits: the pace of the rank
done
echo "rank $RANK" >"/srv/shared/saved-$RANK"
BASH

# By its agent's own clock, before its fence: nobody else can tell it. The others are stopped after
# that, since a host is lost.
saves_out_of_reach() {
    rm -f "$shared"/saved-*
    start_bystander
    launch_start "${on_three[@]}" --set reconnect_window=10s --set stop_notice=1h --set stop_grace=1s -- \
        /bin/bash /srv/shared/saving
    within 30 "all ranks print" all_print
    "$cluster" cut node02
    within 20 "the rank of that host has saved" test -s "$shared/saved-1"
    await_launch 60
    expect_status 76
    expect_last_err "node02"
    local rank
    for rank in 0 2; do
        [ -s "$shared/saved-$rank" ] || note_failure "rank $rank has not saved"
        [ "$shared/saved-1" -ot "$shared/saved-$rank" ] || note_failure "rank $rank has saved before the host was lost"
    done
    "$cluster" heal node02
    expect_all_gone
}

# --- A launcher that ends ---

launcher_is_killed() {
    start_steady 5000
    local since host
    since=$(milliseconds)
    signal_launcher KILL
    await_launch 5
    expect_status 137
    for host in "${nodes[@]}"; do
        expect_no_rank 15 "$host"
        expect_at_least 4 "$since" "the ranks of $host are gone after"
    done
    expect_all_gone
}

interrupted() { # TIMES: Ctrl-C so often
    start_steady 5000 --set stop_grace=1s --set reconnect_window=40s
    "$cluster" cut node02
    local since
    since=$(milliseconds)
    interrupt "$1"
    await_launch 60
    expect_status 130
    # The silence of the host is told where it is waited for, which no third Ctrl-C has ended.
    if [ "$1" -lt 3 ]; then
        expect_at_least 14 "$since" "the launcher ends after"
        expect_err "^train: host 'node02' is out of reach for $at_least_15 now; its ranks go on, and it is waited for another [0-9]+ s \(all ranks are being stopped\)"
    else
        ! err_has 'is out of reach' || note_failure "it was waited for"
    fi
    expect_idle_but_for_bystander 2 node01 node03
    expect_err "node02"
    "$cluster" heal node02
    expect_no_rank 60 node02
    expect_all_gone
}

interrupted_and_healed() {
    start_steady 5000 --set stop_grace=1s
    "$cluster" cut node02
    sleep 6 # waits: so long it is away
    interrupt 1
    within 10 "all ranks but one have ended" are_without_ranks node01 node03
    expect_ranks node02
    "$cluster" heal node02
    await_launch 40
    expect_status 130
    ! err_has "host 'node02'" || note_failure "it was not waited for"
    expect_no_rank 2 node02
    expect_all_gone
}
are_without_ranks() {
    local host
    for host in "$@"; do no_rank_on "$host" || return 1; done
}

if [ "${2:-}" = --slow ]; then
    soak_case "a host that is cut off for longer is named, and again when it is back" long_cut
    soak_case "a host that hears nothing for longer than the window is lost, and its ranks are dead by then" cut_beyond_window in
    soak_case "a host that is not heard for longer than the window is lost, and its ranks are dead by then" cut_beyond_window out
    test_case "without a window a host that is cut off is lost after 15 s" no_window
    test_case "Ctrl-C while a host is cut off ends in the time of a stop" interrupted 1
    soak_case "Ctrl-C twice while a host is cut off ends no later" interrupted 2
    test_case "a host that stands still for 8 s loses nothing" short_freeze
    finish
fi
# Another login sees no folder of the agent: that is no sign that it has ended. It ends its ranks for
# the launcher that it has lost, and not before.
own_tmp() {
    local began
    printf '%s\n' '#!/bin/sh' 'mount -t tmpfs tmpfs /tmp && exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"' \
        >"$shared/own_tmp"
    chmod +x "$shared/own_tmp"
    on node02 "sed -i 's|^|command=\"unshare -m /srv/shared/own_tmp\" |' .ssh/authorized_keys"
    launch_start "${on_three[@]}" --set reconnect_window=20s --set on_launcher_loss=10s -- \
        /bin/bash /srv/shared/steady 5000
    within 30 "all ranks print" all_print
    began=$(milliseconds)
    on node02 'pkill -KILL -f "^sshd: root@notty"'
    within 10 "it is said what is in the way" err_has "host 'node02' is out of reach for .*the agent runs, but this login does not see its folder in '/tmp/train-0'"
    expect_ranks node02
    await_launch 60
    expect_at_least 9 "$began" "how long the host was waited for"
    expect_status 76
    expect_last_err "node02.*its agent has ended, and its ranks with it"
    expect_no_rank 2 node02
    on node02 "sed -i 's|^command=\"[^\"]*\" ||' .ssh/authorized_keys"
    expect_idle 5 head "${nodes[@]}"
}

start_slow_cases "$1"

test_case "a host that is cut off for 8 s, or in one direction, loses nothing" short_cut
soak_case "a host that is cut off for longer than the window is lost, and its ranks are dead by then" cut_beyond_window
test_case "without a window a broken connection is a lost host" no_window_and_no_session
test_case "a session of sshd that is killed is made anew" killed_and_back session
test_case "a bridge that is killed is made anew" killed_and_back bridge
test_case "an agent that is killed is a lost host" killed_and_lost agent 'its agent has ended'
test_case "the process below which the ranks of a host are takes them along" subreaper_is_killed
test_case "a guard that is killed is a lost host" killed_and_lost guard 'guard|agent'
test_case "agent and guard that are killed are a lost host" agent_and_guard_are_killed
test_case "an agent that stands still has a guard that ends the ranks" agent_is_stopped
soak_case "a host that stands still for longer than the window is lost, and its ranks end when it goes on" freeze_beyond_window
test_case "a host that is started anew is lost at once" power_off_and_on
test_case "ranks of a host that is out of reach save and go before its window is over" saves_out_of_reach
test_case "ranks outlive a killed launcher by 5 s" launcher_is_killed
test_case "Ctrl-C while a host is cut off ends its ranks when it is back" interrupted_and_healed
test_case "Ctrl-C three times while a host is cut off ends at once" interrupted 3
test_case "logging in that fails for a while loses nothing" login_fails
test_case "a host whose logins each have a /tmp of their own proves nothing, and loses no rank to it" own_tmp
soak_case "100 MB come whole through 20 connections" flood
count_slow_cases
finish
