#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tasks that are started again, as the commands of a user see them.   restart_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

two=(-H localhost:2 -n 2)
task() { with_environment "$train" task "$@" >"$work/out" 2>"$work/err"; status=$?; }

# In attempt 0, rank 1 fails once both have printed.
fails_once='echo "attempt $TRAIN_RESTART_COUNT of $RANK"
[ "$TRAIN_RESTART_COUNT" -lt 1 ] || exit 0
[ "$RANK" = 1 ] || { : >printed; exec sleep 4711; }
until [ -e printed ]; do sleep 0.02; done; exit 7'
restarted() { run launch "${two[@]}" --set max_restarts=4 --set restart_delay=0s "$@" -- /bin/sh -c "$fails_once"; }

record_of_attempts() {
    restarted --json
    expect_status 0
    expect_schema task "$work/out"
    expect_equal "attempts" '0 1' "$(field '" ".join(str(a["number"]) for a in d["attempts"])' "$work/out")"
    expect_equal "restarts" 1 "$(field 'd["restarts"]' "$work/out")"
    expect_equal "causes" "rank 1 on 'localhost' exited with code 7|None" \
        "$(field '"|".join(str(a["cause"]) for a in d["attempts"])' "$work/out")"
    expect_equal "attempts that ended before the next began" True \
        "$(field 'd["attempts"][0]["started"] <= d["attempts"][0]["ended"] <= d["attempts"][1]["started"]' "$work/out")"
    expect_equal "events" "created supervised attempt_begun ranks_started attempt_failing attempt_over attempt_begun ranks_started task_over" \
        "$(field '" ".join(e["what"] for e in d["events"])' "$work/out")"
    expect_equal "what has failed first" "0 1 localhost rank 1 on 'localhost' exited with code 7" \
        "$(field '" ".join(str(d["events"][4][key]) for key in ("attempt", "rank", "host", "text"))' "$work/out")"
    expect_equal "times of events, in their order, from the launch to the end" True \
        "$(field '(lambda times: times == sorted(times) and times[0] == d["created_ms"] and times[-1] <= d["ended_ms"])([e["time_ms"] for e in d["events"]])' "$work/out")"
    expect_equal "attempts that began when it was written down" True \
        "$(field '[a["started"] for a in d["attempts"]] == [e["time_ms"] for e in d["events"] if e["what"] == "attempt_begun"]' "$work/out")"
    task list --all
    expect_out ' 1$'
    local id
    id=$(sed -n '2s/ .*//p' "$work/out")
    task show "$id" --json
    expect_schema task "$work/out"
    task show "$id"
    expect_out '^ATTEMPT +BEGAN +ENDED +LASTED +HOSTS$'
    expect_out '^0 +20[0-9-]+ [0-9:]+ +20[0-9-]+ [0-9:]+ +[0-9.]+s +localhost$'
    expect_out "^ +rank 1 on 'localhost' exited with code 7$"
    expect_out '^20[0-9-]+  [0-9:]{8}  launched$'
    expect_out '^ +[0-9:]{8}  attempt 0 is over, and another one follows$'
    expect_out '^ +[0-9:]{8}  succeeded$'
    expect_out '^localhost +0-1 +\|0\|1\|$'
    no_entry_is_needed "$id"
}

# Of a task whose journal is damaged or gone the rest is shown.
no_entry_is_needed() {
    registry "UPDATE journal SET entry = 'x' WHERE task = '$1' AND number = 2"
    task show "$1" --json
    expect_schema task "$work/out"
    expect_err "^train: 1 of 8 entries of the journal of task $1 cannot be read$"
    expect_equal "events" 8 "$(field 'len(d["events"])' "$work/out")"
    registry "DELETE FROM journal WHERE task = '$1'"
    task show "$1" --json
    expect_schema task "$work/out"
    expect_equal "events" "created task_over" "$(field '" ".join(e["what"] for e in d["events"])' "$work/out")"
    task show "$1"
    expect_status 0
}

