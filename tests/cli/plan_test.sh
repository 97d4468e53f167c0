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
        TRAIN_HOST_DIRECTORY TRAIN_LEASE_DIRECTORY 2>&1) || note_failure "$trouble"
}

environment_of_defaults() {
    plan_and_launch -H localhost:2 -n 2 -- /bin/sh -c 'env -0 >"$OUT/env.$RANK"'
    local trouble
    trouble=$(/usr/bin/python3 "$here/compare_environment.py" "$work/plan.json" "$work/here" \
        "$(task_id)" "${environment[@]}" PATH HOME USER LANG XDG_STATE_HOME \
        TRAIN_HOST_DIRECTORY TRAIN_LEASE_DIRECTORY 2>&1) || note_failure "$trouble"
}

drawn_values_are_as_planned() {
    cat >drawn.yaml <<'YAML'
entrypoint: ["/bin/sh", "-c", "env -0 >\"$OUT/env.$RANK\""]
reproducibility: {experiment_seed: 42}
hyperparameters:
  act: {type: categorical, vals: [relu, tanh, gelu]}
  depth: 3
  drop: {type: double, minval: 0.1, maxval: 0.5}
  global_batch_size: {type: int, minval: 8, maxval: 64}
YAML
    plan_and_launch drawn.yaml -H localhost:2 -n 2
    expect_err "^train: task $(task_id): act (relu|tanh|gelu), drop 0\.[0-9]+, global_batch_size [0-9]+: drawn with experiment_seed 42$"
    local trouble
    trouble=$(/usr/bin/python3 "$here/compare_environment.py" "$work/plan.json" "$work/here" \
        "$(task_id)" "${environment[@]}" PATH HOME USER LANG XDG_STATE_HOME \
        TRAIN_HOST_DIRECTORY TRAIN_LEASE_DIRECTORY 2>&1) || note_failure "$trouble"
    expect_equal "what rank 1 is told of the first trial" \
        "$(field 'd["search"]["first"][0]["hyperparameters"]' "$work/plan.json")" \
        "$(tr '\0' '\n' <env.1 | sed -n 's/^TRAIN_HPARAMS=//p' | /usr/bin/python3 -c \
            'import json, sys; print(json.load(sys.stdin))')"
    expect_equal "its batch" "$(field 'd["search"]["first"][0]["hyperparameters"]["global_batch_size"]' \
        "$work/plan.json")" "$(tr '\0' '\n' <env.0 | sed -n 's/^TRAIN_GLOBAL_BATCH_SIZE=//p')"
    expect_equal "its seed" "$(field 'd["search"]["first"][0]["seed"]' "$work/plan.json")" \
        "$(tr '\0' '\n' <env.0 | sed -n 's/^TRAIN_TRIAL_SEED=//p')"
}

searches_are_planned() {
    cat >asha.yaml <<'YAML'
entrypoint: python3 train.py
hyperparameters: {lr: {type: log, base: 10, minval: -4, maxval: -1}}
searcher: {name: adaptive_asha, metric: loss, max_trials: 100, max_time: 1000, time_metric: batches}
max_restarts: 0
YAML
    run plan asha.yaml -H localhost:2
    expect_status 0
    expect_out '^trials: 2 of 100 at once, as many as fit these hosts; shown is the first$'
    expect_out '^search: adaptive_asha, 100 trials: 53 train 15 batches, 30 62, 13 250, 4 1000$'
    expect_out '^bracket 1: 22 trials, 5 at once, compared at 62, 250 and 1000 batches$'
    expect_out '^trial 4: lr 0\.[0-9]+$'
    expect_no_out "launch refuses"
    output=$work/plan.json run plan --json asha.yaml -H localhost:2
    expect_schema plan "$work/plan.json"
    expect_equal "brackets" '[70, 22, 8]' \
        "$(field '[b["trials"] for b in d["search"]["brackets"]]' "$work/plan.json")"
}

