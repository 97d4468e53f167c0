#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Checking and showing files touches nothing and hides nothing.   config_test.sh path/to/train
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

write_good() {
    cat >good.yaml <<'YAML'
name: good
entrypoint: ["/bin/echo", "a word"]
hyperparameters:
  global_batch_size: 64
  lr: 0.1
  layers: [{size: 32}, {size: 16}]
resources:
  slots_per_trial: 4
environment:
  environment_variables: {PLAIN: one, QUOTED: "yes", EMPTY: ""}
YAML
    cat >hosts.yaml <<'YAML'
defaults: {slots: 4}
hosts:
  - name: node[01-02]
YAML
    printf 'node01 slots=8\nnode02:8\n' >hosts
}

write_bad() {
    printf 'entrypoint: ["true"]\nslot_per_trial: 2\ndebug: yes\n' >bad.yaml
    printf 'name: bad\nresources:\n  placement: packed\n' >worse.yaml
}

silent() {
    expect_status 0
    expect_equal "stdout" "" "$(cat "$work/out")"
    expect_equal "stderr" "" "$(cat "$work/err")"
}

legal_files() {
    write_good
    run config check good.yaml
    silent
    run config check good.yaml hosts.yaml good.yaml
    silent
    run config check --hosts hosts hosts.yaml
    silent
    input=good.yaml run config check -
    silent
    input=hosts run config check --hosts -
    silent
    run config check -W good.yaml hosts.yaml
    silent
    [ ! -e "$work/state" ] || note_failure "a state directory was made"
}

illegal_files() {
    write_good
    write_bad
    run config check bad.yaml good.yaml worse.yaml
    expect_status 78
    expect_err "^train: bad.yaml:2:1: unknown key 'slot_per_trial'"
    expect_err "did you mean 'slots_per_trial'\?"
    expect_err "^train: bad.yaml:3:8: 'debug' must be true or false, not the string 'yes'"
    expect_err "^train: worse.yaml:3:14: 'resources.placement' must be one of .*, not 'packed'"
    expect_err "did you mean 'pack'\?"
    expect_no_err 'good.yaml'
    expect_last_err 'failed: config (exit 78)'
    expect_equal "stdout" "" "$(cat "$work/out")"
    printf 'node01 slots=8\nnode01 slot=8\n' >hosts
    run config check --hosts hosts
    expect_status 78
    expect_err "^train: hosts:2:8: unknown key 'slot'"
    expect_last_err 'failed: hosts (exit 78)'
    run config check hosts
    expect_status 78
    expect_err "a hosts file without 'hosts:' needs --hosts"
    printf 'hosts:\n  - name: a\n    slotss: 4\n' >hosts.yaml
    run config check hosts.yaml
    expect_status 78
    expect_err "^train: hosts.yaml:3:5: unknown key 'slotss'"
    expect_last_err 'failed: hosts (exit 78)'
    expect_err "did you mean 'slots'\?"
}

many_errors() {
    for i in $(seq 50); do echo "unknown_$i: $i"; done >many.yaml
    cp many.yaml more.yaml
    run config check many.yaml more.yaml
    expect_status 78
    expect_err '^train: many.yaml: \.\.\. and 30 more$'
    expect_err '^train: more.yaml: \.\.\. and 30 more$'
    run config check --json many.yaml
    expect_equal "findings" 50 "$(field 'len(d["diagnostics"])' "$work/out")"
}

missing_files() {
    write_good
    write_bad
    run config check good.yaml nowhere.yaml
    expect_status 66
    expect_err "^train: cannot read the configuration file 'nowhere.yaml': no such file"
    expect_last_err 'failed: no_input (exit 66)'
    run config check goood.yaml
    expect_err "did you mean 'good.yaml'\?"
    run config check .
    expect_status 66
    expect_err "'.' is a directory"
    # The files after one that is missing are checked, too, and what is wrong in them counts.
    run config check nowhere.yaml bad.yaml
    expect_status 78
    expect_err 'nowhere.yaml'
    expect_err '^train: bad.yaml:2:1: '
    run config show nowhere.yaml
    expect_status 66
}

# finding N KEY: of the last --json.
finding() { field "d['diagnostics'][$1]['$2']" "$work/out"; }

