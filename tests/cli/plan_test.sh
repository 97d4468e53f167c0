#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A plan is what a launch runs, and making one touches nothing.   plan_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

secret=open-sesame-4711

write_experiment() {
    cat >experiment.yaml <<'YAML'
name: "plan & launch"
entrypoint: ["/bin/sh", "-c", "env -0 >\"$OUT/env.$RANK\"; tr '\\0' '\\n' </proc/self/cmdline >\"$OUT/argv.$RANK\"; sleep 0.2"]
hyperparameters:
  global_batch_size: 7
  learning_rate: 0.1
  text: "I am 6' tall, \"quoted\", $HOME and ünïcode"
  layers: {count: 3}
data: {path: /data, shards: [1, 2]}
environment:
  environment_variables:
    PLAIN: "two\nlines and a = sign"
    EMPTY: ""
    SPACED: "  kept  "
    API_KEY: null
scaling_config:
  num_workers: 3
  resources_per_worker: {CPU: 0.25}
YAML
}

# plan_as_launched ARGUMENT...: a plan and a launch of the same request.
plan_and_launch() {
    environment=("API_KEY=$secret" "OUT=$work/here" PMI_RANK=7 SLURM_JOB_ID=12 MY_SESSION=kept)
    output=$work/plan.json run plan --json "$@"
    expect_status 0
    expect_schema plan "$work/plan.json"
    run launch "$@"
    expect_status 0
}

environment_is_as_planned() {
    write_experiment
    plan_and_launch experiment.yaml -H localhost:3
    local trouble
    trouble=$(/usr/bin/python3 "$here/compare_environment.py" "$work/plan.json" "$work/here" \
        "$(task_id)" "API_KEY=$secret" "${environment[@]}" PATH HOME USER LANG XDG_STATE_HOME \
        TRAIN_HOST_DIRECTORY 2>&1) || note_failure "$trouble"
}

environment_of_defaults() {
    plan_and_launch -H localhost:2 -n 2 -- /bin/sh -c 'env -0 >"$OUT/env.$RANK"'
    local trouble
    trouble=$(/usr/bin/python3 "$here/compare_environment.py" "$work/plan.json" "$work/here" \
        "$(task_id)" "${environment[@]}" PATH HOME USER LANG XDG_STATE_HOME \
        TRAIN_HOST_DIRECTORY 2>&1) || note_failure "$trouble"
}

shell_environment_is_the_same() {
    write_experiment
    environment=("API_KEY=$secret" "OUT=$work/here")
    run plan experiment.yaml --format env
    expect_status 0
    output=$work/plan.json run plan experiment.yaml --json
    run plan experiment.yaml --format env
    local name
    for name in PLAIN EMPTY SPACED TRAIN_HPARAMS TRAIN_BATCH_SIZE RANK; do
        # The last block counts: that of the last rank.
        expect_equal "$name" "$(field "d['trials'][0]['ranks'][-1]['env']['$name']" "$work/plan.json")" \
            "$(env -i bash -c '. "$1"; printf "%s\n" "${!2}"' - "$work/out" "$name")"
    done
    expect_out '^# API_KEY is set, and not shown$'
}

# Where the secret is written below a folder, or in what a process shows to everybody.
secrets_stay_secret() {
    write_experiment
    sed -i 's/sleep 0.2/echo up; sleep 3/' experiment.yaml
    environment=("API_KEY=$secret" "OUT=$work/here")
    start launch experiment.yaml -H localhost:3
    within 30 "all ranks are up" out_count_is 3 up
    local id
    id=$(task_id)
    # The pattern is kept off this command's own line.
    ps -eo args >"$work/processes"
    with_environment "$train" task show "$id" --json >"$work/shown"
    with_environment "$train" task show "$id" >"$work/text"
    with_environment "$train" plan experiment.yaml -H localhost:3 >"$work/table"
    with_environment "$train" plan experiment.yaml -H localhost:3 --json >"$work/json"
    with_environment "$train" plan experiment.yaml -H localhost:3 --format env >"$work/env"
    await 30
    expect_status 0
    mv env.* argv.* "$work/home" # the ranks have it, of course
    local found
    found=$(grep -rlaF "$secret" "$work/here" "$work/state" "$work/out" "$work/err" "$work/processes" \
        "$work/shown" "$work/text" "$work/table" "$work/json" "$work/env")
    expect_equal "files with the secret" "" "$found"
    grep -qaF "$secret" "$work/home/env.2" || note_failure "rank 2 did not get the secret"
    expect_equal "mentions in the plan" 3 "$(grep -c '"API_KEY"' "$work/json")"
}

