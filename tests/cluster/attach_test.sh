#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tasks on a cluster whose launcher dies, and that another one goes on with.
#   attach_test.sh path/to/train
# shellcheck disable=SC2016 # programs for hosts and ranks are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 3 --slots 2
use_train "${1:-}"

on_three=(-H 'node[01-03]:1' -n 3)
id='' # of the task

# Prints numbered lines until /srv/shared/go is there, and ends with the code $1.
cat >"$shared/counts" <<'BASH'
for ((i = 0; ; i++)); do
    echo "line $i of rank $RANK"
    [ $((i % 50)) -ne 0 ] || head -c 5000 /dev/zero | tr '\0' x
    [ $((i % 50)) -ne 0 ] || echo
    [ $i -lt 50 ] || [ ! -e /srv/shared/go ] || break
    sleep 0.02 # waits: the pace of the rank
done
echo "end of rank $RANK after $i"
# One that fails has the others stopped: they are to be this far.
end=/srv/shared/end.$TRAIN_TASK_ID
touch "$end.$RANK"
[ "$RANK" = 1 ] || exit 0
until [ -e "$end.0" ] && [ -e "$end.2" ]; do sleep 0.02; done
exit "$1"
BASH

# detach CODE ARGUMENT...: sets `id`.
detach() {
    local code=$1
    shift
    rm -f "$shared/go"
    id=$(on head "$train launch -d ${on_three[*]} $* -- /bin/bash /srv/shared/counts $code" 2>"$work/err")
    [[ $id =~ ^[a-z2-7]{8}$ ]] || note_failure "launch -d: '$id' $(cat "$work/err")"
}

state_of() { on head "$train task list --all --csv" | tr -d '\r' | awk -F, -v id="$1" '$1 == id { print $3 }'; }
state_is() { [ "$(state_of "$id")" = "$1" ]; }
is_attended() { supervisor >/dev/null; }

start_attach() { start_on_head "$train" task attach "$id"; }
attach() { run_on_head "$train" task attach "$id"; }
task() { on head "$train task $*" >"$work/out" 2>"$work/err"; status=$?; }

# Nothing lost, nothing doubled, nothing else: in the log of each rank.
expect_whole() {
    local rank last
    for rank in 0 1 2; do
        on head "$train task logs $id --rank $rank" >"$work/log" 2>"$work/log.err" || note_failure "task logs fails"
        expect_equal "what is said of the log of rank $rank" "" "$(cat "$work/log.err")"
        last=$(sed -n "s/^end of rank $rank after //p" "$work/log")
        [ "${last:-0}" -ge 50 ] || { note_failure "the log of rank $rank ends with: $(tail -n 1 "$work/log" | head -c 200)"; continue; }
        for ((i = 0; i <= last; i++)); do
            echo "line $i of rank $rank"
            [ $((i % 50)) -ne 0 ] || { head -c 5000 /dev/zero | tr '\0' x; echo; }
        done >"$work/expected"
        echo "end of rank $rank after $last" >>"$work/expected"
        cmp "$work/log" "$work/expected" >"$work/differs" 2>&1 || note_failure "the log of rank $rank: $(head -n 1 "$work/differs")"
    done
}

# One that is about to execute another program is there twice for a moment.
has_one_rank() { [ "$(processes "$1" '/srv/shared/counts')" = 1 ]; }

is_taken_over() {
    start_bystander
    detach 3
    kill_supervisor
    expect_equal "state" unattended "$(state_of "$id")"
    task wait "$id"
    expect_status 75
    expect_err "^train: task $id is unattended"
    sleep 7 # waits: longer than ranks in the foreground would have
    for host in "${nodes[@]}"; do eventually 2 has_one_rank "$host" || note_failure "there is not one rank on $host"; done
    start_attach
    within 15 "somebody attends it" err_has "^train: task $id is attended again"
    expect_equal "state" running "$(state_of "$id")"
    within 10 "the view shows what ranks print" out_has '^\[[0-2]\] line'
    kill_supervisor
    within 10 "the view ends" launch_has_ended
    await_launch 5
    expect_status 75
    start_attach
    within 15 "somebody attends it again" err_has "^train: task $id is attended again"
    touch "$shared/go"
    await_launch 30
    expect_status 3
    expect_err "^train: task $id: failed: worker: rank [0-2] on 'node0[1-3]' exited with code 3"
    expect_whole
    task wait "$id"
    expect_status 3
    expect_bystander
    expect_idle 5 head "${nodes[@]}"
}

