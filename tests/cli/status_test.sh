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
    expect_err "'loud' is none of live and plain"
}

lines_have_times() {
    run launch -n 1 --timestamps -- /bin/sh -c 'echo hello; printf rest'
    expect_status 0
    expect_out '^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}(Z|[+-][0-9:]+) \[0\] hello$'
    expect_out '^20.* \[0\] rest$'
    run task logs --timestamps "$(task_id)"
    expect_out '^20.* \[0\] hello$'
}

test_case "lines begin with their time where that is wanted" lines_have_times
test_case "a terminal shows how many ranks run, and nothing of it stays" ranks_are_counted
test_case "the last report of rank 0 and what the ranks use are shown" reports_and_usage_are_shown
test_case "progress bars of ranks stay in place" progress_bars_stay_in_place
test_case "restarts are counted" restarts_are_counted
test_case "ranks that are stopped are seen" stops_are_seen
test_case "rows keep to the screen as it changes" screens_change
test_case "there are lines alone where a terminal cannot have more, or --progress plain says so" plain_where_it_must_be
finish
