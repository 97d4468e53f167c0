#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A hyperparameter search runs its trials, on this machine.   search_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the trials are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

# write_search SEARCHER [LINE...]: x.yaml, a search of what is on standard input, which is run for
# each trial, and hosts.yaml, two slots of this machine. LINEs are further keys.
write_search() {
    cat >trial.sh
    echo 'hosts: [{name: localhost, slots: 2}]' >hosts.yaml
    {
        echo "entrypoint: exec /bin/sh trial.sh"
        echo "hyperparameters: {x: {type: double, minval: 0, maxval: 1}}"
        echo "searcher: {metric: loss, $1}"
        shift
        printf '%s\n' "resources: {slots_per_trial: 1}" "$@"
    } >x.yaml
}

random='name: random, max_concurrent_trials: 2'

# Trial N says that it is there, and ends when there is a file "end.N", or "end".
sleeping='echo "up $TRAIN_TRIAL_ID"
    until [ -e "end.$TRAIN_TRIAL_ID" ] || [ -e end ]; do sleep 0.05; done
    echo "done $TRAIN_TRIAL_ID"'

# start_search [ARGUMENT...]: the search of x.yaml, whose words are in $work/search.out and .err.
start_search() {
    : >"$work/search.out"
    output=$work/search.out errors=$work/search.err start launch --hostfile hosts.yaml "$@" x.yaml
}

printed() { grep -Eaqs -- "$1" "$work/search.out"; }
said() { grep -Eaqs -- "$1" "$work/search.err"; }
expect_printed() { printed "$1" || note_failure "the search has not printed: $1"; }
expect_said() { said "$1" || note_failure "the search has not said: $1"; }
expect_not_said() { ! said "$1" || note_failure "the search has said: $1"; }

# are_up TRIAL...: each says so, after its number.
are_up() {
    local trial
    for trial in "$@"; do printed "^\[$trial\] up $trial$" || return; done
}

# await_search STATUS: its end; shows what it said where that is another.
await_search() {
    await
    [ "$status" = "$1" ] && return
    note_failure "exit status of the search" "  expected: $1" "  actual:   $status"
    sed 's/^/    search| /' "$work/search.err" | tail -n 20
}

expect_last_said() { # LINE...: the last lines, after "train: " in the first of each message
    expect_equal "the last lines" "$(printf '%s\n' "$@")" "$(tail -n $# "$work/search.err")"
}

# run_task ARGUMENT...: beside a search that runs, whose end `await_search` waits for all the same.
run_task() {
    local searching=$launcher
    run task "$@"
    launcher=$searching
}

# refuses STATUS SENTENCE ARGUMENT...: `task kill` with these does nothing, and says why.
refuses() {
    local expected=$1 why=$2
    shift 2
    run_task kill "$@"
    expect_status "$expected"
    expect_err "$why"
}

one_trial_is_killed() {
    write_search "$random, max_trials: 5" <<<"$sleeping"
    start_search
    within 20 "two trials are up" are_up 0 1
    id=$(task_id)
    run_task kill "${id:0:6}" --trial 1
    expect_status 0
    expect_equal "what is said" "train: trial 1 of task $id is told to stop; the search goes on" "$(cat "$work/err")"
    within 20 "the next one begins" are_up 2
    expect_said "^train: trial 1 is ended by 'train task kill'$"
    expect_said '^train: trial 1: killed$'
    expect_not_said '^train: trial [02]: '
    expect_equal "state" running "$(state_of "$id")"
    expect_processes "trials that run" 2 'trial[.]sh'
    refuses 66 "^train: task $id: trial 1 has ended already: killed$" "$id" --trial 1
    expect_err "^  train task kill $id stops all of it$"
    expect_last_err 'failed: no_input (exit 66)'
    refuses 66 "^train: task $id: it has no trial 99: its trials are 0 to [1-4] so far$" "$id" --trial 99
    touch end.0
    within 20 "another begins" are_up 3
    refuses 66 "^train: task $id: trial 0 has ended already: succeeded$" "$id" --trial 0
    touch end
    await_search 0
    expect_printed '^\[4\] done 4$'
    ! printed '^\[1\] done' || note_failure "trial 1 has ended by itself"
    expect_last_said 'train: 5 trials: 4 succeeded, 1 killed' "train: no trial has reported 'loss' as a number, so none is the best"
    refuses 66 "^train: task $id has ended already, with all its trials: succeeded$" "$id" --trial 0
    expect_err "^  train task show $id says how$"
    expect_last_err 'failed: no_input (exit 66)'
}

# The notice of its stop is a long one.
stopping_is_said() {
    write_search "$random, max_trials: 2" 'stop_notice: 1h' 'stop_grace: 1h' <<'TRIAL'
echo "up $TRAIN_TRIAL_ID"
until [ -e "$TRAIN_STOP_FILE" ]; do sleep 0.05; done
echo "noticed $TRAIN_TRIAL_ID"
until [ -e end ]; do sleep 0.05; done
TRIAL
    start_search
    within 20 "two trials are up" are_up 0 1
    id=$(task_id)
    run_task kill "$id" --trial 0
    expect_status 0
    within 20 "it sees its stop file" printed '^\[0\] noticed 0$'
    refuses 66 "^train: task $id: trial 0 was told to stop already$" "$id" --trial 0
    ! printed '^\[1\] noticed' || note_failure "trial 1 was told as well"
    run_task kill "$id" --trial 1
    expect_status 0
    within 20 "the other one sees it, too" printed '^\[1\] noticed 1$'
    touch end
    await_search 1
    expect_last_said 'train: no trial has ended well' 'train: failed: worker (exit 1)'
    expect_said '^train: 2 trials: 2 killed$'
}

