#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tasks whose ranks fail and are started again.
#   restart_test.sh path/to/train
# shellcheck disable=SC2016 # programs for hosts and ranks are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 3 --slots 2
use_train "${1:-}"

on_three=(-H 'node[01-03]:1' -n 3)
id='' # of the task

# here: a rank waits until all of its attempt are so far; the first that fails has the others stopped.
cat >"$shared/here" <<'BASH'
here=/srv/shared/here.$TRAIN_TASK_ID.$TRAIN_RESTART_COUNT
touch "$here.$RANK"
until [ -e "$here.0" ] && [ -e "$here.1" ] && [ -e "$here.2" ]; do sleep 0.05; done
BASH

# Rank 1 fails in the attempts before number $1; the others run for ever until then. In attempt $2, where
# that is said, it waits for a file before.
cat >"$shared/flaky" <<'BASH'
echo "attempt $TRAIN_RESTART_COUNT of rank $RANK, told $TORCHELASTIC_RESTART_COUNT of $TORCHELASTIC_MAX_RESTARTS, port $MASTER_PORT"
[ "$TRAIN_RESTART_COUNT" -lt "$1" ] || exit 0
. /srv/shared/here
[ "$RANK" = 1 ] || exec sleep 4711
[ "$TRAIN_RESTART_COUNT" != "$2" ] || until [ -e /srv/shared/told ]; do sleep 0.05; done
echo "not yet: $TRAIN_RESTART_COUNT" >&2
exit 3
BASH
flaky() { echo -- /bin/bash /srv/shared/flaky "$1" "${2:-never}"; }

# Runs for ever in attempt 0, and for a moment in later ones.
cat >"$shared/patient" <<'BASH'
echo "attempt $TRAIN_RESTART_COUNT of rank $RANK"
[ "$TRAIN_RESTART_COUNT" -ge 1 ] || exec sleep 4711
BASH

# logins HOST: how many times somebody has logged in there.
logins() { on "$1" 'grep -c Accepted /run/sshd.log' || true; }

# field ID EXPRESSION: of the JSON of a task, as `d`.
field() { on head "/srv/shared/bin/train task show $1 --json" | python3 -c "import json,sys; d=json.load(sys.stdin); print($2)"; }

fails_twice() {
    local before since watcher
    before=$(logins node02)
    # Rank 1 may fail before other hosts have said that their ranks run.
    rm -f "$shared/told"
    : >"$work/err"
    (
        eventually 30 grep -q '^train: attempt 1: ' "$work/err"
        touch "$shared/told"
    ) &
    watcher=$!
    since=$(milliseconds)
    # shellcheck disable=SC2046 # words of a command
    launch "${on_three[@]}" --set max_restarts=5 --set restart_delay=500ms $(flaky 2 1)
    wait "$watcher"
    expect_status 0
    expect_at_least 1 "$since" "three attempts with delays of 0.5 s and 1 s take"
    id=$(task_id)
    expect_equal "logins on node02" 1 $(($(logins node02) - before))
    expect_err "^train: rank 1 on 'node02' exited with code 3: not yet: 0$"
    expect_err '^train: restart 1 of 5 (now|in [0-9.]+ s)$'
    expect_err "^train: rank 1 on 'node02' exited with code 3: not yet: 1$"
    expect_err '^train: restart 2 of 5 (now|in [0-9.]+ s)$'
    expect_err '^train: attempt 1: 3 ranks run$'
    for attempt in 0 1 2; do
        expect_equal "the log of attempt $attempt" "attempt $attempt of rank 0, told $attempt of 5" \
            "$(on head "/srv/shared/bin/train task logs $id --rank 0 --attempt $attempt" | sed 's/, port.*//')"
    done
    expect_equal "the log without --attempt" 1 \
        "$(on head "/srv/shared/bin/train task logs $id" | grep -c '^\[0\] attempt 2 ')"
    expect_equal "attempts that --attempt all shows" 9 \
        "$(on head "/srv/shared/bin/train task logs $id --attempt all" 2>/dev/null | grep -c '\] attempt')"
    expect_equal "attempts in the record" "[0, 1, 2] 2" \
        "$(field "$id" '[a["number"] for a in d["attempts"]], d["restarts"]' | tr -d '()' | sed 's/\], /] /')"
    expect_equal "causes in the record" "rank 1 on 'node02' exited with code 3|None" \
        "$(field "$id" '"%s|%s" % (d["attempts"][1]["cause"], d["attempts"][2]["cause"])')"
    expect_idle 3 head "${nodes[@]}"
}

budget_is_used_up() {
    # shellcheck disable=SC2046
    launch "${on_three[@]}" --set max_restarts=2 --set restart_delay=0s $(flaky 9)
    expect_status 3
    expect_equal "attempts that rank 0 saw" 3 "$(grep -c '^\[0\] attempt' "$work/out")"
    expect_err "^train: attempt 0: rank 1 on 'node02' exited with code 3$"
    expect_err "^train: attempt 1: rank 1 on 'node02' exited with code 3$"
    expect_last_err "rank 1 on 'node02' exited with code 3" 'exit 3'
    expect_idle 3 head "${nodes[@]}"
}

no_restart_for_what_never_started() {
    launch "${on_three[@]}" --set max_restarts=5 -- /no/such/program
    expect_status 72
    ! err_has restart || note_failure "there is talk of a restart"
    expect_idle 3 head "${nodes[@]}"
}