searches_of_tune_are_planned() {
    cat >tune.yaml <<'YAML'
entrypoint: python3 train.py
num_samples: 3
metric: loss
mode: min
scheduler: {type: asha, max_t: 16}
param_space: {lr: {loguniform: [1.0e-4, 1.0e-1]}, layers: {grid_search: [1, 2]}}
resources_per_trial: {cpu: 2}
YAML
    printf 'hosts: [{name: one, resources: {CPU: 4}}]\n' >hosts.yaml
    run plan tune.yaml --hostfile hosts.yaml
    expect_status 0
    expect_out '^trials: 2 of 6 at once, as many as fit these hosts; shown is the first$'
    expect_out '^bracket 0: 6 trials, 6 at once, compared at 1, 4 and 16 reports$'
    expect_out '^trial 1: layers 2, lr 0\.03481$'
    run plan tune.yaml --hostfile hosts.yaml --set 'resources_per_trial={cpu: 0.5}'
    expect_out '^trials: 6 of 6 at once \(all of them; 8 would fit\); shown is the first$'
    run plan tune.yaml --hostfile hosts.yaml --set 'resources_per_trial={cpu: 5}'
    expect_status 69
    run plan tune.yaml --hostfile hosts.yaml \
        --set 'resources_per_trial=[{cpu: 1}, {cpu: 2}, {cpu: 2}]'
    expect_status 69
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
    sed -i 's/sleep 0.2/echo up; until [ -e end ]; do sleep 0.05; done/' experiment.yaml
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
    touch end
    await
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
    expect_out '^true: 4 ranks on 2 hosts, 4 slots$'
    expect_out '^node02  2-3    \|2\|3\|$'
    expect_out '^3 +node02 +1 +1 +3$'
    expect_out '^batch: global 12, the ranks take 12, effective 12, 3 per slot$'
    expect_equal "lines without the warning" "" "$(grep -v '^train: warning: ' "$work/err")"
}

# expect_placed RANKS ARGUMENT...: of `plan ARGUMENT... -- true`: "w1 0 1;w2 2".
expect_placed() {
    local wanted=$1
    shift
    run plan --json "$@" -- true
    [ "$status" = 0 ] || note_failure "plan $*: exit $status" "$(cat "$work/err")"
    expect_equal "plan $*" "$wanted" "$(field \
        '";".join(" ".join([h["host"], *map(str, h["ranks"])]) for h in d["trials"][0]["hosts"])' "$work/out")"
}

hosts_in_order() {
    printf 'w1 slots=2\nw2 slots=1\n' >hosts
    expect_placed 'w1 0 1;w2 2' --hostfile hosts -n 3
    expect_placed 'w1 0' --hostfile hosts -n 1
    expect_placed 'w1 0;w2 1 2' -H w1:1,w2:4 -n 3
    expect_placed 'w1 0 1 2;w2 3' -H w1:4,w2:4 --exclude w1:1 -n 4
    run plan -H w1:1,w2:4 -n 3 -- true
    expect_out '^advice: in order, w1 is filled before w2: 2 hosts are used where 1 would do$'
    expect_out '^  \(placement: pack\)$'
    run plan --hostfile hosts -n 4 -- true
    expect_status 69
    expect_err '^train: 4 slots asked, the 2 hosts have 3: w1 2, w2 1$'
    expect_err '^  nearest.*: 3$'
    # Who says how, is heard.
    expect_placed 'w2 0' --hostfile hosts -n 1 --set resources.placement=auto
    expect_placed 'w1 0;w2 1' --hostfile hosts -n 2 --set resources.placement=spread
    run plan --hostfile hosts -n 3 --set resources.placement=auto -- true
    expect_status 69
    expect_err 'whole hosts of one size do not make 3'
    # A file has Determined's rule, and may say this one.
    printf 'entrypoint: ["true"]\nslots_per_trial: 1\n' >experiment.yaml
    run plan experiment.yaml --hostfile hosts --json
    expect_equal "of a file" w2 "$(field 'd["trials"][0]["hosts"][0]["host"]' "$work/out")"
    printf 'resources: {placement: in_order}\n' >>experiment.yaml
    run plan experiment.yaml --hostfile hosts --json
    expect_equal "of a file in order" w1 "$(field 'd["trials"][0]["hosts"][0]["host"]' "$work/out")"
}

