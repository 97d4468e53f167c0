#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a user sets for all commands, in ~/.config/train/config.yaml.   user_config_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

# user_file: standard input is the file of the user.
user_file() {
    mkdir -p "$work/home/.config/train"
    file=$work/home/.config/train/config.yaml
    cat >"$file"
}

defaults_are_below_the_experiment() {
    user_file <<'YAML'
# comments, and keys of my own
x-own: {a: 1}
defaults:
  framework: jax
  stop_grace: 20s
  resources:
    slots_per_trial: 2
    placement: spread
  environment:
    variables: {WHO: me, WHAT: default}
  hyperparameters: {lr: {type: log, minval: -3, maxval: -1, base: 10}}

flags: {}
YAML
    printf 'name: mine\nentrypoint: "true"\nstop_grace: 5s\nslots_per_trial: 3\nenvironment: {variables: {WHAT: file}}\nhyperparameters: {lr: 0.1}\n' >experiment.yaml
    run config show experiment.yaml --origin
    expect_status 0
    expect_out "^framework: jax +# $file:4$"
    expect_out '^stop_grace: 5s +# experiment.yaml:3$'
    expect_out "^  placement: spread +# $file:8$"
    expect_out '^slots_per_trial: 3 +# experiment.yaml:4$'
    expect_out "^    WHO: me +# $file:10$"
    expect_out '^    WHAT: file +# experiment.yaml:5$'
    expect_out '^  lr: 0.1 +# experiment.yaml:6$'
    expect_out '^max_restarts: 0 +# default$'
    expect_no_out 'minval|slots_per_trial: 2 '
    run config show experiment.yaml --origin --set framework=none
    expect_out '^framework: none +# --set$'
    printf 'entrypoint: "true"\nframework: null\n' >experiment.yaml
    run config show experiment.yaml --origin
    expect_out '^framework: torch +# default$'
    expect_out "^  slots_per_trial: 2 +# $file:7$"
    run plan --json -- true
    expect_status 0
    expect_equal "ranks of a command" 2 "$(field 'len(d["trials"][0]["ranks"])' "$work/out")"
}

kinds_of_sections_are_not_mixed() {
    user_file <<<'defaults: {checkpoint_storage: {type: shared_fs, host_path: /ckpt, storage_path: mine}}'
    printf 'entrypoint: "true"\ncheckpoint_storage: {type: directory, container_path: /other}\n' >experiment.yaml
    run config show experiment.yaml
    expect_status 0
    expect_out 'container_path: /other'
    expect_no_out 'ckpt|mine'
}

flags_are_as_if_they_were_typed() {
    printf 'a:2\n' >"$work/home/hosts"
    user_file <<'YAML'
flags:
  hostfile: ~/hosts
  progress: plain
  plan: {format: hostfile}
  task list: {all: true}
YAML
    run plan -n 1 -- true
    expect_status 0
    expect_out '^a slots=1'
    run plan -n 1 -H b:4 -- true
    expect_out '^b slots=1'
    printf 'c:3\n' >hosts
    environment=("TRAIN_HOSTFILE=hosts")
    run plan -n 1 -- true
    expect_out '^c slots=1'
    run plan -n 1 --format env -- true
    expect_out 'WORLD_SIZE'
    run plan -n 1 --json -- true
    expect_equal "with --json" 1 "$(field 'len(d["trials"][0]["ranks"])' "$work/out")"
    environment=()
    run launch -H localhost -n 1 -- true
    expect_status 0
    run task list -H localhost
    expect_out ' succeeded '
}

# faulty REGEX...: standard input is the file; each command says what is wrong, with its place.
faulty() {
    local regex
    user_file
    run plan -n 1 -- true
    expect_status 78
    for regex; do expect_err "$regex"; done
    expect_equal "stdout" "" "$(cat "$work/out")"
    run doctor
    expect_status 1
    expect_out "^wrong +config_file +$file:[0-9]+: "
}

