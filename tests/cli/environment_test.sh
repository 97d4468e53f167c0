#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Variables and secrets from the command line.   environment_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

# Prints those variables that a rank has.
printed='echo "A=$A B=$B C=$C D=$D"'

experiment_with() { printf 'slots_per_trial: 1\n%s\nentrypoint: [/bin/sh, -c, %s]\n' "$1" "'$printed'" >experiment.yaml; }

the_last_one_counts() {
    experiment_with 'environment: {variables: {A: file, B: file, C: file, D: file}}'
    printf '# comment\n\nB=variables\r\n  export C="quoted $HOME"  \nD=variables\n' >variables
    environment=(D=launcher)
    run launch experiment.yaml --env-file variables -e D
    expect_status 0
    expect_out '^\[0\] A=file B=variables C=quoted \$HOME D=launcher$'
    run launch experiment.yaml --env-file variables --env D=1 --env D= --env 'A= a=b '
    expect_out '^\[0\] A= a=b  B=variables C=quoted \$HOME D=$'
}

# What a file or the launcher gives is shown nowhere; what was typed is.
secrets_stay_out_of_sight() {
    local shown
    experiment_with 'secrets: [A]'
    printf 's3cret-file\n' >token
    printf 'C=s3cret-variables\n' >variables
    environment=(A=s3cret-launcher)
    for shown in --json '--format env' ''; do
        # shellcheck disable=SC2086 # several words
        run plan experiment.yaml --secret B=@token --env-file variables -e D=typed $shown
        expect_status 0
        ! grep -q s3cret "$work/out" "$work/err" || note_failure "plan $shown shows: $(grep s3cret "$work/out" "$work/err")"
    done
    run plan experiment.yaml --secret B=@token --env-file variables -e D=typed --json
    expect_out '"D": ?"typed"'
    printf 's3cret-launchers3cret-files3cret-variables' >expected
    run launch -n 1 --secret A --secret B=@token --env-file variables -- /bin/sh -c '[ "$A$B$C" = "$(cat expected)" ]'
    expect_status 0
    expect_equal "files with a secret after the end" "" "$(grep -rl s3cret "$work/state" "$work/host" 2>/dev/null)"
    run task show --json "$(task_id)"
    ! grep -q s3cret "$work/out" || note_failure "task show has it: $(cat "$work/out")"
}

# While it runs, its request is kept for a launcher that takes over: for this user alone.
secrets_are_for_this_user_alone() {
    printf 's3cret\n' >token
    start launch -n 1 --secret B=@token -- /bin/sh -c "touch $work/runs; while [ ! -e $work/go ]; do sleep 0.1; done"
    eventually 60 test -e "$work/runs"
    ! grep -lz s3cret /proc/[0-9]*/cmdline 2>/dev/null || note_failure "a command line has it"
    expect_equal "files that others can read" "" "$(find "$work/state" -type f -perm /077 -exec grep -l s3cret {} +)"
    touch "$work/go"
    await
    expect_status 0
}

values_on_the_command_line_are_refused() {
    run launch -n 1 --secret B=s3cret -- true
    expect_status 64
    expect_err 'seen by all users'
    expect_err 'secret B=@FILE'
    ! err_has s3cret || note_failure "it is printed"
    run launch -n 1 --secret =@file -- true
    expect_status 64
    run launch -n 1 -e =x -- true
    expect_status 64
    expect_err "write --env NAME=VALUE"
    run launch -n 1 --secret B -- true
    expect_status 78
    expect_err 'B is to be taken from'
    expect_err 'secret B=@FILE'
    experiment_with 'secrets: [A=s3cret]'
    run plan experiment.yaml
    expect_status 78
    expect_err "experiment.yaml:2.*names of variables, and here is a value"
}

faults_of_files() {
    run launch -n 1 --env-file missing -- true
    expect_status 66
    expect_err "variables file 'missing'"
    printf 'A=1\nsome s3cret words\n=x\nB 2=1\n' >variables
    run launch -n 1 --env-file variables -- true
    expect_status 78
    expect_err 'variables:2:'
    expect_err 'variables:3:'
    expect_err 'variables:4:'
    ! err_has s3cret || note_failure "the line is printed"
    printf 'x\0y' >binary
    run launch -n 1 --secret A=@binary -- true
    expect_status 78
    expect_err 'zero byte'
    head -c 200000 /dev/zero | tr '\0' x >long
    run launch -n 1 --secret A=@long -- true
    expect_status 78
    expect_err 'variable A has 200002 bytes'
}

reruns_read_them_again() {
    printf 'old\n' >token
    printf 'C=old\n' >variables
    run launch -n 1 --secret B=@token --env-file variables -e A=typed -- /bin/sh -c "$printed"
    expect_out '^\[0\] A=typed B=old C=old D=$'
    printf 'new\n' >token
    run task rerun "$(task_id)"
    expect_status 0
    expect_out '^\[0\] A=typed B=new C=old D=$'
    rm token
    run task rerun "$(task_id)"
    expect_status 66
    expect_err "secret file 'token'"
}

test_case "a variable of the command line replaces that of the file; the last one counts" the_last_one_counts
test_case "secrets are in no plan, record or log" secrets_stay_out_of_sight
test_case "secrets are in no command line, and in no file of others" secrets_are_for_this_user_alone
test_case "a secret on the command line is refused" values_on_the_command_line_are_refused
test_case "faults of files of variables are named without their values" faults_of_files
test_case "a rerun reads files of variables and secrets again" reruns_read_them_again
finish