findings_as_data() {
    write_good
    write_bad
    run config check --json good.yaml
    expect_status 0
    expect_schema diagnostics "$work/out"
    expect_equal "findings" '[]' "$(field 'd["diagnostics"]' "$work/out")"
    run config check --json bad.yaml nowhere.yaml worse.yaml
    expect_status 78
    expect_schema diagnostics "$work/out"
    expect_equal "places" 'bad.yaml:2:1 bad.yaml:3:8 nowhere.yaml:None:None worse.yaml:3:14' \
        "$(field '" ".join("%(file)s:%(line)s:%(column)s" % f for f in d["diagnostics"])' "$work/out")"
    expect_equal "key" slot_per_trial "$(finding 0 key)"
    expect_equal "message" "unknown key 'slot_per_trial'" "$(finding 0 message)"
    expect_equal "hint" "did you mean 'slots_per_trial'?" "$(finding 0 hint)"
    expect_equal "key" resources.placement "$(finding 3 key)"
    expect_last_err 'failed: config (exit 78)'
    input=bad.yaml run config check --json -
    expect_schema diagnostics "$work/out"
    expect_equal "place" '- 2' "$(finding 0 file) $(finding 0 line)"
    printf 'entrypoint: "tr\xc3\xbcb\x01"\nbad: 1\n' >odd.yaml
    run config check --json odd.yaml
    expect_schema diagnostics "$work/out"
}

warnings() {
    cat >later.yaml <<'YAML'
entrypoint: python3 train.py
searcher: {name: custom, metric: loss}
hyperparameters:
  lr: {type: log, base: 10, minval: -5, maxval: -1}
bind_mounts: [{host_path: /data, container_path: data}]
framework: horovod
YAML
    run config check later.yaml
    silent
    run config check -W later.yaml
    expect_status 0
    expect_err "^train: warning: later.yaml:2:18: launch refuses this: searcher 'custom'"
    expect_err "^train: warning: later.yaml:2:11: 'max_restarts' is 0 here where Determined's .* 5"
    expect_err "^train: warning: later.yaml:5:1: 'bind_mounts' has no effect here"
    expect_err '^train: warning: later.yaml:6:12: launch refuses this: .framework: horovod. is not there yet'
    run config check --json later.yaml
    expect_status 0
    expect_schema diagnostics "$work/out"
    expect_equal "severities" 'obstacle obstacle warning warning' \
        "$(field '" ".join(f["severity"] for f in d["diagnostics"])' "$work/out")"
    # What a check says of plan and launch is so.
    run plan later.yaml
    expect_status 0
    expect_out '^warning: later.yaml:2:18: launch refuses this'
    run launch later.yaml
    expect_status 78
    expect_err '^train: later.yaml:2:18: '
    expect_err '^train: later.yaml:6:12: '
}

# plan_of FILE NAME: the plan of an experiment, as $work/NAME.
plan_of() {
    run plan "$1" -H 'node[01-02]:4' --json
    expect_status 0
    cp "$work/out" "$work/$2"
}

shown_means_the_same() {
    write_good
    cp "$root/examples/digits/experiment.yaml" digits.yaml
    cat >merged.yaml <<'YAML'
entrypoint: 'echo "$HOME" # no comment'
description: |
  two
  lines
hyperparameters:
  base: &base {a: 1, b: "on", c: 012, d: 1e3, e: .5, f: null, g: [~, "~"]}
  copy: {<<: *base, a: "0x10", "odd: key": "tab\tand\u00e9"}
scaling_config: {num_workers: 3, resources_per_worker: {CPU: 0.25, memory: 16MiB}}
stop_grace: 90s
YAML
    local file
    for file in good digits merged; do
        run config show "$file.yaml"
        expect_status 0
        expect_no_err .
        cp "$work/out" "$file.shown"
        input="$file.shown" run config show -
        expect_status 0
        expect_same "what is shown of what is shown of $file" "$file.shown" "$work/out"
        run config check -W "$file.shown"
        silent
        cp "$file.yaml" once.yaml
        plan_of once.yaml once.json
        cp "$file.shown" once.yaml
        plan_of once.yaml again.json
        expect_same "the plan of what is shown of $file" "$work/once.json" "$work/again.json"
        run config show --json "$file.yaml"
        expect_status 0
        expect_schema experiment "$work/out"
        # JSON is YAML: it means the same, too.
        cp "$work/out" once.yaml
        plan_of once.yaml again.json
        expect_same "the plan of what is shown of $file as JSON" "$work/once.json" "$work/again.json"
    done
}