kill_of_one_trial_is_refused() {
    write_search "$random, max_trials: 2" <<<"$sleeping"
    local wrong
    for wrong in "--all --trial 0" "abc --signal INT --trial 0" "abc --trial -1" "abc --trial x" \
        "abc --trial 1000000000" "abc def --trial 0" "--trial 0"; do
        # shellcheck disable=SC2086 # several words
        run task kill $wrong
        expect_status 64
    done
    run task kill abc def --trial 0
    expect_err '^train: --trial was given with several tasks$'
    run task kill abc --trial 0
    expect_status 66
    # One that is no search.
    output=$work/search.out errors=$work/search.err start launch -n 1 -- /bin/sh -c "$sleeping"
    within 20 "it is up" are_up 0
    id=$(task_id)
    refuses 66 "^train: task $id: it is no search, whose trials could be ended one by one$" "$id" --trial 0
    expect_err "^  train task kill $id stops all of it$"
    expect_equal "state" running "$(state_of "$id")"
    touch end
    await_search 0
}

unheard_launcher() {
    output=$work/search.out errors=$work/search.err start launch -n 1 -- /bin/sh -c "$sleeping"
    within 20 "it is up" are_up 0
    id=$(task_id)
    rm "$work/state/train/tasks/$id/control"
    refuses 75 "^train: the launcher of task $id does not take requests$" "$id" --trial 0
    touch end
    await_search 0
}

# A search whose launcher has died is stopped as a whole.
unattended() {
    write_search "$random, max_trials: 4" 'on_launcher_loss: 1h' <<<"$sleeping"
    start_search
    within 20 "two trials are up" are_up 0 1
    id=$(task_id)
    kill -KILL "$launcher"
    await
    run task kill "$id" --trial 0
    expect_status 75
    expect_err "^train: task $id is unattended: "
    expect_last_err 'failed: busy (exit 75)'
    run task kill "$id"
    expect_status 0
    expect_err '^train: 2 trials: 2 stopped$'
    expect_last_err "task $id: killed"
    expect_gone
    expect_equal "attempts without an end" "[]" "$(of_trials "[a for t in d for a in t['attempts'] if not a['ended_ms']]")"
}

# of_trials EXPRESSION: of the trials of task $id, which are `d`.
of_trials() {
    with_environment "$train" task show --json "$id" |
        /usr/bin/python3 -c 'import json, sys; d = json.load(sys.stdin)["trials"]; print(eval(sys.argv[1]))' "$1"
}

# Trials one after the other, of 9 steps. Trial 2 takes its third once there is a file "on", and the
# others once there is one "end". What they print is in a file as well, also of one that is stopped, which leaves by itself.
stepping='await() { until [ -e "$1" ]; do sleep 0.02; done; }
    step=0
    while [ $step -lt 9 ] && [ ! -e "$TRAIN_STOP_FILE" ]; do
        [ "$TRAIN_TRIAL_ID $step" != "2 2" ] || await on
        [ "$TRAIN_TRIAL_ID $step" != "2 3" ] || await end
        step=$((step + 1))
        train report loss=0.$((90 - TRAIN_TRIAL_ID * 7 % 23)) --step $step
        echo "at $step" | tee -a "said.$TRAIN_TRIAL_ID"
    done'
halving='name: async_halving, max_length: {batches: 9}, num_rungs: 3, divisor: 3, max_trials: 6, max_concurrent_trials: 1'

# decisions: what the search of task $id has decided, a line each.
decisions() {
    with_environment "$train" task show --json "$id" | /usr/bin/python3 -c '
import json, sys
for each in json.load(sys.stdin)["search"]["decisions"]: print(json.dumps(each))'
}

has_said() { grep -qs "$2" "said.$1"; }

# Killed in the middle, gone on with by another launcher: the same decisions, and each report and each
# line once, also of what came while nobody attended it.
gone_on_with() {
    local round undisturbed
    for round in undisturbed disturbed; do
        write_search "$halving" 'on_launcher_loss: 1h' 'stop_notice: 1h' <<<"$stepping"
        rm -f on end said.*
        start_search
        within 20 "trial 2 has taken its second step" has_said 2 'at 2'
        id=$(task_id)
        if [ "$round" = disturbed ]; then
            kill -KILL "$launcher"
            await
            touch on
            within 20 "trial 2 goes on" has_said 2 'at 3'
            start task attach "$id"
            within 20 "it is attended again" err_has "task $id is attended again"
        fi
        touch on end
        await
        expect_status 0
        expect_equal "state" succeeded "$(state_of "$id")"
        [ "$round" = disturbed ] || undisturbed=$(decisions)
    done
    expect_equal "decisions" "$undisturbed" "$(decisions)"
    expect_equal "decisions of which there are" 14 "$(decisions | wc -l)"
    expect_equal "trials whose reports are not all there once" "[]" \
        "$(of_trials "[t['id'] for t in d if [r['step'] for r in t['reports']] != list(range(1, len(t['reports']) + 1))]")"
    # Also of those that had ended before.
    local said
    for said in said.*; do
        run task logs "$id" --trial "${said#*.}"
        expect_equal "what trial ${said#*.} has printed" "$(sed 's/^/[0] /' "$said")" "$(cat "$work/out")"
    done
    expect_gone
}