all_slots_of_named_hosts() {
    printf 'w1 slots=2\nw2 slots=1\n' >hosts
    expect_placed 'w1 0 1;w2 2' --hostfile hosts
    expect_placed 'w1 0;w2 1' -H w1,w2
    expect_placed 'w1 0;w2 1 2;w3 3' -H w1:1,w2:2,w3
    expect_placed 'w1 0 1' --hostfile hosts --include w1
    expect_placed 'w1 0;w2 1' --hostfile hosts --exclude w1:0
    expect_placed 'localhost 0'
    environment=(TRAIN_HOSTFILE=hosts)
    expect_placed 'w1 0 1;w2 2'
    environment=(SLURM_JOB_ID=77 'SLURM_JOB_NODELIST=s[1-2]' 'SLURM_TASKS_PER_NODE=2,1')
    expect_placed 's1 0 1;s2 2'
    environment=()
    # What a worker takes, and how hosts are chosen, may be said all the same.
    expect_placed 'w1 0;w2 1 2' -H w1:3,w2:5 --set resources_per_worker.GPU=2
    expect_placed 'w1 0 1 2 3;w2 4 5' -H w1:2,w2:1 --set resources_per_worker.GPU=0.5
    expect_placed 'w1 0;w2 1' --hostfile hosts --set resources.placement=strict_spread
    expect_placed 'w2 0 1 2' -H w1:2,w2:3 --set resources.is_single_node=true
    # And how many.
    expect_placed 'w1 0 1' --hostfile hosts --set slots_per_trial=2
    expect_placed 'w1 0 1' --hostfile hosts --set num_workers=2
    # A batch is split over them.
    run plan --hostfile hosts --batch 2 -- true
    expect_status 78
    expect_err 'a global batch of 2 is less than one sample for each of 3 workers'
    # A file says how many by itself.
    printf 'entrypoint: ["true"]\n' >experiment.yaml
    run plan experiment.yaml --hostfile hosts --json
    expect_equal "ranks of a file" 1 "$(field 'd["trials"][0]["world_size"]' "$work/out")"
}

# Warnings are said where the answer is a table, else on stderr, and never in both.
warnings_once() {
    cat >experiment.yaml <<'YAML'
entrypoint: ["true"]
debug: true
slots_per_trial: 2
YAML
    run plan experiment.yaml -H node01,node02
    expect_status 0
    cat "$work/out" "$work/err" >both
    expect_equal "about a key" 1 "$(grep -c "'debug' has no effect here" both)"
    expect_equal "about a host" 1 "$(grep -c "nothing of slots" both)"
    expect_equal "stderr" "" "$(cat "$work/err")"
    run plan experiment.yaml -H node01,node02 --format hostfile
    expect_equal "about a key" 1 "$(grep -c "'debug' has no effect here" "$work/err")"
    expect_equal "about a host" 1 "$(grep -c "nothing of slots" "$work/err")"
    run plan experiment.yaml -H node01 # no plan: no table
    expect_status 69
    expect_equal "about a key" 1 "$(grep -c "'debug' has no effect here" "$work/err")"
    run launch experiment.yaml --set slots_per_trial=1
    expect_equal "about a key" 1 "$(grep -c "'debug' has no effect here" "$work/err")"
}

# What a refusal names is pasted into the shell.
changes_are_pasted() {
    cat >hosts <<'YAML'
hosts:
  - {name: n1, slots: 2, pool: "12", resources: {GPU: 2, CPU: 8, memory: 16GiB, "it's tape": 2}}
YAML
    local fits count=0
    while read -r arguments; do
        eval "run plan --hostfile hosts $arguments -- true"
        expect_status 69
        sed -n 's/^  it fits with \(--set .*[^)]\)\( (the .*)\)\{0,1\}$/\1/p' "$work/err" >changes
        [ -s changes ] || note_failure "no change is named for: $arguments"
        while read -r fits; do
            eval "run plan --hostfile hosts $arguments $fits -- true"
            [ "$status" = 0 ] || note_failure "it does not fit with: $fits" "$(cat "$work/err")"
            count=$((count + 1))
        done <changes
    done <<'ARGUMENTS'
--set resources.resource_pool=none
--set 'resources_per_worker={CPU: 4, GPU: 0.5}' --set num_workers=4
--set "resources_per_worker={\"it's tape\": 1, memory: 1GiB}" --set num_workers=4 --set use_gpu=true --set resources_per_worker.GPU=0.5
--set 'scaling_config={num_workers: 4, resources_per_worker: {CPU: 2}}'
--set slots_per_trial=4
ARGUMENTS
    [ "$count" -ge 5 ] || note_failure "only $count changes were pasted"
}