again_and_again() {
    local round
    detach 0
    for round in 1 2 3 4 5; do
        kill_supervisor
        start_attach
        within 15 "round $round: somebody attends it" err_has "is attended again"
        sleep "0.$((RANDOM % 5))" # waits: dies at any moment
        signal_launcher KILL 2>/dev/null
        await_launch 5
    done
    kill_supervisor
    touch "$shared/go"
    attach
    expect_status 0
    expect_whole
    expect_idle 5 head "${nodes[@]}"
}

# Reports that are torn most of the time, until /srv/shared/go is there; prints how many.
cat >"$shared/reports" <<'BASH'
for ((i = 0; ; i++)); do
    printf '{"step": %d, ' $i
    sleep 0.02 # waits: a report is torn for so long
    printf '"rank": %d}\n' "$RANK"
    [ $i -lt 50 ] || [ ! -e /srv/shared/go ] || break
done >>"$TRAIN_METRICS_FILE"
echo "reports $((i + 1))"
BASH

# While no network carries them, and while nobody takes them.
reports_are_exact() {
    local round
    rm -f "$shared/go"
    id=$(on head "$train launch -d ${on_three[*]} -- /bin/bash /srv/shared/reports" 2>"$work/err")
    for round in 1 2 3; do
        "$cluster" cut "node0$round" || return
        sleep "0.$((RANDOM % 9))$round" # waits: dies at any moment
        kill_supervisor
        [ "$round" = 2 ] || "$cluster" heal "node0$round"
        start_attach
        within 40 "round $round: somebody attends it" err_has "is attended again"
        [ "$round" != 2 ] || "$cluster" heal "node0$round"
        sleep "0.$((RANDOM % 9))$round" # waits: dies at any moment
        signal_launcher KILL 2>/dev/null
        await_launch 5
    done
    touch "$shared/go"
    attach
    expect_status 0
    task logs "$id"
    expect_equal "reports of all ranks, lines ignored, and the last step of rank 0" \
        "$(python3 -c 'import re, sys; n = {r: int(k) for r, k in re.findall(r"\[(\d)\] reports (\d+)", sys.stdin.read())}
print(sum(n.values()), 0, n["0"] - 1)' <"$work/out")" \
        "$(on head "$train task show $id --json" | python3 -c 'import json, sys
for a in json.load(sys.stdin)["attempts"]: print(a["reports"], a["ignored_lines"], a["last_report"]["step"])')"
    expect_equal "said of metrics" "" "$(on head "grep metrics ~/.local/state/train/tasks/$id/launcher.log")"
    expect_idle 5 head "${nodes[@]}"
}

ended_meanwhile() {
    rm -f "$shared/go"
    id=$(on head "$train launch -d ${on_three[*]} -- /bin/bash -c 'while [ ! -e /srv/shared/go ]; do sleep 0.05; done; echo last words of \$RANK; echo trouble >&2; [ \$RANK = 1 ] && exit 9; exec sleep 4711'" 2>"$work/err")
    kill_supervisor
    touch "$shared/go"
    eventually 10 sleepers_are 2 || note_failure "rank 1 does not end"
    attach
    expect_status 9
    expect_err "rank 1 on 'node02' exited with code 9"
    task logs "$id" --rank 1
    expect_out '^last words of 1$'
    expect_out '^trouble$'
    expect_idle 5 head "${nodes[@]}"
}
sleepers_are() { [ "$(all_processes '^sleep 4711' | wc -l)" -eq "$1" ]; }

is_killed() {
    start_bystander
    detach 0 --set stop_grace=2s
    kill_supervisor
    task kill "$id"
    expect_status 0
    expect_err "^train: task $id: killed$"
    expect_equal "state" killed "$(state_of "$id")"
    expect_bystander
    expect_idle 5 head "${nodes[@]}"
}

