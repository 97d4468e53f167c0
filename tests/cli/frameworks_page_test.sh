#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What train-frameworks(7) says is so.   frameworks_page_test.sh path/to/train
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"
page=$root/man/train-frameworks.7

# section NAME: its lines, as roff.
section() { awk -v wanted=".Ss $1" '/^\.S[hs] / { on = $0 == wanted } on' "$page"; }

# take_blocks NAME...: experiments of these sections are experiment.1 and so on, the script is script.py.
take_blocks() {
    local block name
    rm -f block.* experiment.* script.py
    for name; do section "$name"; done | sed 's/\\e/\\/g' |
        awk '/^\.Ed/ { on = 0 } on { print >"block." n } /^\.Bd -literal/ { on = 1; n++ }'
    for block in block.*; do
        if grep -q '^entrypoint:' "$block"; then mv "$block" "experiment.${block#block.}"; else mv "$block" script.py; fi
    done
}

# take_hosts: hosts.yaml is the hosts file of the page.
take_hosts() { sed -n '/^\.Bd/,/^\.Ed/{/^defaults:/p; /^hosts:/p}' "$page" >hosts.yaml; }

# Variables that a section names.
names_of() {
    {
        section "$1" | sed -n 's/^\.Ev //p' | grep -oE '[A-Z][A-Z0-9_]+'
        section "$1" | grep -oE '\b(TRAIN|PET|JAX|HOROVOD)_[A-Z_]+'
    } | sort -u
}

# plan_all: plan.1 and so on are the plans of the experiments on the hosts of the page; `given` has the
# variables that all ranks of one of them get.
plan_all() {
    local file
    take_hosts
    : >given
    for file in experiment.*; do
        run config check "$file"
        expect_status 0
        run plan "$file" --hostfile hosts.yaml --json
        expect_status 0
        expect_schema plan "$work/out"
        cp "$work/out" "plan.${file#experiment.}"
        field "'\n'.join(set.intersection(*(set(r['env']) for t in d['trials'] for r in t['ranks'])))" \
            "$work/out" >>given
    done
    sort -u -o given given
}

# first_rank EXPRESSION: of the environment `e` of rank 0 in the first plan.
first_rank() {
    local plans=(plan.*)
    field "[$1 for e in [d['trials'][0]['ranks'][0]['env']]][0]" "${plans[0]}"
}

# names_are_given NAME [OTHER]: what a section names is in a plan of its experiments, or of the other's.
names_are_given() {
    local lacking
    take_blocks "$@"
    plan_all
    names_of "$1" >named
    [ -s named ] || note_failure "no variable is named"
    lacking=$(comm -23 named given)
    [ -z "$lacking" ] || note_failure "not in the plan:" "$lacking"
}

page_is_whole() {
    local name wanted=('PyTorch DDP' 'PyTorch FSDP' Lightning 'Hugging Face Accelerate' DeepSpeed
        Megatron-LM JAX TensorFlow Horovod)
    expect_equal "frameworks" "$(printf '%s\n' "${wanted[@]}")" \
        "$(sed -n '/^\.Sh FRAMEWORKS/,$s/^\.Ss //p' "$page")"
    for name in "${wanted[@]}"; do
        take_blocks "$name"
        [ ! -e script.py ] || /usr/bin/python3 -m py_compile script.py || note_failure "$name: the script is no Python"
    done
    take_hosts
    run config check --hosts hosts.yaml
    expect_status 0
}

launchers_are_refused() {
    local words
    for words in 'torchrun train.py' 'accelerate launch train.py' 'deepspeed train.py' 'horovodrun -np 2 true' \
        'mpirun -n 2 true'; do
        # shellcheck disable=SC2086 # several words
        run plan -n 1 -- $words
        expect_status 78
        expect_err "starts the processes of a whole host"
    done
}

sizes_agree() {
    take_blocks "PyTorch DDP"
    plan_all
    expect_equal "Lightning's nodes, devices, ranks" "2 8 16" \
        "$(first_rank 'e["GROUP_WORLD_SIZE"] + " " + e["LOCAL_WORLD_SIZE"] + " " + e["WORLD_SIZE"]')"
    take_blocks DeepSpeed
    plan_all
    expect_equal "DeepSpeed's batch of a rank, steps, ranks, and of all" "32 2 16 1024" \
        "$(first_rank '" ".join(e[n] for n in ("TRAIN_BATCH_SIZE", "TRAIN_AGGREGATION_FREQUENCY", "WORLD_SIZE", "TRAIN_EFFECTIVE_BATCH_SIZE"))')"
}

# here_with ARGUMENT...: launches the first experiment on this machine.
here_with() {
    local experiments=(experiment.*)
    run launch "${experiments[0]}" -H localhost:2 -n 2 "$@"
}

needs_torch() {
    /usr/bin/python3 -c 'import torch' 2>/dev/null && return
    skip "there is no PyTorch"
    return 1
}

