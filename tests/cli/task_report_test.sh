#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `train task report`: one page about a task. tests/browser looks at it in a browser.
# task_report_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

page() { cat "train-$id.html"; }
expect_page() { page | grep -Eq -- "$1" || note_failure "no line of the page matches: $1"; }
expect_no_page() { ! page | grep -Eq -- "$1" || note_failure "a line of the page matches: $1"; }

success() {
    run launch -n 2 -- /bin/sh -c 'echo "up $RANK"; echo "{\"loss\": 0.$RANK, \"step\": 1}" >>"$TRAIN_METRICS_FILE"'
    expect_status 0
    id=$(task_id)
    run task report "${id:0:5}"
    expect_status 0
    expect_equal "words on stdout" 0 "$(wc -c <"$work/out")"
    expect_err "^train: train-$id.html: the page of task $id, [0-9]+ bytes$"
    expect_equal "who may read it" 600 "$(stat -c %a "train-$id.html")"
    expect_page '<p class="ending good">.* succeeded</span> after '
    expect_page '<code>/bin/sh -c .*up \$RANK'
    expect_page '^[0-9-]{5} [0-9:]{8} \| up 1$'
    expect_page '<h3>loss</h3>'
    expect_page '<title>rank 0: succeeded</title>'
    expect_no_page '<title>rank 1: succeeded</title>'
    for section in time placement metrics ranks logs environment; do expect_page "<section id=\"$section\""; done
    expect_page '<li><code>WORLD_SIZE</code></li>'
    for section in trials experiment; do expect_no_page "<section id=\"$section\""; done
    expect_no_page '<h2>Next</h2>'
}

failure() {
    cat >e.yaml <<'YAML'
name: "<digits> & co"
entrypoint: "echo \"line of $RANK\"; printf '\\033[31mred\\033[0m </pre></script><b>\\n' >&2; test $RANK = 0 || exit 3; exec sleep 4711"
resources: {slots_per_trial: 2}
max_restarts: 1
restart_delay: 0s
YAML
    run launch e.yaml
    expect_status 3
    id=$(task_id)
    run task report "$id"
    expect_status 0
    expect_page '<h1>&lt;digits&gt; &amp; co <span'
    expect_page "failed</span> after .*: rank 1 on 'localhost' exited with code 3 \(exit 3\)"
    expect_page 'Last lines of standard error of rank 1 on localhost'
    expect_page "^.x1b\[31mred.x1b\[0m &lt;/pre&gt;&lt;/script&gt;&lt;b&gt;$"
    expect_page "<li><code>train task logs $id --rank 1 --tail 50</code></li>"
    expect_page '<b>attempt 1</b> rank 1 on '
    expect_page '<details class="log" id="log-1" data-rank="1" open>'
    expect_page '<section id="experiment"'
    expect_page '^max_restarts: 1$'
    expect_equal "scripts" 1 "$(page | grep -c '<script>')"
    expect_gone
}

# Both ranks fail, the second one first.
first_failure() {
    run launch -n 2 -- /bin/sh -c 'trap "exit 7" TERM; echo "I am $RANK" >&2; test $RANK = 1 && exit 3; while :; do sleep 0.1; done'
    id=$(task_id)
    run task report "$id"
    expect_page 'Last lines of standard error of rank 1 on localhost'
    expect_page '^I am 1$'
    expect_no_page '^I am 0$'
}

# Only what the page has room for, of a rank that has not failed.
long_logs() {
    # Rank 1 fails once rank 0 has printed all: its failure stops the other.
    run launch -n 2 -- /bin/sh -c 'i=0; while [ $i -lt 20000 ]; do echo "line $i of $RANK"; i=$((i + 1)); done
        touch "printed.$RANK"; until [ -e printed.0 ]; do sleep 0.05; done; exit $RANK'
    expect_status 1
    id=$(task_id)
    run task report "$id"
    expect_page "^<p class=\"note\">The first [0-9]+ bytes are left out; all: <code>train task logs $id --rank 0</code>"
    expect_page '\| line 19999 of 0$'
    expect_no_page '\| line 0 of 0$'
    expect_page '\| line 0 of 1$'
}

