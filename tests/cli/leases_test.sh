#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a task holds another one does not get.   leases_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

until_told='while [ ! -e go ]; do sleep 0.05; done'

# hold ARGUMENT...: a task that holds slots of this machine, until `go` is there; sets `id`.
hold() {
    rm -f go
    id=$(with_environment "$train" launch -d -H localhost:2 "$@" -- /bin/sh -c "$until_told" 2>"$work/err") ||
        note_failure "it does not start: $(cat "$work/err")"
}

let_go() {
    touch go
    with_environment "$train" task wait "$id" 2>"$work/err" || note_failure "it fails: $(cat "$work/err")"
}

is_refused() {
    hold -n 2
    run launch -H localhost:2 -n 1 -- /bin/echo started
    expect_status 75
    expect_no_out started
    expect_err '^train: not now, of what is free: 1 slot asked, localhost has none$'
    expect_err "^  task $id \('sh'\) of [a-z0-9_-]+ \(launched by process [0-9]+ on '.*'\) holds 2 slots of localhost, for [0-9]+ s$"
    expect_err '^  in line for them: --wait$'
    expect_err '^  beside other tasks: --set leases=none$'
    expect_err '^train: failed: busy \(exit 75\)$'
    run launch -H localhost:2 -n 1 --set leases=none -- /bin/echo started
    expect_status 0
    expect_out started
    let_go
    run launch -H localhost:2 -n 2 -- /bin/echo started
    expect_status 0
}

# A registry that takes no more: what is refused then is not said to be busy.
is_refused_without_a_record() {
    hold -n 2
    registry "CREATE TRIGGER full BEFORE UPDATE ON task
        WHEN NEW.id <> '$id' BEGIN SELECT RAISE(FAIL, 'it is full'); END"
    run launch -H localhost:2 -n 1 -- /bin/echo started
    expect_status 66
    expect_no_out started
    expect_err '^train: the end of this task could not be recorded: .*it is full$'
    expect_last_err 'failed: no_input (exit 66)'
    let_go
}

# Other slots than those of a plan for idle hosts, where these are held: on the same host or another.
goes_around() {
    hold -n 1
    run launch -H localhost:2 -n 1 -- /bin/sh -c 'echo "slot $TRAIN_DEVICE_INDICES"'
    expect_status 0
    expect_err "^train: slots that were planned are held by others$"
    expect_err "^  task $id \('sh'\) of .* holds 1 slot of localhost, for [0-9]+ s$"
    expect_err "^train: task [a-z0-9]+: on other slots of localhost instead$"
    run task show "$(task_id)"
    expect_out '^ +0 +localhost +1 '
    run launch -H localhost:1,127.0.0.1:2 -n 1 --set resources.placement=pack -- /bin/echo started
    expect_status 0
    run plan -H localhost:2 -n 1 --live -- /bin/true
    expect_status 0
    expect_out "held by task $id"
    run plan -H localhost:2 -n 2 --live --json -- /bin/true
    expect_schema plan "$work/out"
    expect_status 75
    expect_equal "a plan that others are in the way of" "busy task $id True" "$(field \
        'd["refused"]["kind"] + " " + d["refused"]["holders"][0]["holder"][:13] + " " + str(d["refused"]["holders"][0]["held_seconds"] > 0)' "$work/out")"
    run plan -H localhost:2 -n 2 -- /bin/true
    expect_status 0
    let_go
}

# What was placed elsewhere is placed there by whoever goes on with it.
goes_around_again() {
    hold -n 1
    local holder=$id
    id=$(with_environment "$train" launch -d -H localhost:2 -n 1 --set on_launcher_loss=continue -- \
        /bin/sh -c "$until_told; echo ended" 2>"$work/err") || note_failure "it does not start: $(cat "$work/err")"
    end_process "$(settled pids_of 'on_launcher_loss=continue')"
    touch go
    run task attach "$id"
    expect_status 0
    expect_out '^\[0\] ended$|^ended$'
    run task show "$id"
    expect_out '^ +0 +localhost +1 '
    with_environment "$train" task wait "$holder" 2>"$work/err" || note_failure "it fails: $(cat "$work/err")"
}