host_is_started_anew() {
    detach 0
    kill_supervisor
    restart node02
    attach
    expect_status 76
    expect_err "host 'node02'.*(its agent has ended|was started anew)"
    expect_idle 15 head "${nodes[@]}"
}

host_is_away() {
    start_bystander
    detach 0
    kill_supervisor
    "$cluster" cut node03 || return
    start_attach
    within 40 "somebody attends it" err_has "is attended again"
    stays 2 launch_runs || note_failure "it is not waited for"
    "$cluster" heal node03
    touch "$shared/go"
    await_launch 60
    expect_status 0
    expect_whole
    expect_bystander
    expect_idle 5 head "${nodes[@]}"
}

is_started_again() {
    rm -f "$shared/go"
    id=$(on head "$train launch -d ${on_three[*]} --set max_restarts=1 --set restart_delay=100ms -- /bin/bash -c 'echo attempt \$TRAIN_RESTART_COUNT; [ \$TRAIN_RESTART_COUNT = 1 ] && exit 0; while [ ! -e /srv/shared/go ]; do sleep 0.05; done; [ \$RANK != 2 ] || exit 4; exec sleep 4711'" 2>"$work/err")
    kill_supervisor
    touch "$shared/go"
    eventually 10 sleepers_are 2 || note_failure "rank 2 does not end"
    attach
    expect_status 0
    task logs "$id" --rank 0 --attempt all
    expect_equal "attempts" "attempt 0 attempt 1" "$(paste -sd' ' "$work/out")"
    expect_idle 5 head "${nodes[@]}"
}

# A host that has lost its copy meanwhile is sent what the others have.
context_has_changed() {
    on head 'mkdir -p code && echo launched >code/version'
    id=$(on head "$train launch -d ${on_three[*]} --context code --set max_restarts=1 --set restart_delay=100ms -- /bin/sh -c 'cat version; [ \$TRAIN_RESTART_COUNT = 1 ] || exec sleep 4711'" 2>"$work/err")
    kill_supervisor
    on head 'echo changed >code/version'
    restart node02
    attach
    expect_status 0
    ! err_has 'has changed since the launch' || note_failure "the directory was read"
    task logs "$id" --attempt 1
    expect_equal "versions" "[0] launched,[1] launched,[2] launched" "$(sort "$work/out" | paste -sd,)"
    expect_idle 5 head "${nodes[@]}"
}

two_at_once() {
    local first
    detach 6
    kill_supervisor
    on head "$train task attach $id" >"$work/first.out" 2>"$work/first.err" &
    first=$!
    start_attach
    eventually 15 is_attended || note_failure "nobody attends it"
    within 20 "both look on" both_look_on
    touch "$shared/go"
    await_launch 30
    expect_status 6
    wait "$first"
    expect_equal "exit status of the other" 6 $?
    expect_equal "who went on with it" 1 "$(cat "$work/first.err" "$work/err" | grep -c 'is attended again')"
    expect_whole
    expect_idle 5 head "${nodes[@]}"
}

both_look_on() { out_has '^\[0\] line' && grep -q '^\[0\] line' "$work/first.out"; }

# The launcher stops, and its lock lies, as on a network file system: others see none.
freeze_launcher() {
    local lock=/root/.local/state/train/tasks/$id/launcher.lock
    frozen=$(supervisor) || { note_failure "nobody attends the task"; return; }
    on head "kill -STOP $frozen"
    on head "cp -p $lock $lock.other && mv $lock.other $lock"
}
logins() { for host in "${nodes[@]}"; do on "$host" 'grep -c Accepted /run/sshd.log'; done | paste -sd' '; }
# What stays on the hosts, by process ids; what serves a login comes and goes with it, and so do the
# subshells of a rank, which are no sessions of their own.
ranks_and_agents() {
    local host pid words stat session
    while read -r host pid words; do
        if [[ $words = '/bin/bash /srv/shared/counts'* ]]; then
            stat=$(cat "/proc/$pid/stat" 2>/dev/null)
            read -r _ _ _ session _ <<<"${stat##*) }"
            [ "$session" = "$pid" ] || continue
        fi
        echo "$host $pid $words"
    done < <(all_processes ' agent attach |^/bin/bash /srv/shared/counts') | sort
}
second_has() { grep -Eq -- "$1" "$work/second.err"; }