origins() {
    write_good
    run config show good.yaml --origin --set hyperparameters.lr=0.5 --set hyperparameters.layers.1.size=8 --batch 32 -n 2
    expect_status 0
    expect_out '^name: good +# good.yaml:1$'
    expect_out '^processes: per_rank +# default$'
    expect_out '^  global_batch_size: 32 +# --batch$'
    expect_out '^  lr: 0.5 +# --set$'
    expect_out '^  slots_per_trial: 2 +# -n$'
    expect_out '^    PLAIN: one +# good.yaml:10$'
    expect_out 'size: 32.*# good.yaml:6$'
    expect_out '^stop_grace: 10s +# default$'
    expect_no_out '16'
    # The comments change nothing.
    cp "$work/out" origin.yaml
    run config show origin.yaml
    cp "$work/out" plain.yaml
    run config show good.yaml --set hyperparameters.lr=0.5 --set hyperparameters.layers.1.size=8 --batch 32 -n 2
    expect_same "what is shown without origins" plain.yaml "$work/out"
    input=good.yaml run config show --origin -
    expect_out '^name: good +# -:1$'
    run config show good.yaml --set name=null --set resources.slots_per_trial=
    expect_status 0
    expect_no_out '^name:|slots_per_trial'
}

overrides_are_checked() {
    write_good
    run config show good.yaml --set resources.slots=x --set resorces.slots_per_trial=2
    expect_status 78
    expect_err "^train: --set: 'resources.slots' must be a whole number"
    expect_err "^train: --set: unknown key 'resorces'"
    expect_equal "stdout" "" "$(cat "$work/out")"
    run config show good.yaml --set entrypoint.7=x
    expect_status 78
    expect_err "'7' is no item of a list of 2"
    expect_err 'items are 0 to 1; 2 appends'
}

secrets() {
    local secret=open-sesame-4711
    cat >secret.yaml <<YAML
entrypoint: ["true"]
environment:
  environment_variables: [API_KEY]
  registry_auth: {username: me, password: $secret, identitytoken: $secret}
checkpoint_storage: {type: s3, bucket: b, access_key: $secret, secret_key: $secret}
integrations:
  pachyderm: {pachd: {host: h, port: 1}, proxy: {scheme: http, host: h, port: 1}, dataset: {project: p, repo: r, token: $secret}}
YAML
    environment=("API_KEY=$secret")
    local option
    for option in '' --json --origin; do
        # shellcheck disable=SC2086 # no word when it is empty
        run config show $option secret.yaml
        expect_status 0
        expect_out 'secret_key"?: "\(redacted\)"'
        expect_out 'bucket"?: "?b'
        expect_no_out "$secret"
    done
    run config check -W --json secret.yaml
    expect_no_out "$secret"
    run config check -W secret.yaml
    expect_no_err 'API_KEY'
}

schemas() {
    local name
    for name in experiment hosts diagnostics plan task; do
        run config schema "$name"
        expect_status 0
        expect_no_err .
        expect_same "the schema '$name'" "$root/config_schema/fields/$name.schema.json" "$work/out"
        # shellcheck disable=SC2016 # a name of JSON Schema
        expect_equal "dialect" 'http://json-schema.org/draft-07/schema#' "$(field 'd["$schema"]' "$work/out")"
    done
    run config schema
    expect_same "the schema without a name" "$root/config_schema/fields/experiment.schema.json" "$work/out"
}

# as_json PYTHON: a document as $work/document.json.
as_json() { /usr/bin/python3 -c 'import json, sys; json.dump(eval(sys.argv[1]), sys.stdout)' "$1" >"$work/document.json"; }

# schema_refuses NAME PYTHON: the schema does, and so does the program.
schema_refuses() {
    as_json "$2"
    ! /usr/bin/python3 "$here/validate.py" "$root/config_schema/fields/$1.schema.json" "$work/document.json" >/dev/null 2>&1 ||
        note_failure "the schema $1 takes $2"
    cp "$work/document.json" document.yaml
    local hosts=()
    [ "$1" = hosts ] && hosts=(--hosts)
    run config check "${hosts[@]}" document.yaml
    expect_equal "exit status for $2" 78 "$status"
}

