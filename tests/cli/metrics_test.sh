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
    await
    expect_gone
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

by_the_program() {
    run launch -H localhost:1 -n 1 -- /bin/sh -c 'set -e
        train report --step 1 loss=0.5
        train report loss=0.25 "note=it is \"fine\"" lr=1e-4 bad=nan --step=2
        ! train report loss
        ! train report --step soon loss=1'
    expect_status 0
    expect_err "^\[0\] train: 'loss' is no NAME=VALUE"
    id=$(task_id)
    expect_equal "reports" "2 0" "$(last_attempt 'str(a["reports"]) + " " + str(a["ignored_lines"])')"
    expect_equal "the last one" "[2, 0.25, 'it is \"fine\"', 0.0001, None]" \
        "$(last_attempt '[a["last_report"][k] for k in ("step", "loss", "note", "lr", "bad")]')"
}

# Other programs of that name, and what users put on the paths, come first.
by_the_module() {
    mkdir -p mine bin
    echo 'own = True' >mine/own_module.py
    printf '#!/bin/sh\necho another train\n' >bin/train
    chmod +x bin/train
    cat >script.py <<'PYTHON'
import os, own_module, train_report
class Number:
    def item(self): return 0.125
assert own_module.own
assert not train_report.should_stop()
assert train_report.report({"loss": Number(), "worst": float("nan"), "inf": float("inf")}, step=3)
open(os.environ["TRAIN_STOP_FILE"], "w").close()
assert train_report.should_stop()
try:
    train_report.report({"text": "x" * 20000})
except ValueError as error:
    assert "longer than 16384" in str(error)
else:
    raise AssertionError("a long report was taken")
PYTHON
    environment=("PYTHONPATH=$work/here/mine" "PATH=$work/here/bin:$PATH")
    run launch -H localhost:1 -n 1 -- /bin/sh -c '/usr/bin/python3 script.py && train'
    expect_status 0
    expect_out '^\[0\] another train$'
    id=$(task_id)
    expect_equal "the last report" "[3, 0.125, None, 'Infinity']" \
        "$(last_attempt '[a["last_report"][k] for k in ("step", "loss", "worst", "inf")]')"
}

# The script knows nothing of train; those that do may report beside it.
found_in_output() {
    cat >e.yaml <<'YAML'
metrics:
  pattern: ['epoch (?P<epoch>\d+)', 'loss[:=] *(?P<loss>\S+)', 'note (?P<note>.*)']
YAML
    start launch e.yaml -n 2 -- /bin/sh -c '
        echo loading
        printf "epoch 1: 50%% loss: 7\repoch 1: loss: +.5\r\n" >&2
        echo "{\"epoch\": 2, \"loss\": 0.25}" >>"$TRAIN_METRICS_FILE"
        until [ -e go ]; do sleep 0.02; done
        printf "epoch 3 \033[1mloss=-inf\033[0m note rank $RANK\n"
        printf "epoch 4 loss=0"'
    within 20 "it runs" err_has '^train: task '
    id=$(task_id)
    # What comes in two ways comes in no order.
    within 20 "what is in the files is there" files_have_come
    touch go
    await
    expect_status 0
    expect_no_err metrics
    expect_equal "reports" "6 0" "$(last_attempt 'str(a["reports"]) + " " + str(a["ignored_lines"])')"
    expect_equal "the last of rank 0" "{'epoch': 3, 'loss': '-Infinity', 'note': 'rank 0'}" \
        "$(last_attempt 'a["last_report"]')"
    run task show "$id"
    expect_out '^metrics    6 reports; rank 0: .*"epoch":3'
}

files_have_come() {
    local rank
    for rank in 0 1; do [ "$(wc -l <"$work/state/train/tasks/$id/logs/metrics-$rank.0.log")" = 1 ] || return; done 2>/dev/null
}

# All that is wrong with them is said at once.
wrong_patterns() {
    printf 'metrics: {pattern: ["a(b", "loss (.)"], ranks: 0}\n' >e.yaml
    run launch e.yaml -- true
    expect_status 78
    expect_err "^train: e.yaml:1:21: 'a.b' is no pattern: missing \)"
    expect_err "^train: e.yaml:1:28: 'loss \(.\)' has no named group"
    expect_err "'metrics.ranks' must be "
}

outside_of_a_task() {
    run report loss=0.5
    expect_status 0
    expect_last_err 'this is no rank of a task (TRAIN_METRICS_FILE is not set): nothing is reported'
    run report
    expect_status 64
    expect_err 'there is nothing to report'
    run report loss
    expect_status 64
    expect_err "'loss' is no NAME=VALUE"
    environment=("TRAIN_METRICS_FILE=$work/nowhere/metrics")
    run report loss=1
    expect_status 76
    expect_err "cannot append to '$work/nowhere/metrics': no such file or directory"
    (cd "$here/../../launcher/rendezvous" && /usr/bin/python3 -B -c 'import train_report
assert not train_report.report({"loss": 1}) and not train_report.should_stop()') ||
        note_failure "the module does not work outside of a task"
}

test_case "reports of ranks are counted, and the last is shown" reported
test_case "ranks report with the program of that name" by_the_program
test_case "ranks report with a module of Python, which comes behind all else" by_the_module
test_case "what patterns find in the output of a script is reported" found_in_output
test_case "patterns that report nothing are refused, each with its place" wrong_patterns
test_case "outside of a task nothing is reported, and scripts go on" outside_of_a_task
test_case "reports are shown while the task runs" shown_meanwhile
test_case "lines that are no reports are said once, and counted" no_reports
test_case "every attempt has reports of its own" by_attempt
test_case "two hundred thousand reports come whole" many
finish
