#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the ranks of each framework are given, seen by real ranks.   frameworks_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

# launch_as FRAMEWORK ARGUMENT...
launch_as() {
    local framework=$1
    shift
    run launch --set framework="$framework" "$@"
}

tensorflow_workers_meet() {
    launch_as tensorflow -H localhost:4 -n 4 -- /usr/bin/python3 "$here/tensorflow_worker.py"
    expect_status 0
    expect_equal "workers that met all" \
        "$(for i in 0 1 2 3; do echo "[$i] worker $i of 4 has met all"; done)" "$(sort "$work/out")"
}

tensorflow_workers_of_two_hosts() {
    launch_as tensorflow -H localhost:3,127.0.0.1:2 -n 5 --set resources.placement=pack -- \
        /usr/bin/python3 "$here/tensorflow_worker.py"
    expect_status 0
    expect_equal "workers that met all" 5 "$(grep -c 'of 5 has met all' "$work/out")"
}

tensorflow_per_host() {
    launch_as tensorflow -H localhost:3 -n 3 --set processes=per_host -- \
        /usr/bin/python3 "$here/tensorflow_worker.py"
    expect_status 0
    expect_out '^\[0\] worker 0 of 1 has met all$'
}

tensorflow_gets_nothing_of_torch() {
    launch_as tensorflow -n 1 -- /bin/sh -c 'env'
    expect_status 0
    expect_no_out '^\[0\] (MASTER_|RANK=|TORCH|JAX_|HOROVOD_|OMPI_)'
    run plan --set framework=tensorflow -n 1 --json -- true
    expect_schema plan "$work/out"
    expect_equal "TF_CONFIG in the plan" "{'at_launch': 'tensorflow_cluster'}" \
        "$(field "d['trials'][0]['ranks'][0]['env']['TF_CONFIG']" "$work/out")"
}

tensorflow_of_too_many() {
    echo 'localhost slots=9000' >hosts
    launch_as tensorflow --hostfile hosts -n 9000 -- touch started
    expect_status 78
    expect_err 'the TF_CONFIG of each of 9000 workers has at least [0-9]+ bytes'
    expect_last_err 'failed: config (exit 78)'
    [ ! -e started ] || note_failure "a rank was started"
}

deepspeed_ranks() {
    launch_as deepspeed -H localhost:2,127.0.0.1:1 -n 3 --set resources.placement=pack -- \
        /bin/sh -c 'echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_SIZE $CROSS_RANK/$CROSS_SIZE $MASTER_ADDR ${MASTER_PORT:+port}"'
    expect_status 0
    expect_equal "places" "[0] 0/3 0/2 0/2 127.0.0.1 port
[1] 1/3 1/2 0/2 127.0.0.1 port
[2] 2/3 0/1 1/2 127.0.0.1 port" "$(sort "$work/out")"
}

frameworks_with_servers() {
    local framework
    for framework in horovod mpi; do
        launch_as "$framework" -n 1 -- touch started
        expect_status 78
        expect_err "'framework: $framework' is not there yet: its ranks meet at"
        expect_last_err 'failed: config (exit 78)'
        run plan --set framework="$framework" -n 1 --json -- true
        expect_status 0
        expect_schema plan "$work/out"
    done
    [ ! -e started ] || note_failure "a rank was started"
}

# long_json KEY BYTES: an experiment with so much under KEY.
long_json() {
    printf 'entrypoint: ["/bin/sh", "-c", "%s"]\n%s: {text: "%s"}\n' \
        'stat -c %a%s ${TRAIN_HPARAMS_FILE-} ${TRAIN_DATA_FILE-}; cat ${TRAIN_HPARAMS_FILE-} ${TRAIN_DATA_FILE-} >got; env >environment' \
        "$1" "$(head -c "$2" /dev/zero | tr '\0' x)" >experiment.yaml
}

long_json_is_in_a_file() {
    local key=$1 variable=$2
    long_json "$key" 300000
    run launch experiment.yaml
    expect_status 0
    expect_out '^\[0\] 600[0-9]{6}$'
    expect_equal "bytes of text" 300000 "$(field "len(d['text'])" got)"
    grep -q "^${variable}_FILE=/.*\.json$" environment || note_failure "${variable}_FILE is not set"
    ! grep -q "^$variable=" environment || note_failure "$variable is set"
}

short_json_is_in_a_variable() {
    printf 'entrypoint: env\ndata: {a: 1}\nhyperparameters: {b: 2}\n' >experiment.yaml
    run launch experiment.yaml
    expect_out '^\[0\] TRAIN_DATA=\{"a": 1\}$'
    expect_out '^\[0\] TRAIN_HPARAMS=\{"b": 2\}$'
    expect_no_out 'TRAIN_(DATA|HPARAMS)_FILE'
}

variable_too_long() {
    printf 'entrypoint: [touch, started]\nenvironment:\n  variables:\n    LONG: "%s"\n' \
        "$(head -c 131072 /dev/zero | tr '\0' x)" >experiment.yaml
    run launch experiment.yaml
    expect_status 78
    expect_err '^train: experiment.yaml:4:[0-9]+: variable LONG has 131077 bytes, with its name; Linux takes 131071$'
    [ ! -e started ] || note_failure "a rank was started"
    run plan experiment.yaml
    expect_status 0
    expect_out 'launch refuses this: variable LONG has 131077 bytes'
}

session_wins_over_defaults() {
    environment=(OMP_NUM_THREADS=3 PYTHONUNBUFFERED= TORCH_NCCL_ASYNC_ERROR_HANDLING=0)
    run launch -H localhost:2 -n 2 -- \
        /bin/sh -c 'echo "$OMP_NUM_THREADS,$PYTHONUNBUFFERED,$PYTHONFAULTHANDLER,$TORCH_NCCL_ASYNC_ERROR_HANDLING"'
    expect_out '^\[1\] 3,,1,0$'
    run launch -H localhost:2 -n 2 --set environment.variables.OMP_NUM_THREADS=5 -- \
        /bin/sh -c 'echo "$OMP_NUM_THREADS"'
    expect_out '^\[1\] 5$'
    environment=()
    run launch -H localhost:2 -n 2 -- \
        /bin/sh -c 'echo "$OMP_NUM_THREADS,$PYTHONUNBUFFERED,$PYTHONFAULTHANDLER,$TORCH_NCCL_ASYNC_ERROR_HANDLING"'
    expect_out '^\[1\] 1,1,1,1$'
}

test_case "TensorFlow's workers meet, each on a port of its own" tensorflow_workers_meet
test_case "TensorFlow's workers of two hosts meet" tensorflow_workers_of_two_hosts
test_case "one process per host is one TensorFlow worker" tensorflow_per_host
test_case "a TensorFlow rank gets nothing of other frameworks" tensorflow_gets_nothing_of_torch
test_case "a TF_CONFIG that no kernel takes is refused" tensorflow_of_too_many
test_case "DeepSpeed's ranks get torch's variables and its own" deepspeed_ranks
test_case "frameworks that need a server are planned, and refused by launch" frameworks_with_servers
test_case "long hyperparameters are in a file for the user alone" long_json_is_in_a_file hyperparameters TRAIN_HPARAMS
test_case "long data are in a file for the user alone" long_json_is_in_a_file data TRAIN_DATA
test_case "short JSON is in variables" short_json_is_in_a_variable
test_case "a variable that no kernel takes is refused with its place" variable_too_long
test_case "the session wins over defaults, the experiment over the session" session_wins_over_defaults
finish