logs_of_attempts() {
    restarted
    local id
    id=$(task_id)
    task logs "$id"
    expect_equal "the last attempt" "[0] attempt 1 of 0 [1] attempt 1 of 1" "$(sort "$work/out" | paste -sd' ')"
    task logs "$id" --attempt 0 --rank 1
    expect_equal "attempt 0 of rank 1" "attempt 0 of 1" "$(cat "$work/out")"
    task logs "$id" --attempt all --rank 0
    expect_equal "all attempts of rank 0" "attempt 0 of 0 attempt 1 of 0" "$(paste -sd' ' "$work/out")"
    expect_err '^train: attempt 0$'
    task logs "$id" --attempt 2
    expect_status 66
    expect_err "task $id has no attempt 2: its attempts are 0 to 1"
    task logs "$id" --attempt last
    expect_status 64
}

follows_into_the_next() {
    start launch "${two[@]}" --set max_restarts=1 --set restart_delay=0s -- /bin/sh -c \
        '[ "$RANK$TRAIN_RESTART_COUNT" != 10 ] || until [ -e go ]; do sleep 0.02; done; '"$fails_once"
    within 20 "the first attempt runs" out_has 'attempt 0 of 0'
    (exec_with_environment timeout 600 "$train" task logs "$(task_id)" -f --rank 0) >"$work/followed" 2>/dev/null &
    local follower=$!
    within 20 "it is followed" grep -q 'attempt 0 of 0' "$work/followed"
    touch go
    await
    expect_status 0
    wait "$follower"
    expect_equal "what was followed" "attempt 0 of 0 attempt 1 of 0" "$(paste -sd' ' "$work/followed")"
}

invalid_hyperparameters() {
    run launch "${two[@]}" --set max_restarts=4 -- /bin/sh -c 'sleep 0.2; [ "$RANK" = 0 ] || exit 80; exec sleep 4711'
    expect_status 80
    ! err_has 'restart' || note_failure "there is talk of a restart"
}

killed_while_waiting() {
    start launch "${two[@]}" --set max_restarts=4 --set restart_delay=1h -- /bin/sh -c "$fails_once"
    within 20 "the restart is announced" err_has '^train: restart 1 of 4'
    local id
    id=$(task_id)
    with_environment "$train" task kill "$id" >/dev/null 2>&1
    await
    expect_status 143
    task show "$id" --json
    expect_equal "state" killed "$(field 'd["state"]' "$work/out")"
}

last_line_without_an_end() {
    run launch "${two[@]}" --set max_restarts=1 --set restart_delay=0s -- /bin/sh -c \
        '[ "$RANK" = 1 ] || exec sleep 4711; sleep 0.2; printf "fatal: %s" "$TRAIN_RESTART_COUNT" >&2; exit 3'
    expect_status 3
    expect_err "^train: rank 1 on 'localhost' exited with code 3: fatal: 0$"
}

policies() {
    cat >policies.yaml <<'YAML'
entrypoint: ["/bin/sh", "-c", "sleep 0.2; [ $RANK = 0 ] || exec sleep 4711; echo CUDA out of memory >&2; exit 9"]
resources: {slots_per_trial: 2}
max_restarts: 4
log_policies:
  - {name: OOM, pattern: "out of memory", actions: [cancel_retries, {signal: too large}]}
  - {pattern: "CUDA.*", action: exclude_node}
YAML
    run launch policies.yaml -H localhost:2 --json
    expect_status 9
    expect_err "^train: log policy 'OOM' has found its line, printed by rank 0 on 'localhost': a failure is not followed by a restart; marked 'too large'$"
    expect_err "^train: log policy 'CUDA\.\*' has found its line, printed by rank 0 on 'localhost': a restart leaves the host out, if others have room$"
    ! err_has 'restart 1' || note_failure "there is talk of a restart"
    expect_schema task "$work/out"
    expect_equal "what policies found" 2 "$(field 'len(d["attempts"][0]["log_policies"])' "$work/out")"
}