# What any shell would do with a block: nothing but to set variables.
hostile_environment_is_sourced() {
    cat >experiment.yaml <<'YAML'
entrypoint: ["true"]
environment:
  environment_variables:
    QUOTES: "it's \"quoted\" `touch backquoted` $(touch substituted) $HOME \\\\"
    LINES: "one\n\ntwo\nexport QUOTES=gone\nend"
    "EVIL\ntouch named; X": "1"
    "with-dash": "1"
    UID: "0"
    TOKEN: null
scaling_config: {num_workers: 3, resources_per_worker: {CPU: 0.25}}
YAML
    environment=("TOKEN=$secret" "PATH=$PATH:/a b/c'd")
    output=$work/plan.json run plan experiment.yaml -H localhost:3 --json
    run plan experiment.yaml -H localhost:3 --format env --rank 1
    expect_status 0
    local shell name
    for shell in sh bash; do
        "$shell" -n "$work/out" || note_failure "$shell -n"
        for name in QUOTES LINES PATH RANK; do
            expect_equal "$name in $shell" \
                "$(field "d['trials'][0]['ranks'][1]['env']['$name']" "$work/plan.json")" \
                "$("$shell" -c '. "$1"; eval "printf %s \"\$$2\""' - "$work/out" "$name")"
        done
        expect_equal "TOKEN in $shell" unset \
            "$("$shell" -c 'unset TOKEN; . "$1"; echo "${TOKEN-unset}"' - "$work/out")"
    done
    expect_equal "files" experiment.yaml "$(ls -A)"
    expect_no_out "$secret"
    expect_equal "blocks" 1 "$(grep -c '^# rank ' "$work/out")"
}

rank_without_block() {
    run plan -H localhost:3 -n 3 --format env --rank 3 -- true
    expect_status 64
    expect_err "^train: --rank: there is no rank 3$"
    expect_err "ranks are 0 to 2"
    run plan -H localhost:3 -n 3 --rank 1 -- true
    expect_status 64
    expect_err "^train: --rank was given without --format env$"
    expect_last_err 'failed: usage (exit 64)'
}

hostfile_feeds_another_launcher() {
    run plan -H 'a:2,b:4,c:4' -n 8 --set resources.placement=auto --format hostfile -- true
    expect_status 0
    cp "$work/out" hosts
    expect_equal "lines" $'b slots=4\nc slots=4' "$(grep -v '^#' hosts)"
    run plan --hostfile hosts -n 8 --json -- true
    cp "$work/out" "$work/again"
    run plan -H 'a:2,b:4,c:4' -n 8 --set resources.placement=auto --json -- true
    expect_same "the plan from the hostfile" "$work/again" "$work/out"
}