shares() {
    printf '%s\n' 'hosts: [{name: localhost, slots: 1, resources: {CPU: 4}}]' >hosts.yaml
    printf '%s\n' 'name: share' 'entrypoint: ["/bin/sh", "-c", "while [ ! -e go ]; do sleep 0.05; done"]' \
        'num_workers: 1' 'resources_per_worker: {CPU: 3, GPU: 0}' >share.yaml
    id=$(with_environment "$train" launch -d --hostfile hosts.yaml share.yaml 2>"$work/err") ||
        note_failure "it does not start: $(cat "$work/err")"
    run launch --hostfile hosts.yaml share.yaml
    expect_status 75
    expect_err "^  task $id .* holds 1 slot and 3 CPUs of localhost"
    let_go
}

# Two tasks have what both have room for, and a third one is told who has it.
# two_share RESOURCE THERE EACH WORDS
two_share() {
    local first words
    id=''
    printf '%s\n' "hosts: [{name: localhost, slots: 4, resources: {$1: $2}}]" >hosts.yaml
    printf '%s\n' 'name: share' "entrypoint: [\"/bin/sh\", \"-c\", \"$until_told\"]" \
        'num_workers: 1' "resources_per_worker: {$1: $3, GPU: 0}" >share.yaml
    for words in first second; do
        first=$id
        id=$(with_environment "$train" launch -d --hostfile hosts.yaml share.yaml 2>"$work/err") ||
            note_failure "the $words one does not start: $(cat "$work/err")"
    done
    run launch --hostfile hosts.yaml share.yaml --set entrypoint='["touch", "started"]'
    expect_status 75
    [ ! -e started ] || note_failure "a third one was started"
    for words in "$first" "$id"; do expect_err "^  task $words \('share'\) of .* holds 1 slot and $4 of localhost, for [0-9]+ s$"; done
    run launch --hostfile hosts.yaml share.yaml --set resources_per_worker="{$1: 0, GPU: 0}" --set entrypoint='["touch", "started"]'
    expect_status 0
    [ -e started ] || note_failure "one that takes nothing of it was not started"
    with_environment "$train" task kill "$first" 2>/dev/null
    run launch --hostfile hosts.yaml share.yaml --set entrypoint='["touch", "again"]'
    expect_status 0
    [ -e again ] || note_failure "a part that is free again is not had"
    let_go
}

# What a task holds is its own while it has no rank.
held_between_attempts() {
    : >"$work/ours"
    errors=$work/ours start launch -H localhost:2 -n 2 --set max_restarts=1 --set restart_delay=1h -- /bin/sh -c 'exit 3'
    local ours=$launcher
    within 20 "the restart is announced" grep -q '^train: restart 1 of 1 in ' "$work/ours"
    expect_processes "ranks that run" 0 '^/bin/sh -c exit'
    id=$(task_id)
    run launch -H localhost:2 -n 1 -- /bin/echo started
    expect_status 75
    expect_no_out started
    expect_err "^  task $id \('sh'\) of .* holds 2 slots of localhost, for [0-9]+ s$"
    kill -INT "$ours"
    launcher=$ours
    await
    expect_status 130
    within 20 "the slots are free" launches
}

# As long as the guard ends what the agent has left, nobody else starts beside it.
is_held_by_the_guard() {
    hold -n 2 --set on_launcher_loss=continue
    local launcher agent guard
    launcher=$(settled pids_of 'launch -d')
    agent=$(agent_pid '^/bin/sh -c while')
    guard=$(parent_of "$agent")
    kill -KILL "$launcher"
    freeze "$guard"
    kill -KILL "$agent"
    run launch -H localhost:2 -n 1 -- /bin/echo started
    expect_status 75
    expect_err "^  task $id .* holds 2 slots of localhost"
    kill -CONT "$guard"
    within 20 "the guard has ended what was left" process_count_is 0 '^/bin/sh -c while'
    within 20 "the slot is free" launches
}

launches() { with_environment "$train" launch -H localhost:2 -n 1 -- /bin/true 2>/dev/null; }