# Launchers killed at random moments, TRAIN_KILLS of them, of as many searches as that takes;
# TRAIN_KILL_SEED to have the same again.
killed_at_any_moment() {
    local seed=${TRAIN_KILL_SEED:-$RANDOM} kills=${TRAIN_KILLS:-40} killed=0 searches=0 undisturbed
    RANDOM=$seed
    # waits: a trial has time to be killed
    write_search "$halving" 'on_launcher_loss: 1h' 'stop_notice: 1h' <<<"${stepping/train report/sleep 0.05; train report}"
    touch on end
    start_search
    await_search 0
    id=$(task_id)
    undisturbed=$(decisions)
    while ((killed < kills)); do
        rm -f said.*
        start_search
        within 20 "the search has begun" has_said 0 'at 1'
        id=$(task_id)
        while [[ $(state_of "$id") =~ ^(running|unattended)$ ]]; do
            sleep "0.$(printf %03d $((RANDOM % 400)))" # waits: killed at any moment
            kill -KILL "$launcher" 2>/dev/null && killed=$((killed + 1))
            await
            [ "$(state_of "$id")" != unattended ] || start task attach "$id"
        done
        searches=$((searches + 1))
        expect_equal "state of $id" succeeded "$(state_of "$id")"
        expect_equal "decisions of $id, seed $seed" "$undisturbed" "$(decisions)"
        [ "$case_failed" = no ] || return
    done
    echo "      $killed launchers of $searches searches killed, seed $seed"
    expect_gone
}

# hold_slots: a task that holds both until there is a file "go"; sets `holder`.
hold_slots() {
    sed -i '/^leases/d' x.yaml
    holder=$(with_environment "$train" launch -d -H localhost:2 -n 2 -- /bin/sh -c 'until [ -e go ]; do sleep 0.05; done' 2>"$work/err")
}

let_slots_go() {
    touch go
    run_task wait "$holder"
    expect_status 0
}

finds_slots_held() {
    write_search "$random, max_trials: 30" <<<"$sleeping"
    hold_slots
    start_search
    await_search 75
    expect_not_said '^train: trial '
    expect_said '^train: not now, of what is free: 1 slot asked, localhost has none$'
    expect_said "^  task $holder .* holds 2 slots of localhost"
    expect_last_said 'train: failed: busy (exit 75)'
    let_slots_go
}

# It has no trials meanwhile.
waits_in_line() {
    write_search "$random, max_trials: 2" <<<"$sleeping"
    hold_slots
    start_search --wait
    within 20 "it waits" said 'waits for'
    id=$(task_id)
    expect_not_said '^train: trial '
    refuses 75 "^train: task $id waits for slots, and has no trials yet$" "$id" --trial 0
    expect_err "^  train task kill $id ends its wait$"
    let_slots_go
    within 20 "two trials are up" are_up 0 1
    touch end
    await_search 0
    expect_said '^train: 2 trials: 2 succeeded$'
}

stops_waiting() {
    write_search "$random, max_trials: 2" <<<"$sleeping"
    hold_slots
    start_search --wait
    within 20 "it waits" said 'waits for'
    run_task kill "$(task_id)"
    await_search 143
    expect_equal "state" killed "$(state_of "$(task_id)")"
    let_slots_go
}

interrupted() {
    write_search "$random, max_trials: 5" <<<"$sleeping"
    start_search
    within 20 "two trials are up" are_up 0 1
    kill -INT "$launcher"
    await_search 130
    expect_equal "state" interrupted "$(state_of "$(task_id)")"
    expect_not_said '^train: trial [234] on '
    expect_gone
    expect_said '^train: 2 trials: 2 stopped$'
}

# Trial 1 is the first to fail, whatever their numbers.
all_fail() {
    write_search "$random, max_trials: 4" <<'TRIAL'
case $TRAIN_TRIAL_ID in
    0) until [ -e gone ]; do sleep 0.05; done ;;
    2) touch gone ;;
esac
exit $((4 + TRAIN_TRIAL_ID))
TRIAL
    start_search
    await_search 5
    local trial
    for trial in 0 1 2 3; do
        expect_said "^train: trial $trial: failed: rank 0 on 'localhost' exited with code $((4 + trial))"
    done
    expect_said '^train: 4 trials: 4 failed$'
    expect_last_said "train: all 4 trials have failed; the first to: rank 0 on 'localhost' exited with code 5" \
        'train: failed: worker (exit 5)'
    run task wait "$(task_id)"
    expect_status 5
}

some_fail() {
    write_search "$random, max_trials: 4" <<<'exit $((TRAIN_TRIAL_ID % 2))'
    start_search
    await_search 0
    expect_last_said 'train: 4 trials: 2 succeeded, 2 failed' "train: no trial has reported 'loss' as a number, so none is the best"
    expect_equal "state" succeeded "$(state_of "$(task_id)")"
}

one_failure_is_enough() {
    write_search "$random, max_trials: 4" <<<'exit $((TRAIN_TRIAL_ID == 2 ? 7 : 0))'
    start_search --strict
    await_search 7
    expect_said '^train: 4 trials: 3 succeeded, 1 failed$'
    expect_last_said "train: 1 of 4 trials has failed: rank 0 on 'localhost' exited with code 7" \
        'train: failed: worker (exit 7)'
    expect_equal "state" failed "$(state_of "$(task_id)")"
    run task wait "$(task_id)"
    expect_status 7
    run task rerun "$(task_id)"
    expect_status 0
    run task rerun --strict "$(task_id)"
    expect_status 7
    id=$(with_environment "$train" launch -d --strict --hostfile hosts.yaml x.yaml 2>"$work/err")
    run task wait "$id"
    expect_status 7
}