schemas_agree_with_the_program() {
    write_good
    local file
    for file in "$root"/examples/*/experiment*.yaml good.yaml; do
        run config show --json "$file"
        expect_schema experiment "$work/out"
    done
    schema_refuses experiment '{"slot_per_trial": 2}'
    schema_refuses experiment '{"debug": "yes"}'
    schema_refuses experiment '{"resources": {"slots_per_trial": -1}}'
    schema_refuses experiment '{"resources": {"placement": "packed"}}'
    schema_refuses experiment '{"searcher": {"name": "random"}}'
    schema_refuses experiment '{"hyperparameters": {"lr": {"type": "int", "minval": 1}}}'
    schema_refuses experiment '{"checkpoint_storage": {"type": "s3", "host_path": "/x"}}'
    schema_refuses experiment '{"max_steps": 5}'
    schema_refuses hosts '{"hosts": []}'
    schema_refuses hosts '{"hosts": [{"name": "a", "slot": 2}]}'
    schema_refuses hosts '{"hosts": [{"slots": 2}]}'
    as_json '{"defaults": {"slots": 4}, "hosts": ["a:8", {"name": "b", "resources": {"CPU": 4}}]}'
    expect_schema hosts "$work/document.json"
    as_json '{"x-own": {"a": [1]}, "hosts": ["a"]}'
    expect_schema hosts "$work/document.json"
    schema_refuses hosts '{"hosts": [{"name": "a", "x-own": 2}]}'
    as_json '{"x-own": {"slot_per_trial": [1]}, "entrypoint": "true"}'
    expect_schema experiment "$work/document.json"
    run config check "$work/document.json"
    expect_status 0
    schema_refuses experiment '{"resources": {"x-own": 2}}'
}

# refused STATUS REGEX... -- ARGUMENT...: says all that, and what to type next.
refused() {
    local code=$1 wanted=() regex
    shift
    while [ "$1" != -- ]; do wanted+=("$1"); shift; done
    shift
    run "$@"
    expect_equal "exit status of: train $*" "$code" "$status"
    for regex in "${wanted[@]}"; do expect_err "$regex"; done
    expect_equal "stdout of: train $*" "" "$(cat "$work/out")"
}

careless_typing() {
    write_good
    refused 64 "'train config' does nothing without a command" 'check, show, schema' -- config
    refused 64 "'train config' has no command 'chekc'" "did you mean 'check'\?" -- config chekc good.yaml
    refused 64 "'train' has no command 'schema'" "did you mean 'train config schema'\?" -- schema good.yaml
    refused 64 "'train config check' needs a FILE" -- config check
    refused 64 "'train config check' has no option '--host'" "did you mean '--hosts'\?" -- config check --host hosts
    refused 64 "'train config show' needs a CONFIG" -- config show
    refused 64 "'hosts.yaml' is one word too many: 'train config show' takes one experiment" -- config show good.yaml hosts.yaml
    refused 64 "'train config show' runs nothing: it takes no '-- python3 ...'" 'launch and plan' -- config show good.yaml -- python3 x
    refused 64 "^train: --set: 'name: x' has no '='" 'write --set key.path=value' -- config show good.yaml --set 'name: x'
    refused 64 "there is no schema 'experimnet'" "did you mean 'experiment'\?" -- config schema experimnet
    refused 64 "there is no schema 'yaml'" 'experiment, hosts, diagnostics, doctor, plan, task and event' -- config schema yaml
    refused 64 "'hosts' is one word too many" -- config schema experiment hosts
    refused 78 "^train: hosts.yaml:1:1: unknown key 'defaults'" -- config show hosts.yaml
}

# The reader of the answer is gone, or there is no room for it.
answer_cannot_be_written() {
    write_good
    output=/dev/full run config show good.yaml
    expect_status 66
    output=/dev/full run config schema
    expect_status 66
    output=/dev/full run config check --json good.yaml
    expect_status 66
}

test_case "a check of legal files says nothing" legal_files
test_case "a check says all errors of all files" illegal_files
test_case "a check keeps to a screen for each file" many_errors
test_case "a check of a file that is missing fails" missing_files
test_case "a check with --json gives its findings as data" findings_as_data
test_case "a check with -W says what launch refuses and what has no effect" warnings
test_case "what is shown of an experiment means the same" shown_means_the_same
test_case "show --origin says where values come from" origins
test_case "overrides are checked when they are shown" overrides_are_checked
test_case "logins are not shown" secrets
test_case "schemas are those that are published" schemas
test_case "schemas and program agree" schemas_agree_with_the_program
test_case "careless typing is answered with what to type" careless_typing
test_case "an answer that cannot be written is a failure" answer_cannot_be_written
finish