# Each rank looks whether it is alone, in a folder of the host.
races() {
    local rounds=${TRAIN_RACES:-15} started=0 refused=0 met=0 other first second
    for ((round = 0; round < rounds; round++)); do
        for name in a b; do
            with_environment "$train" launch -H localhost:3 -n 2 -- /bin/sh -c 'mkdir "alone-$LOCAL_RANK" || exit 9; sleep 0.05; rmdir "alone-$LOCAL_RANK"' \
                >"$work/$name" 2>&1 &
            first=${second:-} second=$!
        done
        local codes=()
        for pid in "$first" "$second"; do
            wait "$pid"
            codes+=($?)
        done
        for other in "${codes[@]}"; do
            case $other in
                0) started=$((started + 1)) ;;
                75) refused=$((refused + 1)) ;;
                *) note_failure "round $round: exit codes ${codes[*]}" "$(cat "$work/a" "$work/b")" ;;
            esac
        done
        if [[ "${codes[*]}" == *75* ]] || grep -q 'are held by others$' "$work/a" "$work/b"; then met=$((met + 1)); fi
        [[ " ${codes[*]} " == *" 0 "* ]] || note_failure "round $round: neither has started" "$(cat "$work/a" "$work/b")"
    done
    [ $((started + refused)) -eq $((2 * rounds)) ] || note_failure "$started started, $refused were refused"
    echo "    $met of $rounds pairs have met"
}

# Launchers, agents, guards and ranks that are killed at random moments of launches and their ends:
# TRAIN_KILLS of them, TRAIN_KILL_SEED to have the same again. Only who asks for many waits for agents that
# outlive their launcher by ten seconds.
killed_anywhere() {
    local seed=${TRAIN_KILL_SEED:-$RANDOM} kills=${TRAIN_KILLS:-24} window=${TRAIN_KILLS:+10s} kill victims victim
    RANDOM=$seed
    for ((kill = 0; kill < kills; ++kill)); do
        start launch -H localhost:3 -n 1 --set "reconnect_window=${window:-0s}" -- /bin/sh -c 'sleep 0.1'
        sleep "0.$(printf %03d $((RANDOM % 250)))" # waits: killed at any moment
        mapfile -t victims < <(pids_of .)
        victim=$launcher
        ((RANDOM % 2 == 0 || ${#victims[@]} == 0)) || victim=${victims[RANDOM % ${#victims[@]}]}
        kill -KILL "$victim" 2>/dev/null
    done
    eventually 120 is_all_over || note_failure "seed $seed: not over: $(processes; not_over)"
    run hosts list -H localhost:3 --csv
    expect_out '^localhost,up,3,3,0,0,' || note_failure "seed $seed"
    expect_equal "the registry, seed $seed" ok "$(registry 'PRAGMA integrity_check')"
    # Who was killed between making a lock and writing into it may still be about to, for some time.
    find "$work/host" -name '*.lock' -size 0 -exec touch -d '1 hour ago' {} +
    run launch -H localhost:3 -n 3 -- /bin/true
    expect_status 0
    run task prune --keep 0
    expect_status 0
    [ "$kills" -lt 100 ] || echo "    $kills kills, seed $seed: $(awk -F, 'NR > 1 { n[$3]++ } END { for (s in n) printf "%s %d  ", s, n[s] }' "$work/ends")"
}
not_over() { with_environment "$train" task list --all --csv | tr -d '\r' | tee "$work/ends" | awk -F, 'NR > 1 && $3 !~ /^(succeeded|failed|killed|interrupted|timeout|lost)$/'; }
is_all_over() { [ -z "$(processes)" ] && [ -z "$(not_over)" ]; }

test_case "slots that another task holds are refused, with who holds them" is_refused
test_case "a refusal that cannot be recorded ends with code 66" is_refused_without_a_record
test_case "a launch goes around what others hold, and says so; so does plan --live" goes_around
test_case "what was placed around others is gone on with where it is" goes_around_again
test_case "CPUs that are declared are held as a number" shares
test_case "memory is shared by as many tasks as it has room for" two_share memory 5GiB 2GiB '2 GiB of memory'
test_case "so is a resource that only the hosts file knows" two_share licence 5 2 '2 licence'
test_case "slots are held while a task waits for its next attempt" held_between_attempts
test_case "what a killed agent held its guard holds until all is gone" is_held_by_the_guard
race_case "of two launches at once one gets the slots, never both, never neither" races
race_case "whoever is killed whenever, nothing is held and the registry is whole" killed_anywhere
finish
