#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Whether this machine is fit, and how careless requests are answered.   check_test.sh path/to/train
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

this_machine() {
    echo 'print(1)' >run.py
    run check -n 1 -- /usr/bin/python3 run.py
    expect_status 0
    expect_err '^train: the host is fit$'
    expect_out '^HOST +VERDICT +SLOTS +FREE +GPUS +DRIVER +PYTHON +TORCH +CLOCK$'
    expect_out '^[^ ]+ +fit +[0-9]+ +[0-9]+ +0 +- +3\.'
    output=$work/check.json run check --json -n 1 -- /usr/bin/python3 run.py
    expect_status 0
    expect_schema check "$work/check.json"
    run check
    expect_status 0
}

an_experiment() {
    printf 'name: x\nentrypoint: python3 run.py\nresources: {slots_per_trial: 1}\n' >x.yaml
    run check x.yaml
    expect_status 1
    expect_out "unfit: python3 cannot read its script '$PWD/run.py': no such file$"
    expect_out '^  every host of the task needs it there; --context sends a directory of code to them$'
    expect_err '^train: the host is unfit \(exit 1\)$'
    echo 'print(1)' >run.py
    run check x.yaml
    expect_status 0
    run check x.yaml --set "entrypoint=[nothere]"
    expect_status 1
    expect_out "unfit: program 'nothere' was not found"
}

a_secret_stays_at_home() {
    # The host's side reads its request from a pipe; what the launcher sends it is seen there.
    printf 'name: x\nentrypoint: [/bin/true]\nresources: {slots_per_trial: 1}\nenvironment:\n  environment_variables: [WANDB_API_KEY]\n' >x.yaml
    environment=(WANDB_API_KEY=verysecret)
    run check x.yaml --json
    expect_status 0
    expect_no_out verysecret
    expect_no_err verysecret
}

careless() {
    run check nothere.yaml
    expect_status 66
    expect_err "cannot read the experiment file 'nothere.yaml'"
    run check -H ''
    expect_status 64
    run check --jsn
    expect_status 64
    expect_err "did you mean '--json'"
    run check -- nothere
    expect_status 1
}

the_hosts_side() {
    echo '{}' >request
    "$train" agent check x <request >"$work/out" 2>"$work/err"
    status=$?
    expect_status 76
    expect_err 'what is to be checked is not understood: '
    "$train" agent check x </dev/null >"$work/out" 2>"$work/err"
    status=$?
    expect_status 76
}

test_case "this machine is fit" this_machine
test_case "what an experiment needs is looked for" an_experiment
test_case "no secret is told" a_secret_stays_at_home
test_case "what nobody meant is refused with what may be meant" careless
test_case "the host's side refuses what is no request" the_hosts_side
finish