# The batch script, run by a shell where srun only says what it is given.
slurm_script_runs() {
    mkdir -p "$work/bin"
    cat >"$work/bin/srun" <<'SRUN'
#!/bin/bash
printf '<%s>\n' "$@" "$WORLD_SIZE" "$MASTER_ADDR" "$MASTER_PORT"
[ -z "${SLURM_HOSTFILE:-}" ] || tr '\n' ' ' <"$SLURM_HOSTFILE"
while [ "$1" != /bin/sh ]; do shift; done
SLURM_PROCID=5 SLURM_LOCALID=1 "$@"
exit 3
SRUN
    chmod +x "$work/bin/srun"
    run plan -H 'n2:2,n1:2' -n 4 --format slurm -- sh -c 'echo "rank $RANK $LOCAL_RANK: $1"' - "it's"
    expect_status 0
    cp "$work/out" plan.sbatch
    bash -n plan.sbatch || note_failure "bash -n"
    PATH=$work/bin:$PATH SLURM_JOB_ID=12345 TMPDIR=$work bash plan.sbatch >"$work/out" 2>"$work/err"
    expect_equal "exit status of the script" 3 $?
    expect_out "^<--distribution=arbitrary>$"
    expect_out "^n2 n2 n1 n1 rank 5 1: it's$"
    expect_out '^<22345>$'
    expect_equal "files left" "" "$(find "$work" -name 'tmp.*')"
    PATH=$work/bin:$PATH SLURM_JOB_ID=1 TMPDIR=$work bash plan.sbatch echo another >"$work/out" 2>"$work/err"
    expect_out 'another$'
}

filtered_hosts_are_shown() {
    run plan -H 'w[0-3]:4' -n 3 --exclude 'w0:1@w2' -- true
    expect_status 0
    expect_out '^w0 +0-2 +\|0\|-\|1\|2\|$'
    expect_out '^w\[1,3\] +- +\|\.\|\.\|\.\|\.\|  2 hosts$'
    expect_out '^w2 +- +\|-\|-\|-\|-\|$'
    expect_out '^\. free   - excluded$'
}

slots_are_known_at_launch() {
    run plan -H 'gpu-a:2,gpu-b:2' -n 4 --json -- true
    expect_status 0
    expect_schema plan "$work/out"
    local name fact
    while read -r name fact; do
        expect_equal "$name" "{'at_launch': '$fact'}" \
            "$(field "d['trials'][0]['ranks'][3]['env']['$name']" "$work/out")"
    done <<'FACTS'
CUDA_VISIBLE_DEVICES cuda_devices
ROCR_VISIBLE_DEVICES rocm_devices
TRAIN_DEVICE_INDICES device_positions
TRAIN_BACKEND backend
FACTS
    run plan -H 'gpu-a:2,gpu-b:2' -n 4 -- true
    expect_out '^advice: gpu-\[a-b\]|^advice: gpu-a, gpu-b say slots and nothing of GPUs: a launch asks'
    run plan -H 'gpu-a:2,gpu-b:2' -n 4 --format env --rank 0 -- true
    expect_out '^# CUDA_VISIBLE_DEVICES is known at launch: cuda_devices$'
    expect_out '^# TRAIN_BACKEND is known at launch: backend$'
    # Said in a hosts file, it is known before.
    printf '%s\n' 'defaults: {slot_type: cuda, slots: 2}' 'hosts: [gpu-a, gpu-b]' >typed.yaml
    run plan --hostfile typed.yaml -n 4 --format env --rank 3 -- true
    expect_out "^export CUDA_VISIBLE_DEVICES='0,1'$"
    expect_out "^export TRAIN_BACKEND='nccl'$"
    run plan --hostfile typed.yaml -n 4 --set backend=auto --format env --rank 3 -- true
    sed -i s/cuda/cpu/ typed.yaml
    run plan --hostfile typed.yaml -n 4 --format env --rank 3 -- true
    expect_out "^export CUDA_VISIBLE_DEVICES=''$"
    expect_out "^export TRAIN_BACKEND='gloo'$"
}

picture_of_the_readme() {
    run plan -H 'node[01-05]:8,gpu-b:4' -n 16 --exclude node01:2@gpu-b -- python3 train.py
    expect_status 0
    sed -n '/^python3: 16 ranks/,/^```/p' "$root/README.md" | grep -v '^```' >"$work/shown"
    expect_equal "the picture" "$(cat "$work/shown")" "$(sed '/^RANK/,$d' "$work/out")"
}

# on_terminal COLUMNS ARGUMENT: the program's arguments, as a shell reads them, on a terminal.
on_terminal() {
    with_environment script -qec "stty cols $1 rows 30; '$train' $2" /dev/null </dev/null \
        >"$work/out" 2>&1
}