ddp_trains_and_goes_on() {
    needs_torch || return
    take_blocks "PyTorch DDP"
    {
        grep -v destroy_process_group script.py
        cat <<'END'
print(f"attempt {os.environ['TRAIN_RESTART_COUNT']} began with step {first}")
assert dist.is_torchelastic_launched()
total = torch.tensor(dist.get_rank() + 1)
dist.all_reduce(total)
print(f"sum {total.item()}")
dist.destroy_process_group()
if os.environ["TRAIN_RESTART_COUNT"] == "0":
    raise SystemExit(7)
END
    } >train.py
    mkdir shared
    here_with --set entrypoint='[/usr/bin/python3, train.py]' --set checkpoint_storage.host_path="$PWD/shared" \
        --set restart_delay=0.1s
    expect_status 0
    expect_out '^\[[01]\] attempt 0 began with step 0$'
    expect_equal "ranks that went on" "[0] attempt 1 began with step 10
[1] attempt 1 began with step 10" "$(grep 'attempt 1 began' "$work/out" | sort)"
    expect_out '^\[0\] sum 3$'
    expect_out '^\[1\] sum 3$'
    run task show "$(task_id)" --json
    expect_equal "reports of each attempt" "10 0" \
        "$(field "' '.join(str(a['reports']) for a in d['attempts'])" "$work/out")"
}

ddp_under_torchrun() {
    needs_torch || return
    [ -x /usr/bin/torchrun ] || { skip "there is no torchrun"; return; }
    take_blocks "PyTorch DDP"
    rm experiment.1
    {
        grep -v destroy_process_group script.py
        echo 'total = torch.tensor(dist.get_rank() + 1)'
        echo 'dist.all_reduce(total)'
        echo 'print(f"sum {total.item()}")'
        echo 'dist.destroy_process_group()'
    } >train.py
    mkdir shared logs
    # Debian 12's torchrun (1.13, under Python 3.11) fails where nothing is redirected.
    here_with --set entrypoint='[/usr/bin/torchrun, train.py]' --set checkpoint_storage.host_path="$PWD/shared" \
        --set environment.variables='{PET_REDIRECTS: 1, PET_TEE: 1, TMPDIR: logs}'
    expect_status 0
    expect_equal "ranks that met" 2 "$(grep -cE '^\[0\] \[default[01]\]:sum 3$' "$work/out")"
}

# meet FRAMEWORK LAST ARGUMENT...: runs its script up to the line that is LAST, with a stand-in for it.
meet() {
    local framework=$1 last=$2
    shift 2
    take_blocks "$framework"
    sed "/^$last/q" script.py >train.py
    mkdir shared
    here_with --set entrypoint='[/usr/bin/python3, train.py]' --set checkpoint_storage.host_path="$PWD/shared" \
        --set environment.variables.PYTHONPATH="$here/stand_ins" "$@"
    expect_status 0
}

jax_meets() {
    meet JAX ')'
    expect_equal "processes" "[0] process 0 of 2 has met
[1] process 1 of 2 has met" "$(sort "$work/out")"
}

tensorflow_meets() {
    meet TensorFlow 'strategy =' --set processes=per_rank
    expect_equal "workers" "[0] worker 0 of 2 has met all
[1] worker 1 of 2 has met all" "$(sort "$work/out")"
}

megatron_is_read() {
    take_blocks Megatron-LM
    echo ' [2026-01-01 00:00:00] iteration       20/     100 | consumed samples:        10240 | learning rate: 1.000000E-04 | global batch size:   512 | lm loss: 9.876543E+00 | loss scale: 1.0 |' >line
    mkdir shared
    here_with --set entrypoint='[/bin/cat, line]' --set checkpoint_storage.host_path="$PWD/shared"
    expect_status 0
    run task show "$(task_id)" --json
    expect_equal "what was reported" "20 9.876543" \
        "$(field "' '.join(str(d['attempts'][0]['last_report'][k]) for k in ('step', 'loss'))" "$work/out")"
}

horovod_is_refused() {
    take_blocks Horovod
    here_with --set entrypoint='[touch, started]'
    expect_status 78
    [ ! -e started ] || note_failure "a rank was started"
}

test_case "train-frameworks(7) has all frameworks, and its scripts are Python" page_is_whole
test_case "what it names for all frameworks is in a plan" names_are_given 'What holds for all of them' 'PyTorch DDP'
while read -r framework; do
    case $framework in
        *FSDP | Lightning | *Accelerate) others=('PyTorch DDP') ;;
        *) others=() ;;
    esac
    test_case "what it names for $framework is in a plan" names_are_given "$framework" "${others[@]}"
done < <(sed -n '/^\.Sh FRAMEWORKS/,$s/^\.Ss //p' "$page")
test_case "launchers of whole hosts are refused without processes: per_host" launchers_are_refused
test_case "Lightning's and DeepSpeed's sizes agree" sizes_agree
test_case "the DDP script of the page trains, reports, and goes on after a failure" ddp_trains_and_goes_on
test_case "the DDP script of the page runs under torchrun" ddp_under_torchrun
test_case "JAX's processes meet by the lines of the page" jax_meets
test_case "TensorFlow's workers meet by the lines of the page" tensorflow_meets
test_case "the page's pattern reads a line of Megatron-LM" megatron_is_read
test_case "the experiment of Horovod is not launched" horovod_is_refused
finish