# The first attempt fails before all its ranks have started.
detached_start() {
    run launch -d "${two[@]}" --set max_restarts=3 --set restart_delay=100ms -- /bin/sh -c \
        '[ "$TRAIN_RESTART_COUNT" -ge 1 ] || exit 5; until [ -e go ]; do sleep 0.02; done'
    expect_status 0
    local id
    id=$(cat "$work/out")
    expect_equal "state" running "$(state_of "$id")"
    touch go
    task wait "$id"
    expect_status 0
}

# To open a pipe that nobody reads takes for ever, like a call to a file server that is gone.
log_disk_hangs() {
    run launch -n 1 --set max_restarts=1 --set restart_delay=0s -- /bin/sh -c '[ "$TRAIN_RESTART_COUNT" -lt 1 ] || exec echo "the next attempt"
        mkfifo "$0/$TRAIN_TASK_ID/logs/rank-0.0.index" || exit 9
        echo hangs; exit 7' "$work/state/train/tasks"
    expect_status 0
    expect_out '^\[0\] the next attempt$'
    expect_err 'the last output of the attempt that has ended may be missing'
    expect_err 'bytes of output are not in the logs'
}

# Restarts that bring no checkpoint and no metrics end: with a code of its own, in the record too.
in_vain() {
    run launch "${two[@]}" --set max_restarts=50 --set restart_delay=0s --set max_no_progress=3 -- /bin/sh -c 'exit 7'
    expect_status 79
    expect_err "^train: failed: no_progress: restarting does not help: the last attempts made no checkpoint and reported no metrics \(max_no_progress\); the last one: rank [01] on 'localhost' exited with code 7 \(exit 79\)$"
    expect_err '^train: restart 2 of 50 '
    expect_no_err '^train: restart 3 of 50 '
    local id
    id=$(task_id)
    task show "$id" --json
    expect_schema task "$work/out"
    expect_equal "class and code" "no_progress 79" "$(field 'd["error_class"] + " " + str(d["exit_code"])' "$work/out")"
}

# Each attempt leaves a file or reports, but the last three.
not_in_vain() {
    run launch -n 1 --set max_restarts=50 --set restart_delay=0s --set max_no_progress=3 \
        --set checkpoint_storage.type=directory --set checkpoint_storage.container_path="$work/kept" -- /bin/sh -c 'case $TRAIN_RESTART_COUNT in
            0 | 3) mkdir "$TRAIN_CHECKPOINT_DIR/step-$TRAIN_RESTART_COUNT" ;;
            2) train report loss=0.5 ;;
            4) echo x >"$TRAIN_CHECKPOINT_DIR/step-0/model" ;;
            esac
            exit 7'
    expect_status 79
    expect_err '^train: restart 7 of 50 '
    expect_no_err '^train: restart 8 of 50 '
}

same_cause() {
    run launch -n 1 --set max_restarts=50 --set restart_delay=0s --set stop_on_same_cause=true -- /bin/sh -c '
        [ "$TRAIN_RESTART_COUNT" != 1 ] || exit 5
        exit 7'
    expect_status 79
    expect_err 'the last two attempts failed alike and came to nothing \(stop_on_same_cause\); the last one: '
    expect_err '^train: restart 3 of 50 '
    expect_no_err '^train: restart 4 of 50 '
}

test_case "a record has the attempts of its task" record_of_attempts
test_case "logs are those of the last attempt, or of others" logs_of_attempts
test_case "who follows a task follows it into its next attempt" follows_into_the_next
test_case "hyperparameters that make no sense are not tried again" invalid_hyperparameters
test_case "the last words of a failed attempt count without a newline" last_line_without_an_end
test_case "log policies tell what they find, and that a restart is of no use" policies
test_case "a disk of the logs that hangs holds up neither the next attempt nor the end" log_disk_hangs
test_case "a task that is killed while it waits for its next attempt is killed" killed_while_waiting
test_case "attempts in a row that come to nothing are the last" in_vain
test_case "a checkpoint or a report is progress" not_in_vain
test_case "what fails twice for the same cause is not started a third time, if so asked" same_cause
test_case "a detached launch returns once ranks have started in some attempt" detached_start

finish