width_of_the_terminal() {
    local columns
    for columns in 40 72 132; do
        on_terminal "$columns" "plan -H 'n[1-40]:8,other:192' -n 320 --batch 1000 -- true"
        expect_out $'\x1b\\[30;42m'
        sed 's/\x1b\[[0-9;]*m//g; s/\r//g' "$work/out" >"$work/plain"
        expect_equal "lines wider than $columns" "" \
            "$(awk -v most="$columns" 'length > most' "$work/plain")"
    done
    environment=(NO_COLOR=1)
    on_terminal 80 "plan -H n1:2 -n 2 -- true"
    expect_out '^n1 +0-1 +\|0\|1\|'
    expect_no_out $'\x1b'
}

svg_is_written_whole() {
    run plan -H 'node[01-16]:8' -n 128 --svg plan.svg -- true
    expect_status 0
    expect_out '^node\[01-16\] '
    /usr/bin/python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' plan.svg ||
        note_failure "no XML"
    expect_equal "files" plan.svg "$(ls -A)"
    cp plan.svg "$work/first"
    echo old >target && chmod 600 target && ln -s target link
    run plan -H 'node[01-16]:8' -n 128 --svg link --format json -- true
    expect_status 0
    expect_schema plan "$work/out"
    expect_same "the same picture" "$work/first" target
    expect_equal "mode" 600 "$(stat -c %a target)"
    [ -L link ] || note_failure "the link is gone"
    run plan -H 'node[01-16]:8' -n 128 --svg /dev/null -- true
    expect_status 0
    [ -c /dev/null ] || note_failure "/dev/null is no device any more"
}

svg_that_cannot_be_written() {
    run plan -H n1:2 -n 2 --svg nowhere/plan.svg -- true
    expect_status 66
    expect_err "^train: cannot write the file 'nowhere/plan.svg': no such file or directory$"
    expect_last_err 'failed: no_input (exit 66)'
    run plan -H n1:2 -n 2 --svg . -- true
    expect_status 66
    run plan -H n1:2 -n 2 --svg - -- true
    expect_status 64
    expect_err "^train: --svg: '-' is no file$"
    run plan -H n1:2 -n 3 --svg plan.svg -- true
    expect_status 69
    expect_equal "files" "" "$(ls -A)"
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
test_case "what is drawn for a trial is the same in plan and launch" drawn_values_are_as_planned
test_case "a plan says what a search will do" searches_are_planned
test_case "a plan says what a search in Tune's words will do" searches_of_tune_are_planned
test_case "--format env is read by a shell as --json says it" shell_environment_is_the_same
test_case "a secret appears nowhere but in the environment of the ranks" secrets_stay_secret
test_case "a secret that is not set is refused" secret_that_is_not_set
test_case "ranks are where the plan says, and the task records the plan" same_placement
test_case "the same request gives the same bytes" plan_is_stable
test_case "a plan is readable" plan_for_people
test_case "a command fills its hosts in order" hosts_in_order
test_case "a command without a number takes all slots of the hosts that are named" all_slots_of_named_hosts
test_case "a warning is said once" warnings_once
test_case "what a refusal says that it fits with fits" changes_are_pasted
test_case "blocks of --format env are sourced by any shell, whatever they hold" hostile_environment_is_sourced
test_case "--rank chooses a block that there is" rank_without_block
test_case "--format hostfile reads back to the same plan" hostfile_feeds_another_launcher
test_case "what only hosts can say of their slots is known at launch" slots_are_known_at_launch
test_case "--format slurm is a script that starts the ranks" slurm_script_runs
test_case "hosts and slots that a filter left out are shown as such" filtered_hosts_are_shown
test_case "the picture in README.md is what the program draws" picture_of_the_readme
test_case "a plan is as wide as its terminal, and colored unless NO_COLOR" width_of_the_terminal
test_case "--svg writes a file, whole, and follows links" svg_is_written_whole
test_case "--svg says why a file cannot be written" svg_that_cannot_be_written
test_case "a plan touches no file and no host" touches_nothing
test_case "a refusal is a document of its own, with exit code 69" refusals_are_documents
test_case "an experiment is read from standard input" from_standard_input
finish
