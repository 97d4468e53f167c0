#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Experiments of Determined and Ray Tune run on this machine, with a script that only reports in place
# of theirs.   accepted_test.sh path/to/train
#
# TRAIN_TEST_EXPERIMENTS=DIR takes all *.yaml below DIR that name a metric, in place of tests/accepted.
# shellcheck disable=SC2016 # the script that reports is in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

# What a file says of its reports: the metric, the key that counts time, how far it goes, and how many
# trials it has at most. Nothing where it names no metric, or where a program of its own is to search.
reports_of() { # FILE
    with_environment "$train" config show --json "$1" 2>"$work/err" | /usr/bin/python3 -c '
import json, sys
shown = json.load(sys.stdin)
searcher = dict(shown.get("searcher") or {})
tune = {**shown, **(shown.get("tune_config") or {})}
metric = searcher.get("metric") or tune.get("metric")
length = searcher.get("max_length")
unit, length = next(iter(length.items())) if isinstance(length, dict) else ("step", length)
scheduler = tune.get("scheduler") or {}
time = searcher.get("time_metric") or scheduler.get("time_attr") or unit
if metric and searcher.get("name") != "custom":
    print(metric, time, searcher.get("max_time") or length or scheduler.get("max_t") or 100,
          searcher.get("max_trials") or 0)'
}

# Four reports of a metric that only depends on the trial, at ever later steps, up to the whole length.
reporting='metric=$1 time=$2 length=$3
    for part in 1 4 16 64; do
        step=$((length * part / 64))
        echo "{\"$metric\": 0.$((TRAIN_TRIAL_SEED % 900 + 100)), \"$time\": $step}" >>"$TRAIN_METRICS_FILE"
        [ ! -e "$TRAIN_STOP_FILE" ] || exit 0
    done'

# Of what would take hundreds of trials 20 are enough.
most_trials=50
fewer_trials=20

# On slots that have no meaning where that is enough, else on GPUs that are not there.
take_hosts() { # FILE
    local fake
    fake=$(dirname "$train")/../tests/fake_nvml
    echo 'hosts: [{name: localhost, slots: 64}]' >hosts.yaml
    run plan --hostfile hosts.yaml "$1" -- true
    [ "$status" = 0 ] && return
    [ -e "$fake/libnvidia-ml.so.1" ] || { skip "there is no $fake"; return 1; }
    environment=("LD_LIBRARY_PATH=$fake" "FAKE_NVML_GPUS=NVIDIA H100 80GB HBM3:8")
    echo 'hosts: [{name: localhost, resources: {GPU: 8, CPU: 64}}]' >hosts.yaml
}

runs() { # FILE METRIC TIME LENGTH TRIALS
    local file=$1 metric=$2 time=$3 length=$4 trials=$5 settings=()
    echo "$reporting" >report.sh
    take_hosts "$file" || return
    [ "$trials" -le "$most_trials" ] || settings+=(--set "searcher.max_trials=$fewer_trials")
    settings+=(--set "entrypoint=[/bin/sh, $PWD/report.sh, $metric, $time, '$length']")
    run launch --hostfile hosts.yaml --set leases=none "${settings[@]}" "$file"
    expect_status 0
    id=$(task_id)
    run task show "$id" --json
    if [ "$(field 'd.get("search") is not None' "$work/out")" = True ]; then
        run task best "$id"
        expect_out "^$metric: 0\\.[0-9]"
    else
        expect_equal "the last step of its one trial" "$length" \
            "$(field "d['attempts'][-1]['last_report']['$time']" "$work/out")"
    fi
    expect_status 0
}

while read -r file; do
    work=$all_work
    read -r metric time length trials < <(reports_of "$file") || continue
    test_case "${file##*/accepted/} runs, and what it reports counts" runs "$file" "$metric" "$time" \
        "$length" "$trials"
done < <(find "${TRAIN_TEST_EXPERIMENTS:-$root/tests/accepted}" -name '*.yaml' | sort)
finish