lines_are_told_apart() {
    write_search "$random, max_trials: 3" <<'TRIAL'
echo "out $TRAIN_TRIAL_ID"
echo "err $TRAIN_TRIAL_ID" >&2
TRIAL
    start_search
    await_search 0
    id=$(task_id)
    local trial
    for trial in 0 1 2; do
        expect_printed "^\[$trial\] out $trial$"
        expect_said "^\[$trial\] err $trial$"
        run task logs "$id" --trial "$trial" --stdout
        expect_status 0
        expect_equal "lines of trial $trial" "out $trial" "$(sed 's/^\[0\] //' "$work/out")"
        run task logs "$id" --trial "$trial"
        expect_equal "lines of both streams" 2 "$(wc -l <"$work/out")"
    done
    expect_equal "lines of all" 3 "$(wc -l <"$work/search.out")"
    run task logs "$id"
    expect_status 64
    expect_err "^train: task $id has logs of 3 trials, 0 to 2$"
    run task logs "$id" --trial 3
    expect_status 66
}

# go_on COUNT: so many decisions that a trial goes on are in the journal.
go_on() { [ "$(registry 'SELECT entry FROM journal' | grep -o '"decision":"continue"' | wc -l)" -eq "$1" ]; }

# Trial n reports its loss after the first batch when there is a file "go.n", and after the second
# when there is "end". Those in the worse half of what has been reported are stopped.
is_halved() {
    write_search 'name: async_halving, num_rungs: 2, divisor: 2, max_length: {batches: 2}, max_trials: 4, max_concurrent_trials: 2' \
        'stop_notice: 1h' <<'TRIAL'
report() { echo "{\"loss\": $1, \"batches\": $2}" >>"$TRAIN_METRICS_FILE"; }
set -- 0.5 0.6 0.4 0.9
shift "$TRAIN_TRIAL_ID"
echo "up $TRAIN_TRIAL_ID"
until [ -e "go.$TRAIN_TRIAL_ID" ]; do sleep 0.02; done
report "$1" 1
until [ -e end ] || [ -e "$TRAIN_STOP_FILE" ]; do sleep 0.02; done
if [ -e "$TRAIN_STOP_FILE" ]; then echo "noticed $TRAIN_TRIAL_ID"; exit; fi
report "$1" 2
until [ -e "$TRAIN_STOP_FILE" ]; do sleep 0.02; done
TRIAL
    start_search
    within 20 "two trials are up" are_up 0 1
    touch go.0
    within 20 "the first goes on" go_on 1
    touch go.1
    within 20 "the second is stopped" printed '^\[1\] noticed 1$'
    within 20 "the third begins" are_up 2
    expect_said '^train: trial 1: stopped, loss 0.6 at step 1$'
    touch go.2
    within 20 "the third goes on" go_on 2
    expect_processes "trials that run" 2 'trial[.]sh'
    touch end
    within 20 "the fourth begins" are_up 3
    touch go.3
    await_search 0
    expect_said '^train: trial 0: succeeded, loss 0.5 at step 1$'
    expect_said '^train: trial 2: succeeded, loss 0.4 at step 1$'
    expect_said '^train: trial 3: stopped, loss 0.9 at step 1$'
    expect_said '^train: 4 trials: 2 succeeded, 2 stopped$'
    [[ $(tail -n 1 "$work/search.err") =~ ^train:\ best:\ trial\ 2,\ loss\ 0.4\ at\ step\ [12]:\ x\ [0-9.]+$ ]] ||
        note_failure "the last line: $(tail -n 1 "$work/search.err")"
}

runs_on_its_own() {
    write_search "$random, max_trials: 3" <<<"$sleeping"
    id=$(with_environment "$train" launch -d --hostfile hosts.yaml x.yaml 2>"$work/err")
    expect_equal "exit status" 0 $?
    [[ $id =~ ^[a-z2-7]{8}$ ]] || note_failure "stdout is not an id alone: '$id'"
    expect_err "^train: task $id runs on its own now"
    expect_equal "state" running "$(state_of "$id")"
    touch end
    run task wait "$id"
    expect_status 0
    expect_err "^train: task $id: succeeded$"
    run task logs "$id" --trial 2
    expect_out '^\[0\] done 2$'
    within 20 "launcher.log has the summary" \
        grep -q '^train: 3 trials: 3 succeeded$' "$work/state/train/tasks/$id/launcher.log"
}

fails_on_its_own() {
    write_search "$random, max_trials: 3" <<<'until [ -e end ]; do sleep 0.05; done; exit 7'
    id=$(with_environment "$train" launch -d --hostfile hosts.yaml x.yaml 2>"$work/err")
    touch end
    run task wait "$id"
    expect_status 7
}

# Of each trial that runs, and of its files also later.
ranks_of_trials_are_reached() {
    write_search "$random, max_trials: 3" <<<'mkdir -p "files.$TRAIN_TRIAL_ID"; echo "of $TRAIN_TRIAL_ID" >"files.$TRAIN_TRIAL_ID/it"
        '"$sleeping"
    start_search
    within 20 "two trials are up" are_up 0 1
    id=$(task_id)
    run_task exec "$id" --trial 1 -- /bin/sh -c 'echo "beside $TRAIN_TRIAL_ID"; exit 5'
    expect_status 5
    expect_out '^beside 1$'
    run_task exec "$id" --trial 0 -- /bin/sh -c 'echo "beside $TRAIN_TRIAL_ID"'
    expect_out '^beside 0$'
    run_task get "$id" --trial 1 files.1/it -
    expect_equal "its file" "of 1" "$(cat "$work/out")"
    local command
    for command in "exec $id -- /bin/true" "get $id x -"; do
        # shellcheck disable=SC2086 # several words
        run_task $command
        expect_status 64
        expect_err "^train: task $id is a search: say of which trial, as --trial 0$"
    done
    run_task exec "$id" --trial 2 -- /bin/true
    expect_status 66
    expect_err "^train: no trial 2 of task $id has begun$"
    run_task exec "$id" --trial 1 --rank 1 -- /bin/true
    expect_status 66
    expect_err "has no rank 1"
    touch end.0
    within 20 "the third begins" are_up 2
    run_task exec "$id" --trial 0 -- /bin/true
    expect_status 66
    expect_err "^train: trial 0 of task $id has ended$"
    touch end
    await_search 0
    run task get "$id" --trial 2 files.2 copied
    expect_status 0
    expect_equal "its file" "of 2" "$(cat copied/it)"
    run launch -n 1 -- /bin/true
    run task get "$(task_id)" --trial 1 x -
    expect_status 66
    expect_err "has no trial 1: it is no search$"
}

