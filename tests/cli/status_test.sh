#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a launch shows at a terminal while it runs.   status_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

# Ranks that run until there is a file `end`, or `end.RANK`.
until_end='until [ -e end ] || [ -e "end.$RANK" ]; do sleep 0.05; done'

ranks_are_counted() {
    at_terminal 100 24 '^3 ranks on 1 host, [0-9.]+s' show '^3 ranks' 'touch end.0' \
        '^2 of 3 ranks left on localhost, ' 'touch end' -- launch -H localhost:3 -n 3 -- /bin/sh -c "echo hello; $until_end"
    expect_status 0
    expect_out '^\| 3 ranks on 1 host, [0-9.]+s'
    # Nothing of it stays, and no line of a rank is lost.
    expect_equal "lines of ranks" 3 "$(grep -c '^= \[[0-2]\] hello$' "$work/out")"
    expect_no_out '^= .*(ranks on|ranks left)'
}

reports_and_usage_are_shown() {
    at_terminal 120 24 'loss 0\.25, step 40' wait '; [0-9.]+ CPUs; [0-9.]+ MiB' show . 'touch end' -- \
        launch -n 1 -- /bin/sh -c 'train report --step 40 loss=0.25; while [ ! -e end ]; do :; done'
    expect_status 0
    expect_out '^\| 1 rank on 1 host, [0-9.]+s; loss 0\.25, step 40; [0-9.]+ CPUs; [0-9.]+ MiB$'
}

progress_bars_stay_in_place() {
    at_terminal 80 24 '^\[0\] 50% \|#####     \|$' show . 'touch go' '^\[0\] 100%' 'touch end' -- \
        launch -n 1 -- /bin/sh -c 'printf "10%% |#         |\r50%% |#####     |\r"; while [ ! -e go ]; do sleep 0.05; done
            printf "100%% |##########|\n"; while [ ! -e end ]; do sleep 0.05; done'
    expect_status 0
    expect_out '^\| \[0\] 50% '
    expect_out '^= \[0\] 100% \|##########\|$'
    expect_no_out '^= \[0\] 50%'
}

restarts_are_counted() {
    at_terminal 100 24 '^1 rank.* restart 1 of 2' show . 'touch end' -- \
        launch -n 1 --set max_restarts=2 --set restart_delay=0 -- /bin/sh -c '[ "$TRAIN_RESTART_COUNT" -gt 0 ] || exit 3; '"$until_end"
    expect_status 0
    expect_out '^\| 1 rank on 1 host, [0-9.]+s; restart 1 of 2'
}

stops_are_seen() {
    at_terminal 100 24 '^1 rank on 1 host' 'key \x03' '^stopping, [0-9.]+s: 1 rank on 1 host' 'touch end' -- \
        launch -n 1 --set stop_grace=1h -- /bin/sh -c 'trap "" TERM INT; '"$until_end"
    expect_status 130
    expect_no_out '^= stopping'
}

# Rows keep within the screen as it is, and are gone where there is no room.
screens_change() {
    at_terminal 100 24 '^\[0\] a{50,}' 'size 45 24' '^\[0\] a+\.\.\.$' show . 'size 45 6' . 'touch end' -- \
        launch -n 1 -- /bin/sh -c 'printf "x\r%060d" 0 | tr 0 a; '"$until_end"
    expect_status 0
    expect_out '^\| .{1,44}$'
    expect_out '^= \[0\] a{60}$'
}

# Elsewhere there are lines alone: in a pipe, on a terminal that cannot move its cursor, where it was asked for.
plain_where_it_must_be() {
    run launch -n 1 -- /bin/sh -c 'sleep 1.5; echo done' # waits: longer than rows need to come
    expect_no_err 'rank on'
    environment=(TERM=dumb)
    at_terminal 100 24 -- launch -n 1 -- /bin/sh -c 'sleep 1.5; echo done' # waits: longer than rows need to come
    expect_no_out 'rank on'
    environment=()
    at_terminal 100 24 -- launch --progress plain -n 1 -- /bin/sh -c 'sleep 1.5; echo done' # waits: longer than rows need to come
    expect_status 0
    expect_no_out 'rank on'
    run launch --progress loud -n 1 -- true
    expect_status 64
    expect_err "'loud' is none of live, plain and none"
}

nothing_is_said_of_progress() {
    run launch --progress none -n 2 -- /bin/sh -c 'echo hello'
    expect_status 0
    expect_equal "lines of ranks" 2 "$(grep -c '^\[[01]\] hello$' "$work/out")"
    expect_equal "what is said" "" "$(cat "$work/err")"
    run launch --progress none -n 1 --set max_restarts=1 --set restart_delay=0 -- /bin/sh -c 'exit 3'
    expect_status 3
    expect_err '^train: restart 1 of 1'
    expect_err '^train: .*exit.* 3'
    expect_no_err '^train: (task|attempt 1)'
    at_terminal 100 24 -- launch --progress none -n 1 -- /bin/sh -c 'sleep 1.5; echo done' # waits: longer than rows need to come
    expect_equal "what is shown" "= [0] done" "$(grep . "$work/out" | grep -vx '= ')"
}