faults_have_their_places() {
    faulty ":1:1: unknown key 'default'" "did you mean 'defaults'\?" <<<'default: {}'
    faulty ":2:3: unknown key 'framewrok'" "did you mean 'framework'\?" <<<$'defaults:\n  framewrok: jax'
    faulty ":1:23: 'framework' must be" <<<'defaults: {framework: 7}'
    faulty ":2:3: no command of train has an option '--progres'" "did you mean 'progress'\?" <<<$'flags:\n  progres: plain'
    faulty ":1:9: train has no command 'lanch'" "did you mean 'launch'\?" <<<'flags: {lanch: {progress: plain}}'
    faulty ":1:16: 'train plan' has no option '--fromat'" "did you mean 'format'\?" <<<'flags: {plan: {fromat: json}}'
    faulty ":2:14: --transport: 'shh' is none of auto, ssh and openssh" "see 'train .* --help'" <<<$'flags:\n  transport: shh'
    faulty ":1:23: --batch: 'many' is not a whole number" <<<'flags: {plan: {batch: many}}'
    faulty ":1:8: 'flags' must be a mapping, not a list" <<<'flags: [progress]'
    faulty ":1:2: 'defaults' is not at the beginning of a line" <<<'{defaults: {framework: jax}}'
}

a_file_of_others_is_not_read() {
    user_file <<<'defaults: {framework: jax}'
    chmod 666 "$file"
    run plan -n 1 -- true
    expect_status 78
    expect_err "others can write '$file' \(mode 0666\), so it is not read"
    expect_err "chmod go-w $file"
    # What ranks call does not read it, and help is always there.
    run once-per-host -- true
    expect_status 0
    run plan --help
    expect_status 0
    chmod 600 "$file"
    run doctor
    expect_out "^ok +config_file +'$file' is read, and right$"
    mkdir -p elsewhere/train
    echo 'defaults: {framework: none}' >elsewhere/train/config.yaml
    environment=("XDG_CONFIG_HOME=$PWD/elsewhere")
    echo 'entrypoint: "true"' >experiment.yaml
    run config show experiment.yaml
    expect_out '^framework: none$'
    environment=("XDG_CONFIG_HOME=$PWD/nothing")
    run doctor
    expect_out "^ok +config_file +there is no '$PWD/nothing/train/config.yaml'"
}

a_launch_can_be_repeated() {
    user_file <<<$'defaults:\n  environment: {variables: {WHO: first}}\n  checkpoint_storage: {type: s3, bucket: b, secret_key: hidden-word}'
    printf 'name: mine\nentrypoint: echo "it was $WHO"\n' >experiment.yaml
    run launch experiment.yaml
    expect_status 0
    expect_out '^\[0\] it was first$|^it was first$'
    id=$(task_id)
    ! grep -rq hidden-word "$work/state" || note_failure "the record has a secret"
    run task rerun "$id"
    expect_status 0
    expect_out 'it was first$'
    user_file <<<$'defaults:\n  environment: {variables: {WHO: second}}'
    run launch experiment.yaml
    expect_out 'it was second$'
    run task rerun "$id"
    expect_status 66
    expect_err "secrets of '$file' are not kept, and its defaults have changed since"
    id=$(task_id)
    user_file <<<'flags: {}'
    run task rerun "$id"
    expect_status 0
    expect_out 'it was second$'
    run launch experiment.yaml
    expect_out 'it was $'
}

test_case "defaults of a user are below the experiment, with their origins" defaults_are_below_the_experiment
test_case "sections of different kinds are not mixed" kinds_of_sections_are_not_mixed
test_case "flags of a user are as if they were typed, and less than what is typed" flags_are_as_if_they_were_typed
test_case "faults of the user's file have their places" faults_have_their_places
test_case "a file that others can write is not read" a_file_of_others_is_not_read
test_case "a launch is repeated with the defaults that it had" a_launch_can_be_repeated
finish