stopped_while_waiting() {
    start_bystander
    # shellcheck disable=SC2046
    launch_start "${on_three[@]}" --set max_restarts=5 --set restart_delay=10m $(flaky 9)
    within 20 "the restart is announced" err_has '^train: restart 1 of 5 in '
    signal_launcher INT
    await_launch 15
    expect_status 130
    expect_no_out '^\[0\] attempt 1'
    expect_last_err 'SIGINT' 'exit 130'
    expect_bystander
    expect_idle 3 head "${nodes[@]}"
}

# Until the ranks of attempt 0 run on all hosts.
start_patient() {
    launch_start "${on_three[@]}" --set max_restarts=3 --set restart_delay=500ms -- \
        /bin/bash /srv/shared/patient
    within 30 "a rank runs on every host" workers_run
}
expect_second_attempt() {
    expect_status 0
    local rank
    for rank in 0 1 2; do
        expect_equal "starts of rank $rank" "attempt 0, attempt 1" \
            "$(sed -n "s/^\[$rank\] \(attempt .\) .*/\1/p" "$work/out" | paste -sd, | sed 's/,/, /')"
    done
    expect_idle 3 head "${nodes[@]}"
}

agent_is_killed() {
    start_bystander
    start_patient
    # Between the rank and it is the process below which all of the attempt is.
    on node02 "kill -9 $(rank_ancestor node02 2)" || note_failure "there is no agent to kill"
    await_launch 60
    expect_err "^train: host 'node02': its agent has ended, and its ranks with it"
    expect_bystander
    expect_second_attempt
}
# rank_ancestor HOST N: the process N steps above the rank there.
rank_ancestor() {
    on "$1" 'pid=$(pgrep -f "^sleep 4711" | head -n 1)
        for ((i = 0; i < '"$2"'; i++)); do pid=$(ps -o ppid= -p "$pid" | tr -d " "); done; echo "$pid"'
}

host_is_rebooted() {
    start_patient
    "$cluster" kill node02
    sleep 2 # waits: so long it is off
    "$cluster" heal node02 2>/dev/null
    "$cluster" boot node02
    await_launch 90
    expect_err "^train: host 'node02': (was started anew|its agent has ended)"
    expect_second_attempt
}

# While the launcher waits for the next attempt.
host_is_cut_between() {
    start_bystander
    cat >"$shared/fails_once" <<'BASH'
echo "attempt $TRAIN_RESTART_COUNT of rank $RANK"
[ "$TRAIN_RESTART_COUNT" -ge 1 ] || { . /srv/shared/here; exit 4; }
BASH
    launch_start "${on_three[@]}" --set max_restarts=3 --set restart_delay=10s -- \
        /bin/bash /srv/shared/fails_once
    within 20 "the restart is announced" err_has '^train: restart 1 of 3 in '
    "$cluster" "$1" node03
    sleep 12 # waits: longer than the delay
    "$cluster" "$2" node03
    await_launch 60
    expect_bystander
    expect_second_attempt
}

daemon_is_left() {
    cat >"$shared/daemon" <<'BASH'
echo "attempt $TRAIN_RESTART_COUNT of rank $RANK"
if [ "$TRAIN_RESTART_COUNT" -ge 1 ]; then
    pgrep -f '^sleep 4712' >&2 && exit 5
    exit 0
fi
setsid sleep 4712 </dev/null >/dev/null 2>&1 &
disown
# The first that fails has the others stopped: they are to be this far.
touch "/srv/shared/left/$RANK"
until [ -e /srv/shared/left/0 ] && [ -e /srv/shared/left/1 ] && [ -e /srv/shared/left/2 ]; do sleep 0.05; done
exit 6
BASH
    mkdir "$shared/left"
    start_bystander
    launch "${on_three[@]}" --set max_restarts=1 --set restart_delay=0s -- /bin/bash /srv/shared/daemon
    expect_bystander
    expect_second_attempt
}

# Agents that outlive their launcher would be there for a week.
nothing_stays() {
    local host
    # On one host the program takes itself away before it fails.
    for host in node01 node03; do
        on "$host" 'printf "#!/bin/sh\nexec sleep 4711\n" >/usr/local/bin/fails; chmod 755 /usr/local/bin/fails'
    done
    on node02 'printf "#!/bin/sh\nrm /usr/local/bin/fails; exit 1\n" >/usr/local/bin/fails; chmod 755 /usr/local/bin/fails'
    launch "${on_three[@]}" --set on_launcher_loss=continue --set max_restarts=1 --set restart_delay=1s -- fails
    expect_err '^train: restart 1 of 1 '
    expect_status 72
    expect_err "host 'node02': .*'fails'"
    expect_idle 3 head "${nodes[@]}"
}

test_case "ranks that fail twice are started three times, over one login per host" fails_twice
test_case "a task ends when its restarts are used up" budget_is_used_up
test_case "a task that cannot start anything is not started again" no_restart_for_what_never_started
test_case "Ctrl-C during the delay ends the task at once" stopped_while_waiting
test_case "no agent stays where the next attempt cannot start" nothing_stays
test_case "a daemon that a rank has left is gone before the next attempt" daemon_is_left
test_case "an agent that is killed costs an attempt" agent_is_killed
test_case "a host that is switched off and on costs an attempt" host_is_rebooted
test_case "a host that is cut off between attempts is waited for" host_is_cut_between cut heal
test_case "a host that is frozen between attempts is waited for" host_is_cut_between freeze thaw

finish