search() {
    cat >search.yaml <<'YAML'
entrypoint: ["/bin/sh", "-c", "echo \"trial $TRAIN_TRIAL_ID\"; for step in 1 2 3; do echo \"{\\\"loss\\\": 0.$TRAIN_TRIAL_SEED, \\\"speed\\\": $step, \\\"batches\\\": $step}\"; done >>$TRAIN_METRICS_FILE; test $TRAIN_TRIAL_ID != 2 || exit 9"]
hyperparameters: {lr: {type: log, base: 10, minval: -4, maxval: -1}}
searcher: {name: random, metric: loss, max_trials: 6, max_concurrent_trials: 2}
resources: {slots_per_trial: 1}
max_restarts: 0
YAML
    run launch -H localhost:2 search.yaml
    expect_status 0
    id=$(task_id)
    run task report "$id"
    expect_status 0
    expect_page '<section id="trials"'
    expect_equal "rows of trials" 6 "$(page | sed -n '/<section id="trials"/,/<.section>/p' | grep -c '^<tr><th scope="row"')"
    expect_page '<th scope="col" class="number">best loss</th>'
    expect_page '<th scope="col">lr</th>'
    expect_page '<title>trial 2: failed, '
    expect_equal "bars that show their start" 6 "$(page | grep -o '<rect class="lead"' | wc -l)"
    expect_page '<a href="#log-3-0">log</a>'
    expect_page '<details class="log" id="log-3-0" data-rank="0" data-trial="3">'
    expect_page '\| trial 3$'
    expect_page '<h3>loss</h3>'
    expect_page '<h3>speed</h3>'
    expect_equal "the log that comes first" 'id="log-2-0"' "$(page | grep -o 'id="log-[0-9]*-0"' | head -n 1)"
}

is_logged() { with_environment "$train" task logs "$id" | grep -q "$1"; }

meanwhile() {
    start launch -n 1 -- /bin/sh -c 'echo up; exec sleep 4711'
    within 30 "the rank is up" out_count_is 1 up
    id=$(task_id)
    eventually 60 is_logged up
    with_environment "$train" task report "$id" -o - >"train-$id.html" 2>"$work/err.report"
    expect_equal "its status" 0 $?
    expect_page '<p class="ending unfinished">'
    expect_page '\| up$'
    kill -INT "$launcher"
    await
    expect_gone
}

# It runs until there is a sample of what it uses.
usage() {
    run launch -n 2 -- /bin/sh -c 'until [ -s "$XDG_STATE_HOME"/train/tasks/*/usage.jsonl ]; do sleep 0.1; done'
    expect_status 0
    id=$(task_id)
    local folder=$work/state/train/tasks/$id
    expect_equal "who may read the samples" 600 "$(stat -c %a "$folder/usage.jsonl")"
    expect_equal "starts" 1 "$(wc -l <"$folder/starts.jsonl")"
    run task report "$id"
    expect_page '<section id="usage"'
    expect_page '<h3>memory, [MG]iB</h3>'
    expect_page '<section id="start"'
    expect_page 'Start of attempt 0 on each host'
    expect_page '<title>.*starting the agent, [0-9.]+s'
    # Of a task of an earlier version, or with files that nobody can read.
    rm "$folder/usage.jsonl"
    echo rubbish >"$folder/starts.jsonl"
    run task report "$id"
    expect_status 0
    for section in usage start; do expect_no_page "<section id=\"$section\""; done
}

targets() {
    run launch -n 1 -- true
    id=$(task_id)
    echo old >there.html
    chmod 644 there.html
    run task report "$id" --output there.html
    expect_status 0
    expect_equal "first line" '<!DOCTYPE html>' "$(head -n 1 there.html)"
    expect_equal "its mode" 644 "$(stat -c %a there.html)"
    run task report "$id" -o nowhere/x.html
    expect_status 66
    expect_err nowhere/x.html
    run task report "$id" -o ''
    expect_status 64
    run task report zzzzzzzz
    expect_status 66
    run task report "$id" -o -
    expect_out '^</html>$'
    expect_no_err .
    expect_equal "files here" there.html "$(ls)"
}

test_case "the page of a task that has succeeded has its metrics, ranks and logs" success
test_case "the page of a task that has failed says which rank, why, and what to do" failure
test_case "the rank that has failed first is the one whose last words are on top" first_failure
test_case "of long logs the end is on the page, and all of the rank that has failed" long_logs
test_case "the page of a search has its trials, metrics and their logs" search
test_case "the page of a task that runs says so" meanwhile
test_case "the page has what ranks used over time, and how each host started" usage
test_case "a page goes to the file that is named, or to standard output" targets
finish