secret_that_is_not_set() {
    write_experiment
    run launch experiment.yaml
    expect_status 78
    expect_err "^train: experiment.yaml:14:5: API_KEY is to be taken from the launcher's environment, where it is not set"
    expect_last_err 'failed: config (exit 78)'
    run plan experiment.yaml
    expect_status 78
}

same_placement() {
    plan_and_launch -H localhost:2,127.0.0.1:2 -n 4 --batch 12 -- \
        /bin/sh -c 'echo "$RANK $LOCAL_RANK $NODE_RANK $TRAIN_BATCH_SIZE"'
    expect_equal "ranks" "$(field '"\n".join("[%(rank)s] %(rank)s %(local_rank)s %(node_rank)s %(batch_size)s" % r for r in d["trials"][0]["ranks"])' "$work/plan.json")" \
        "$(sort "$work/out")"
    with_environment "$train" task show "$(task_id)" --json >"$work/shown"
    expect_equal "recorded plan" "$(field 'd' "$work/plan.json")" "$(field 'd["plan"]' "$work/shown")"
}

plan_is_stable() {
    write_experiment
    environment=("API_KEY=$secret")
    run plan experiment.yaml -H 'node[01-64]:8' -n 512 --batch 4096 --json
    expect_status 0
    cp "$work/out" "$work/first"
    run plan experiment.yaml -H 'node[01-64]:8' -n 512 --batch 4096 --json
    expect_same "the second plan" "$work/first" "$work/out"
    expect_schema plan "$work/out"
}

plan_for_people() {
    run plan -H 'node[01-02]:2' -n 4 --batch 12 -- true
    expect_status 0
    expect_out '^true: 4 ranks on 2 hosts, 4 slots, global batch 12$'
    expect_out '^3 +node02 +1 +1 +3$'
    expect_equal "lines without the warning" "" "$(grep -v '^train: warning: ' "$work/err")"
}

touches_nothing() {
    write_experiment
    environment=("API_KEY=$secret")
    run plan experiment.yaml -H 'nowhere[01-04].invalid:8'
    expect_status 0
    [ ! -e "$work/state" ] || note_failure "there is a state directory"
    [ ! -e "$work/host" ] || note_failure "there is a host directory"
    expect_equal "files" experiment.yaml "$(ls -A)"
    expect_equal "files at home" "" "$(ls -A "$work/home")"
}

refusals_are_documents() {
    run plan -H localhost:2 -n 3 --json -- true
    expect_status 69
    expect_schema plan "$work/out"
    expect_equal "kind" never "$(field 'd["refused"]["kind"]' "$work/out")"
    expect_equal "nearest" '[2]' "$(field 'd["refused"]["nearest"]' "$work/out")"
    expect_err '3 slots asked'
    expect_last_err 'failed: never (exit 69)'
}

from_standard_input() {
    write_experiment
    environment=("API_KEY=$secret")
    run plan experiment.yaml
    cp "$work/out" "$work/first"
    input=experiment.yaml run plan -
    expect_status 0
    expect_same "the plan" "$work/first" "$work/out"
}

test_case "the ranks get the environment of the plan, byte for byte, and nothing else" environment_is_as_planned
test_case "the environment of a bare command is as planned" environment_of_defaults
test_case "--format env is read by a shell as --json says it" shell_environment_is_the_same
test_case "a secret appears nowhere but in the environment of the ranks" secrets_stay_secret
test_case "a secret that is not set is refused" secret_that_is_not_set
test_case "ranks are where the plan says, and the task records the plan" same_placement
test_case "the same request gives the same bytes" plan_is_stable
test_case "a plan is readable" plan_for_people
test_case "a plan touches no file and no host" touches_nothing
test_case "a refusal is a document of its own, with exit code 69" refusals_are_documents
test_case "an experiment is read from standard input" from_standard_input
finish