thaws() {
    local second before by_then log frozen
    rm -f "$shared/go"
    # Below a shell: what the hosts of the tests are entered by stops with a child that stops.
    start_on_head /bin/sh -c '"$@"; exit $?' - "$train" launch "${on_three[@]}" --set on_launcher_loss=continue -- \
        /bin/bash /srv/shared/counts 3
    within 30 "all ranks print" all_count
    id=$(sed -n 's/^train: task \([a-z0-9]*\): .*/\1/p' "$work/err")
    freeze_launcher
    expect_equal "state" unattended "$(state_of "$id")"
    : >"$work/second.err"
    on head "$train task attach $id" >"$work/second.out" 2>"$work/second.err" &
    second=$!
    eventually 20 second_has "is attended again" || note_failure "nobody attends it: $(cat "$work/second.err")"
    eventually 10 grep -q '^\[2\] line' "$work/second.out" || note_failure "the view shows nothing"
    before=$(ranks_and_agents)
    by_then=$(logins)
    log=$(on head "cat .local/state/train/tasks/$id/launcher.log" | wc -l)
    on head "kill -CONT $frozen"
    await_launch 10
    expect_status 75
    # Who is the first to say so: it looks there when it wakes.
    expect_err "^train: task $id goes on with another launcher \(process $(supervisor)( on 'head'\), as host 'node0[1-3]'|\), as the registry) says; "
    expect_last_err '^train: failed: busy \(exit 75\)$'
    expect_equal "state" running "$(state_of "$id")"
    sleep 3 # waits: nothing tells that a login is not to come; one that was lost would come at once
    expect_equal "logins" "$by_then" "$(logins)"
    [ "$(wc -l <<<"$before")" -ge 6 ] || note_failure "not all ranks and agents are found: $before"
    expect_equal "agents and ranks that have gone" "" "$(comm -23 <(echo "$before") <(ranks_and_agents))"
    expect_equal "what the other launcher has said" "$log" "$(on head "cat .local/state/train/tasks/$id/launcher.log" | wc -l)"
    touch "$shared/go"
    wait "$second"
    expect_equal "exit status of the other" 3 $?
    expect_equal "logins until the end" "$by_then" "$(logins)"
    expect_whole
    task wait "$id"
    expect_status 3
    expect_idle 5 head "${nodes[@]}"
}
all_count() { for rank in 0 1 2; do out_has "^\[$rank\] line 5 " || return 1; done; }

foreground() { # WINDOW
    start_bystander
    launch_start "${on_three[@]}" --set "reconnect_window=$1" -- /bin/sh -c "$forever"
    within 30 "a worker runs on every host" workers_run
    id=$(sed -n 's/^train: task \([a-z0-9]*\): .*/\1/p' "$work/err")
    signal_launcher KILL
    await_launch 5
    [ "$1" = 0s ] || expect_equal "state" unattended "$(state_of "$id")"
    eventually 20 sleepers_are 0 || note_failure "its ranks run: $(all_processes '^sleep 4711')"
    expect_bystander
    expect_idle 20 "${nodes[@]}"
    eventually 30 state_is lost || note_failure "state: $(state_of "$id")"
}

test_case "a task whose launcher was killed goes on and is taken over, twice: byte for byte, with its code" is_taken_over
race_case "it is taken over again and again while output is on its way" again_and_again
soak_case "every report in a metrics file counts once, through cut networks and deaths of launchers" reports_are_exact
test_case "a rank that failed while nobody attended is told with its code and last words" ended_meanwhile
test_case "a task that nobody attends is killed like any other" is_killed
test_case "a host that was started anew meanwhile is lost" host_is_started_anew
test_case "a host that is out of reach while a task is taken over is waited for" host_is_away
test_case "a task that failed while nobody attended is started again" is_started_again
test_case "a context that has changed meanwhile is sent as it was" context_has_changed
test_case "of two that take it over at once one does, and the other looks on" two_at_once
test_case "a launcher that was frozen and replaced leaves when it thaws: no host, log or rank hears of it" thaws
test_case "ranks in the foreground end with their launcher" foreground 0s
soak_case "where a host may be out of reach for a time, their task is lost once they must have ended" foreground 10s
finish