# A trial alone, which its reports or its time end early, is one of a search.
one_trial_may_be_searched() {
    cat >tune.yaml <<'YAML'
entrypoint: ["/bin/sh", "-c", "for i in 1 2 3 4 5; do train report loss=0.$i; done; until [ -e \"$TRAIN_STOP_FILE\" ]; do sleep 0.05; done"]
param_space: {x: {uniform: [0, 1]}}
stop_notice: 1h
tune_config: {metric: loss, mode: min, scheduler: {type: asha, max_t: 4}}
YAML
    run launch tune.yaml
    expect_status 0
    expect_err '^train: 1 trial: 1 succeeded$'
    run task best "$(task_id)"
    expect_out '^loss: 0\.1$'
}

# Script and file disagree about what is reported: it is said, and none is the best.
what_is_not_reported_is_said() {
    write_search 'name: async_halving, num_rungs: 2, time_metric: batches, max_time: 9, max_trials: 3, max_concurrent_trials: 1' \
        <<<'train report loss=0.5; train report loss=0.4'
    start_search
    await_search 0
    expect_said "^train: warning: trial 0 has reported 'loss' without 'batches' or 'step', the training after which trials are compared: such reports decide nothing$"
    expect_equal "how often" 1 "$(grep -c "without 'batches'" "$work/search.err")"
    expect_last_said 'train: 3 trials: 3 succeeded' "train: no trial has reported 'loss' as a number with 'batches' or 'step', so none is the best"
    id=$(grep -ao 'task [a-z2-7]*' "$work/search.err" | head -n 1 | cut -d ' ' -f 2)
    run task best "$id"
    expect_status 66
    expect_err "^train: no trial of task $id has reported 'loss' as a number with 'batches' or 'step'$"
}

only_senseless_numbers_are_said() {
    write_search "$random, max_trials: 2" <<<'train report loss=NaN'
    start_search
    await_search 0
    expect_last_said 'train: 2 trials: 2 succeeded' "train: no trial has reported 'loss' as a number, so none is the best"
    id=$(grep -ao 'task [a-z2-7]*' "$work/search.err" | head -n 1 | cut -d ' ' -f 2)
    run task best "$id"
    expect_status 66
    expect_err "^train: no trial of task $id has reported 'loss' as a number$"
}

# The first says so by its report, the second by its code.
senseless_ones_are_replaced() {
    write_search "$random, max_trials: 2" 'max_restarts: 0' <<'TRIAL'
case $TRAIN_TRIAL_ID in
    0) train report invalid_hp=true; until [ -e "$TRAIN_STOP_FILE" ]; do sleep 0.02; done ;;
    1) exit 80 ;;
    *) train report loss=0.5 --step 1 ;;
esac
TRIAL
    start_search
    await_search 0
    expect_said '^train: 4 trials: 2 succeeded, 2 invalid$'
}

# Trial N reports the loss (N+1) / 10 at step 1, and then 0.05 if it is 2.
reports='echo "{\"loss\": 0.$((TRAIN_TRIAL_ID + 1)), \"step\": 1}" >>"$TRAIN_METRICS_FILE"
    [ "$TRAIN_TRIAL_ID" != 2 ] || train report loss=0.05 --step 2
    [ "$TRAIN_TRIAL_ID" != 3 ] || exit 5'

is_shown() {
    write_search "$random, max_trials: 5" <<<"$reports"
    start_search
    await_search 0
    expect_last_said 'train: 5 trials: 4 succeeded, 1 failed' \
        "$(grep '^train: best: trial 2, loss 0.05 at step 2: x 0\.[0-9]*$' "$work/search.err")"
    id=$(grep -ao 'task [a-z2-7]*' "$work/search.err" | head -n 1 | cut -d ' ' -f 2)
    run task show "$id"
    expect_status 0
    expect_out '^TRIAL +STATE +HOSTS +LASTED +STEP +BEST loss +x'
    expect_out '^2 \* +succeeded +localhost +[0-9.]+s +2 +0\.05 +0\.[0-9]+'
    expect_out '^3 +failed .* 0\.4 '
    expect_out '^5 trials: 4 succeeded, 1 failed$'
    expect_no_out 'prepared'
    run task show "$id" --json
    expect_schema task "$work/out"
    expect_equal "states" 'succeeded succeeded succeeded failed succeeded' \
        "$(field '" ".join(t["state"] for t in d["trials"])' "$work/out")"
    expect_equal "codes" '[0, 0, 0, 5, 0]' \
        "$(field '[t["attempts"][0]["exit_code"] for t in d["trials"]]' "$work/out")"
    expect_equal "reports of trial 2" "[(1, 0.3), (2, 0.05)]" \
        "$(field '[(r["step"], r["metrics"]["loss"]) for r in d["trials"][2]["reports"]]' "$work/out")"
    expect_equal "best" 2 "$(field 'd["search"]["best"]["trial"]' "$work/out")"
    expect_equal "decisions" 'ended ended ended failed ended' \
        "$(field '" ".join(e["decision"] for e in sorted(d["search"]["decisions"], key=lambda e: e["trial"]))' "$work/out")"
    local x
    x=$(field 'd["trials"][2]["hyperparameters"]["x"]' "$work/out")
    run task best "$id"
    expect_status 0
    printf '%s\n' 'trial: 2' 'step: 2' 'loss: 0.05' 'hyperparameters:' "  x: $x" >expected
    expect_same "the best trial" expected "$work/out"
    run task best "$id" --hyperparameters
    { cat "$work/out"; echo 'entrypoint: ["/bin/sh", "-c", "echo $TRAIN_HPARAMS"]'; } >again.yaml
    run launch again.yaml
    expect_status 0
    expect_out "\"x\": ?$x"
}