attached_rows() {
    local id
    id=$(with_environment "$train" launch -d -H localhost:3 -n 3 -- /bin/sh -c "$until_end; echo \"bye \$RANK\"" 2>"$work/err")
    at_terminal 100 24 '^3 ranks on 1 host, [0-9.]+s' show . 'touch end.0' \
        '^2 of 3 ranks left on localhost, ' 'touch end' -- task attach "$id"
    expect_status 0
    expect_out '^\| 3 ranks on 1 host, [0-9.]+s'
    expect_equal "lines of ranks" 3 "$(grep -c '^= \[[0-2]\] bye [0-2]$' "$work/out")"
    expect_out "^= train: task $id: succeeded"
    expect_no_out '^= .*(ranks on|ranks left)'
}

attached_bars() {
    local id
    id=$(with_environment "$train" launch -d -n 1 -- /bin/sh -c 'printf "10%% |#         |\r50%% |#####     |\r"; '"$until_end" 2>"$work/err")
    at_terminal 80 24 '^\[0\] 50% \|#####     \|$' show . 'touch end' -- task attach "$id"
    expect_status 0
    expect_out '^\| \[0\] 50% '
    id=$(with_environment "$train" launch -d -n 1 -- /bin/sh -c 'sleep 2.5; echo done' 2>"$work/err") # waits: longer than rows need to come
    at_terminal 80 24 -- task attach --progress plain "$id"
    expect_status 0
    expect_out '^= \[0\] done$'
    expect_no_out 'rank on'
}

# One process writes what four ranks print, so that it comes at the same time on a busy machine too.
prints_as_one='echo $$ >"of.$RANK"; mv "of.$RANK" "pid.$RANK"
    if [ "$RANK" = 0 ]; then
        for rank in 1 2 3; do until [ -e "pid.$rank" ]; do sleep 0.05; done; done
        printf "same 1\nsame 2\n" | tee "/proc/$(cat pid.1)/fd/1" "/proc/$(cat pid.2)/fd/1" "/proc/$(cat pid.3)/fd/1"
        touch go
    fi
    until [ -e go ]; do sleep 0.05; done
    echo "own $RANK"; printf "rest $RANK"'

expect_folded() {
    grep -v '^train' "$1" | sort >"$work/lines"
    printf '%s\n' '[0-3] same 1' '[0-3] same 2' '[0] own 0' '[1] own 1' '[2] own 2' '[3] own 3' \
        '[0] rest 0' '[1] rest 1' '[2] rest 2' '[3] rest 3' | sort >"$work/expected"
    expect_same "lines of ranks" "$work/expected" "$work/lines"
}

lines_are_folded() {
    run launch -n 4 -H localhost:4 --dedup -- /bin/sh -c "$prints_as_one"
    expect_status 0
    expect_folded "$work/out"
    expect_equal "the first lines" "[0-3] same 1 [0-3] same 2" "$(head -n 2 "$work/out" | paste -sd ' ')"
    run task logs "$(task_id)"
    expect_equal "lines of logs" 4 "$(grep -c 'same 2' "$work/out")"
    run task logs --dedup "$(task_id)"
    expect_folded "$work/out"
    run task logs --dedup --timestamps --rank 0-1 "$(task_id)"
    expect_out '^20[0-9T:.-]+(Z|[+-][0-9:]+) \[0-1\] same 1$'
}

lines_are_folded_while_they_are_followed() {
    local id
    id=$(with_environment "$train" launch -d -n 4 -H localhost:4 -- /bin/sh -c "until [ -e begin ]; do sleep 0.05; done; $prints_as_one" 2>"$work/err")
    start task logs -f --dedup "$id"
    touch begin
    await
    expect_status 0
    expect_folded "$work/out"
}

lines_have_times() {
    run launch -n 1 --timestamps -- /bin/sh -c 'echo hello; printf rest'
    expect_status 0
    expect_out '^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}(Z|[+-][0-9:]+) \[0\] hello$'
    expect_out '^20.* \[0\] rest$'
    run task logs --timestamps "$(task_id)"
    expect_out '^20.* \[0\] hello$'
}

test_case "with --progress none there are output, failures and their restarts alone" nothing_is_said_of_progress
test_case "a terminal shows the same of a task that is attached to" attached_rows
test_case "progress bars stay in place there as well, unless --progress plain is given" attached_bars
test_case "a line of many ranks is shown once, and no other is lost" lines_are_folded
test_case "lines of logs that are followed are folded" lines_are_folded_while_they_are_followed
test_case "lines begin with their time where that is wanted" lines_have_times
test_case "a terminal shows how many ranks run, and nothing of it stays" ranks_are_counted
test_case "the last report of rank 0 and what the ranks use are shown" reports_and_usage_are_shown
test_case "progress bars of ranks stay in place" progress_bars_stay_in_place
test_case "restarts are counted" restarts_are_counted
test_case "ranks that are stopped are seen" stops_are_seen
test_case "rows keep to the screen as it changes" screens_change
test_case "there are lines alone where a terminal cannot have more, or --progress plain says so" plain_where_it_must_be
finish
