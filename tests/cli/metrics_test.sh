#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What ranks append to $TRAIN_METRICS_FILE is carried to the launcher and shown.
# metrics_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

last_attempt() { # last_attempt EXPRESSION: of the last attempt `a` of the only task
    run task show "$id" --json
    expect_schema task "$work/out"
    field "[$1 for a in d['attempts'][-1:]][0]" "$work/out"
}

reported() {
    run launch -n 2 -- /bin/sh -c '
        echo "up $RANK"
        echo "{\"loss\": 0.5, \"step\": 1}" >>"$TRAIN_METRICS_FILE"
        echo "{\"loss\": 0.25, \"step\": 2, \"rank\": $RANK}" >>"$TRAIN_METRICS_FILE"'
    expect_status 0
    expect_no_out loss
    expect_no_err metrics
    id=$(task_id)
    expect_equal "reports" "4 0" "$(last_attempt 'str(a["reports"]) + " " + str(a["ignored_lines"])')"
    expect_equal "the last of rank 0" "{'loss': 0.25, 'step': 2, 'rank': 0}" \
        "$(last_attempt '{k: a["last_report"][k] for k in ("loss", "step", "rank")}')"
    run task show "$id"
    expect_out '^metrics    4 reports; rank 0: .*"loss":0.25'
    run task logs "$id"
    expect_no_out loss
    expect_out '^\[0\] up 0$'
}

# While it runs: its agent looks several times a second, the record is written every five.
shown_meanwhile() {
    start launch -n 1 -- /bin/sh -c '
        echo "{\"step\": 7}" >>"$TRAIN_METRICS_FILE"; echo up; exec sleep 4711'
    within 30 "the rank is up" out_count_is 1 up
    id=$(task_id)
    within 20 "its report is shown" shows "$id" '^metrics    1 report; rank 0: {"step":7}$'
    kill -INT "$launcher"
    await 10
    expect_gone 10
}

shows() {
    with_environment "$train" task show "$1" >"$work/shown" 2>&1
    grep -Eq -- "$2" "$work/shown"
}

no_reports() {
    run launch -n 1 -- /bin/sh -c '
        for line in junk "[1]" "{\"a\": NaN}" "{" ""; do echo "$line"; done >>"$TRAIN_METRICS_FILE"
        printf "{\"torn\": 1" >>"$TRAIN_METRICS_FILE"'
    expect_status 0
    expect_equal "warnings" 1 "$(grep -c 'metrics file' "$work/err")"
    id=$(task_id)
    expect_equal "reports, others, the last" "1 4 {'a': None}" \
        "$(last_attempt '" ".join(str(a[k]) for k in ("reports", "ignored_lines", "last_report"))')"
}

by_attempt() {
    run launch -n 1 --set max_restarts=1 --set restart_delay=0s -- /bin/sh -c '
        test ! -s "$TRAIN_METRICS_FILE" || exit 9
        echo "{\"attempt\": $TRAIN_RESTART_COUNT}" >>"$TRAIN_METRICS_FILE"
        exit $((1 - TRAIN_RESTART_COUNT))'
    expect_status 0
    id=$(task_id)
    run task show "$id" --json
    expect_equal "of each attempt" "[(1, 0), (1, 1)]" \
        "$(field '[(a["reports"], a["last_report"]["attempt"]) for a in d["attempts"]]' "$work/out")"
}

# A file that grows faster than it is sent keeps its order, and nothing of it is lost.
many() {
    run launch -n 2 -- /usr/bin/python3 -c '
import json, os
with open(os.environ["TRAIN_METRICS_FILE"], "a") as file:
    for step in range(100_000):
        file.write(json.dumps({"step": step, "loss": 1 / (step + 1)}) + "\n")'
    expect_status 0
    id=$(task_id)
    expect_equal "reports" "200000 0 99999" \
        "$(last_attempt '" ".join(str(v) for v in (a["reports"], a["ignored_lines"], a["last_report"]["step"]))')"
    local log
    for log in "$work"/state/train/tasks/"$id"/logs/metrics-[01].0.log; do
        expect_equal "lines of ${log##*/}" 100000 "$(wc -l <"$log")"
    done
}

test_case "reports of ranks are counted, and the last is shown" reported
test_case "reports are shown while the task runs" shown_meanwhile
test_case "lines that are no reports are said once, and counted" no_reports
test_case "every attempt has reports of its own" by_attempt
test_case "two hundred thousand reports come whole" many
finish