# Trial N prints three epochs, the last of them on standard error, and writes no file.
are_read_from_output() {
    write_search "$random, max_trials: 3" \
        "metrics: {pattern: 'epoch (?P<step>[0-9]+) loss (?P<loss>[^ ]+)( lr (?P<lr>[0-9.e-]+))?\$'}" <<'TRIAL'
printf 'epoch 1: 10%%\repoch 1 loss 0.%s5 lr 1e-3\r\n' $((TRAIN_TRIAL_ID + 1))
printf '\033[32mepoch 2 loss\033[0m .%s\n' $((TRAIN_TRIAL_ID + 1))
echo 'epoch 3 loss nan' >&2
printf 'epoch 4 loss 0'
TRIAL
    start_search
    await_search 0
    [[ $(tail -n 1 "$work/search.err") =~ ^train:\ best:\ trial\ 0,\ loss\ 0.1\ at\ step\ 2: ]] ||
        note_failure "the last line: $(tail -n 1 "$work/search.err")"
    id=$(task_id)
    run task show "$id" --json
    expect_schema task "$work/out"
    expect_equal "reports of trial 1" "[(1, 0.25, 0.001), (2, 0.2, None), (3, None, None)]" \
        "$(field '[(r["step"], r["metrics"]["loss"], r["metrics"].get("lr")) for r in d["trials"][1]["reports"]]' "$work/out")"
    run task best "$id"
    expect_out '^trial: 0$'
    expect_out '^loss: 0\.1$'
    expect_out '^step: 2$'
}

# Of the ranks of a trial, rank 1 is the better one.
are_of_all_ranks() {
    write_search "$random, max_trials: 2" \
        'max_restarts: 0' <<<'echo "{\"loss\": 0.$((3 - RANK))$TRAIN_TRIAL_ID, \"step\": $RANK}" >>"$TRAIN_METRICS_FILE"'
    start_search --set resources.slots_per_trial=2
    await_search 0
    expect_said '^train: best: trial 0, loss 0.3 at step 0: '
    start_search --set resources.slots_per_trial=2 --set metrics.ranks=all
    await_search 0
    expect_said '^train: best: trial 0, loss 0.2 at step 1: '
    id=$(task_id)
    run task best "$id"
    expect_out '^loss: 0\.2$'
    run task show "$id" --json
    expect_equal "reports of trial 1" "[0.21, 0.31]" \
        "$(field 'sorted(r["metrics"]["loss"] for r in d["trials"][1]["reports"])' "$work/out")"
}

has_no_best() {
    write_search "$random, max_trials: 2" <<<'exit 0'
    start_search
    await_search 0
    id=$(grep -ao 'task [a-z2-7]*' "$work/search.err" | head -n 1 | cut -d ' ' -f 2)
    run task best "$id"
    expect_status 66
    expect_err "^train: no trial of task $id has reported 'loss'$"
    run launch -n 1 -- /bin/true
    run task best "$(task_id)"
    expect_status 64
    expect_err 'is no search$'
}

is_drawn() {
    write_search "$random, max_trials: 5" <<<"$reports"
    start_search
    await_search 0
    id=$(task_id)
    run task show "$id"
    cp "$work/out" shown
    run task show "$id" --svg trials.svg
    expect_status 0
    expect_same "what is shown beside it" shown "$work/out"
    /usr/bin/python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' trials.svg ||
        note_failure "the picture is no XML"
    expect_equal "lines" 5 "$(grep -c 'data-trials="1"' trials.svg)"
    local title
    for title in 'trial 2: succeeded, best loss 0.05 at step 2 of 2 reports: x 0\.[0-9]*' \
        'trial 3: failed, best loss 0.4 at step 1 of 1 report: x 0\.[0-9]*'; do
        grep -q "<title>$title</title>" trials.svg || note_failure "no line of the picture is: $title"
    done
    grep -q '>trial 2: 0.05</text>' trials.svg || note_failure "the best trial is not named"
    run task show "$id" --json --svg again.svg
    expect_schema task "$work/out"
    expect_same "the picture" trials.svg again.svg
    run task show "$id" --svg -
    expect_status 64
    expect_err "^train: --svg: '-' is no file$"
    run task show "$id" --svg nowhere/trials.svg
    expect_status 66
    expect_err "^train: cannot write the file 'nowhere/trials.svg': no such file or directory$"
}

has_nothing_to_draw() {
    write_search "$random, max_trials: 2" <<<'exit 0'
    start_search
    await_search 0
    id=$(task_id)
    run task show "$id" --svg trials.svg
    expect_status 66
    expect_err "^train: no trial of task $id has reported 'loss'$"
    expect_no_out .
    run launch -n 1 -- /bin/true
    run task show "$(task_id)" --svg trials.svg
    expect_status 64
    expect_err 'is no search$'
    [ ! -e trials.svg ] || note_failure "there is a picture"
}

# Trial N prints 20 lines and reports 20 times, in two seconds or more, and waits for a file "end" if it is 2.
# At the steps for which there are files, see `hold`, all trials wait until these are removed.
printing='for step in $(seq 20); do
        echo "line $step of $TRAIN_TRIAL_ID"
        echo "{\"loss\": 0.$((9 - TRAIN_TRIAL_ID))$step, \"step\": $step}" >>"$TRAIN_METRICS_FILE"
        sleep 0.1 # waits: the pace of the trial
        while [ -e "held.$step" ]; do sleep 0.05; done
    done
    until [ "$TRAIN_TRIAL_ID" != 2 ] || [ -e end ]; do sleep 0.05; done'

hold() { local step; for step in "$@"; do : >"held.$step"; done; }

# All that trials 0 to N have printed is there, each line as it was printed, and nothing of a table.
expect_whole_lines() { # N
    local trial
    for trial in $(seq 0 "$1"); do
        expect_equal "lines of trial $trial" "$(seq -f "= [$trial] line %g of $trial" 20)" \
            "$(grep -Ea "^= \[$trial\] " "$work/out")"
    done
    expect_no_out '^= TRIAL '
    expect_no_out '^= .*[0-9] running'
}

is_seen_at_a_terminal() {
    write_search "$random, max_trials: 4" <<<"$printing"
    at_terminal 80 24 '^2 .*running.* 20 ' wait '^3 \* ' show . 'touch end' -- launch --hostfile hosts.yaml x.yaml
    expect_status 0
    expect_out '^\| TRIAL +STATE +HOSTS +LASTED +STEP +BEST loss +x$'
    expect_out '^\| 2 +running +localhost +[0-9.]+s +20 +0\.71 +0\.[0-9]+$'
    expect_out '^\| 3 \* +(running|succeeded) +localhost '
    expect_out '^\| 4 trials: (2 running, 2|1 running, 3) succeeded$'
    expect_whole_lines 3
    expect_out '^= train: 4 trials: 4 succeeded$'
    expect_out '^= train: best: trial 3, loss 0\.61 at step 1: x 0\.[0-9]+$'
}

# A screen that becomes narrower than the table.
# Each of four trials has printed its twenty.
expect_all_lines() {
    local trial
    for trial in 0 1 2 3; do
        expect_equal "lines of trial $trial" 20 "$(grep -Eac "^= \[$trial\] line [0-9]+ of $trial$" "$work/out")"
    done
}

is_seen_as_screens_change() {
    write_search "$random, max_trials: 4" <<<"$printing"
    hold 4 8 20
    at_terminal 70 30 '^\[[01]\] line 4' 'size 120 40' . 'remove held.4' '^\[[01]\] line 8' 'size 120 12' . 'remove held.8' \
        '^\[[01]\] line 20' show . 'remove held.20' '^2 .*running.* 20 ' 'touch end' -- launch --hostfile hosts.yaml x.yaml
    expect_status 0
    expect_whole_lines 3
    [ "$(grep -Ec '^\| ([0-9]+ (\* )?|TRIAL|[0-9]+ trials:)' "$work/out")" -le 4 ] ||
        note_failure "the table has more than a third of the screen"
    rm end
    hold 4
    at_terminal 80 24 '^\[[01]\] line 4' 'size 44 24' . 'remove held.4' . 'touch end' -- launch --hostfile hosts.yaml x.yaml
    expect_status 0
    expect_all_lines
}

# It is asked for between two lines, below the table, which is not taken away from above it.
is_not_drawn_over_questions() {
    write_search "$random, max_trials: 4" <<<"$printing"
    hold 2 12
    at_terminal 80 40 '^[01] .*running' 'echo off' . 'remove held.2' '^\[[01]\] line 12' show . 'echo on' \
        . 'remove held.12' '^2 .*running' 'touch end' -- launch --hostfile hosts.yaml x.yaml
    expect_status 0
    expect_equal "tables in the lines" 1 "$(grep -c '^= TRIAL ' "$work/out")"
    expect_equal "tables when the question was answered" 1 "$(grep -c '^| TRIAL ' "$work/out")"
    expect_all_lines
}

is_interrupted_at_a_terminal() {
    write_search "$random, max_trials: 4" <<<"$printing"
    hold 20
    at_terminal 80 24 '^[01] .*running' 'key \x03' -- launch --hostfile hosts.yaml x.yaml
    expect_status 130
    expect_no_out '^= TRIAL '
    expect_out '^= train: 2 trials: 2 stopped$'
    expect_out '^= train: failed: interrupted: .* \(exit 130\)$'
}

# More than is drawn at once, and a stream that goes elsewhere.
much_is_printed_at_a_terminal() {
    write_search "$random, max_trials: 2" <<<'seq -f "number %g of $TRAIN_TRIAL_ID" 20000'
    at_terminal 80 24 -- launch --hostfile hosts.yaml x.yaml
    expect_status 0
    local trial
    for trial in 0 1; do
        seq -f "= [$trial] number %g of $trial" 20000 >expected
        grep -a "^= \[$trial\]" "$work/out" >printed
        expect_same "what trial $trial has printed" expected printed
    done
    expect_no_out '^= TRIAL '
    write_search "$random, max_trials: 2" <<<"$printing"
    hold 20
    at_terminal 80 24 '^[01] .*running' show . 'remove held.20' -- launch --hostfile hosts.yaml --json x.yaml
    expect_status 0
    expect_out '^\| TRIAL '
}

has_no_table() {
    write_search "$random, max_trials: 2" <<<"$printing"
    local how
    for how in --detach --raw; do
        at_terminal 80 24 -- launch "$how" --hostfile hosts.yaml x.yaml
        expect_status 0
        expect_no_out 'TRIAL '
        [ "$how" = --raw ] || run task wait "$(task_id)"
    done
    environment=(TERM=dumb)
    at_terminal 80 24 -- launch --hostfile hosts.yaml x.yaml
    environment=()
    expect_no_out 'TRIAL '
    start_search
    await_search 0
    expect_not_said 'TRIAL '
    ! grep -q $'\e' "$work/search.err" || note_failure "there are control sequences"
}

is_watched() {
    write_search "$random, max_trials: 3" <<<"$printing"
    hold 20
    id=$(with_environment "$train" launch -d --hostfile hosts.yaml x.yaml 2>"$work/err")
    (exec_with_environment timeout 600 "$train" task show "$id" --watch) >"$work/watched" 2>"$work/err" &
    local watcher=$!
    within 20 "trials that run" grep -Eqs '^1 .*running' "$work/watched"
    rm held.20
    within 20 "the last trial" grep -Eqs '^2 .*running' "$work/watched"
    at_terminal 80 24 '^2 .*running.* 20 ' show . 'touch end' -- task show "$id" --watch
    expect_status 0
    expect_out "^\| task $id 'x': running, [0-9.]+s$"
    expect_out '^\| TRIAL +STATE '
    expect_out "^= task $id 'x': succeeded, [0-9.]+s$"
    expect_out '^= 2 \* +succeeded .* 0\.71 '
    wait "$watcher" || note_failure "the watcher ended with $?"
    expect_equal "the last state" "state      succeeded" "$(grep '^state ' "$work/watched" | tail -n 1)"
    run task show "$id" --watch
    expect_status 0
    expect_out '^3 trials: 3 succeeded$'
    run task show "$id" --watch --json
    expect_status 64
    run launch -n 1 -- /bin/true
    run task show "$(task_id)" --watch
    expect_status 0
    expect_out '^state      succeeded$'
}

has_had_its_time() {
    local seconds
    seconds=$(paced 2) # within which the first two have reported
    cat >tune.yaml <<'YAML'
entrypoint: ["/bin/sh", "-c", "echo '{\"loss\": 0.5}' >>\"$TRAIN_METRICS_FILE\"; while :; do sleep 0.1; done"]
param_space: {x: {uniform: [0, 1]}}
tune_config: {num_samples: 4, metric: loss, mode: min, time_budget_s: SECONDS}
resources_per_trial: {cpu: 1}
YAML
    sed -i "s/SECONDS/$seconds/" tune.yaml
    echo 'hosts: [{name: localhost, resources: {CPU: 2}}]' >hosts.yaml
    output=$work/search.out errors=$work/search.err start launch --hostfile hosts.yaml tune.yaml
    await_search 0
    expect_last_said 'train: 4 trials: 4 stopped' \
        "$(grep '^train: best: trial [01], loss 0.5 at step 1: x' "$work/search.err")"
}

test_case "a search is shown by its trials, and its best one can be launched again" is_shown
test_case "what a pattern finds in the output of trials is what they report" are_read_from_output
test_case "the reports of all ranks count where that is said" are_of_all_ranks
is_attached() {
    write_search "$random, max_trials: 3" <<<"$sleeping"
    id=$(with_environment "$train" launch -d --hostfile hosts.yaml x.yaml 2>"$work/err")
    start task attach --from-start "$id"
    within 20 "it attaches" err_has "^train: task $id is a search"
    touch end
    await
    expect_status 0
    expect_err '^train: trial 2 on localhost: x'
    expect_err '^train: trial 2: succeeded$'
    expect_err "^train: task $id: succeeded$"
}

test_case "attach shows what is said of the trials of a search" is_attached
test_case "one without a report has no best trial" has_no_best
test_case "what trials have reported is drawn, beside what is shown of them" is_drawn
test_case "where nobody has reported nothing is drawn" has_nothing_to_draw
test_case "at a terminal the trials of a search are a table below what they print" is_seen_at_a_terminal
test_case "the table of trials takes the screens that there are, and never what was printed" is_seen_as_screens_change
test_case "while a password is asked for no table is drawn, nor taken away" is_not_drawn_over_questions
test_case "after Ctrl-C there is no table" is_interrupted_at_a_terminal
test_case "a table of trials loses nothing of what is printed, however much" much_is_printed_at_a_terminal
test_case "where nobody looks, or the cursor cannot be moved, there is no table" has_no_table
test_case "a task is watched until it ends" is_watched
test_case "commands run beside ranks of trials, whose files are fetched" ranks_of_trials_are_reached
test_case "one trial alone may be what a search is about" one_trial_may_be_searched
test_case "reports that decide nothing are told of" what_is_not_reported_is_said
test_case "reports of no finite number are told of" only_senseless_numbers_are_said
test_case "trials whose hyperparameters make no sense are replaced" senseless_ones_are_replaced
test_case "a search that has had its time ends well" has_had_its_time
test_case "one trial of a search is killed, and the search goes on" one_trial_is_killed
test_case "a trial that is killed sees its stop file, and is not killed twice" stopping_is_said
test_case "to kill one trial takes one task that is a search" kill_of_one_trial_is_refused
test_case "a launcher that does not take requests is named" unheard_launcher
test_case "nobody ends one trial of a search whose launcher has died" unattended
race_case "a search whose launcher is killed is gone on with, and decides the same" gone_on_with
soak_case "a search decides the same at whatever moments its launchers are killed" killed_at_any_moment
test_case "nor of one that waits for slots, which it has in its turn" waits_in_line
test_case "a search that waits for slots is killed" stops_waiting
test_case "a search whose slots others hold does not try one trial after the other" finds_slots_held
test_case "Ctrl-C stops all trials of a search" interrupted
test_case "a search of which all trials fail ends as the first to fail did" all_fail
test_case "a search of which some trials fail succeeds" some_fail
test_case "a strict search of which one trial fails has failed" one_failure_is_enough
test_case "lines of trials are told apart" lines_are_told_apart
test_case "trials that are worse than half of the others are stopped, with notice" is_halved
test_case "a search goes on without its terminal" runs_on_its_own
test_case "and fails without it" fails_on_its_own
finish
