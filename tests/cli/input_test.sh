#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Bad input: each message says where, what and what next, on one screen.   input_test.sh path/to/train
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

# refused STATUS CLASS REGEX... -- ARGUMENT...: the program says all that and nothing of it twice,
# in at most 24 lines of at most 200 columns, names class and code last, and leaves nothing.
refused() {
    local code=$1 class=$2 wanted=() regex
    shift 2
    while [ "$1" != -- ]; do wanted+=("$1"); shift; done
    shift
    run "$@"
    expect_equal "exit status of: train $*" "$code" "$status"
    expect_equal "last line of: train $*" "train: failed: $class (exit $code)" "$(tail -n 1 "$work/err")"
    for regex in "${wanted[@]}"; do expect_err "$regex"; done
    [ "$(wc -l <"$work/err")" -le 24 ] || note_failure "more than a screen: $(wc -l <"$work/err") lines"
    [ "$(awk '{ print length($0) }' "$work/err" | sort -n | tail -n 1)" -le 400 ] || note_failure "a line is too long"
    [ "$(wc -l <"$work/err")" -ge 2 ] || note_failure "it only says: $(cat "$work/err")"
    expect_equal "stdout" "" "$(cat "$work/out")"
}

experiment() { printf '%s\n' "$@" >experiment.yaml; }

files() {
    refused 66 no_input "^train: cannot read the experiment file 'missing.yaml': no such file" \
        'current directory' -- launch missing.yaml
    touch experiment.yaml
    refused 66 no_input "did you mean 'experiment.yaml'\?" -- launch experimnet.yaml
    refused 66 no_input "there is no directory 'nowhere' either" -- plan nowhere/experiment.yaml
    refused 66 no_input "the experiment file '.' is a directory" 'path of a file' -- launch .
    refused 66 no_input "cannot read the hosts file 'nope': no such file" -- launch --hostfile nope -- true
    : >empty
    refused 78 hosts '^train: empty: no hosts in it' 'node01 slots=8' -- launch --hostfile empty -- true
    environment=(TRAIN_HOSTFILE=nope)
    refused 66 no_input "TRAIN_HOSTFILE.*nope" -- launch -- true
    environment=()
    head -c 5000000 /dev/zero | tr '\0' '#' >large.yaml
    refused 78 config "'large.yaml' is larger than 4 MiB" -- launch large.yaml
    [ ! -e "$work/state" ] || note_failure "a task was recorded"
}

yaml() {
    experiment 'name: x' 'entrypoint: [true'
    refused 78 config '^train: experiment.yaml:[23]:[0-9]+: invalid YAML' -- launch experiment.yaml
    experiment 'entrypoint: ["true"]' 'slot_per_trial: 2'
    refused 78 config "^train: experiment.yaml:2:1: unknown key 'slot_per_trial'" \
        "did you mean 'slots_per_trial'\?" '^  2 \| slot_per_trial: 2' -- launch experiment.yaml
    experiment 'entrypoint: ["true"]' 'global_batch_size: 2' 'slots_per_trial: 4'
    refused 78 config '^train: experiment.yaml:2:20: a global batch of 2' 'at least 4' -- launch experiment.yaml
    experiment 'name: x'
    refused 78 config "^train: experiment.yaml.*nothing to run: 'entrypoint' is missing" \
        'python3 train.py' -- launch experiment.yaml
    : >experiment.yaml
    refused 78 config 'experiment.yaml' -- launch experiment.yaml
    printf '\x7fELF\x01\x02\x00\x00' >experiment.yaml
    refused 78 config 'experiment.yaml' -- launch experiment.yaml
    for i in $(seq 100); do echo "unknown_$i: $i"; done >experiment.yaml
    run launch experiment.yaml
    expect_status 78
    expect_err '\.\.\. and [0-9]+ more'
}

# Most often a shell variable that is not set: the default would not be what was meant.
empty_values() {
    local option empty
    experiment 'entrypoint: ["true"]'
    for empty in '' ' '; do
        for option in --hosts --hostfile --include --exclude --context --set; do
            refused 64 usage "^train: $option: an empty value names no [a-z]+ \(a shell variable" \
                "see 'train plan --help'" -- plan "$option" "$empty" experiment.yaml
        done
        refused 64 usage '^train: --hosts: an empty value names no hosts' -- launch -H "$empty" -- true
        refused 64 usage '--hosts( needs a value|: an empty value)' -- launch "--hosts=$empty" -- true
        refused 64 usage '^train: CONFIG: an empty value names no experiment' -- launch "$empty" -- true
        refused 64 usage '^train: CONFIG: an empty value names no experiment' -- config show "$empty"
        refused 64 usage '^train: FILE: an empty value names no file' -- config check experiment.yaml "$empty"
        refused 64 usage '^train: NAME: an empty value names no schema' -- config schema "$empty"
        refused 64 usage '^train: TASK: an empty value names no task' -- task show "$empty"
        refused 64 usage '^train: TASK: an empty value names no task' -- task logs "$empty"
        refused 64 usage '^train: TASK: an empty value names no task' -- task kill "$empty"
        refused 64 usage '^train: --tee: an empty value names no ranks' -- launch --tee "$empty" -- true
        refused 64 usage '^train: --wait: an empty value names no duration' -- launch --wait= -- true
        refused 64 usage '^train: --svg: an empty value names no file' -- plan --svg "$empty" -- true
        refused 64 usage '^train: --svg: an empty value names no file' -- task show abc --svg "$empty"
    done
    refused 78 hosts "^train: -H: a host is missing beside the comma" 'node\[01-04\]' -- launch -H , -- true
    refused 64 usage "--slots: '' is not a whole number" -- launch -n '' -- true
    refused 64 usage "--batch: '' is not a whole number" -- launch --batch '' -- true
    [ ! -e "$work/state" ] || note_failure "a task was recorded"
}

both_files_at_once() {
    experiment 'entrypoint: ["true"]' 'slot_per_trial: 2'
    echo 'node01 slot=4' >hosts
    refused 78 config "unknown key 'slot_per_trial'" "^train: hosts:1:8: .*slot" -- \
        launch experiment.yaml --hostfile hosts
}

counts() {
    refused 69 never '3 slots asked, localhost has 2' 'nearest count that fits: 2' -- launch -H localhost:2 -n 3 -- true
    refused 64 usage "--slots: '1000001' is not a whole number from 1 to 1000000" -- launch -n 1000001 -- true
    run plan -H 'n[1-1000]:1000' -n 1000000 --format hostfile -- true # what is promised is taken
    expect_status 0
    refused 64 usage "--slots: '0' is not a whole number from 1 to" -- launch -n 0 -- true
    refused 64 usage "--slots: 'x' is not a whole number from 1 to" -- launch -n x -- true
    refused 64 usage "--slots: '-1' is not a whole number" -- launch -n -1 -- true
    refused 64 usage "--slots: '1.5' is not a whole number" -- launch -n 1.5 -- true
    refused 64 usage "--slots: '99999999999999999999' is not" -- launch -n 99999999999999999999 -- true
    refused 64 usage "--batch: '-1' is not a whole number" -- launch --batch -1 -- true
    refused 78 config "a global batch of 1 is less than one sample for each of 2" -- launch -H localhost:2 -n 2 --batch 1 -- true
    refused 64 usage '-n,--slots was given 2 times' 'give it once' -- launch -n 1 -n 2 -- true
    refused 64 usage '-n,--slots needs a value: SLOTS' -- launch -n -- true
    refused 64 usage '--batch needs a value: N' -- launch --batch
}

commands() {
    refused 64 usage "^train: 'train' does nothing without a command" 'launch, plan, report, once-per-host, task' --
    refused 64 usage "^train: 'train' has no command 'lauch'" "did you mean 'launch'\?" -- lauch
    refused 64 usage "^train: 'train' has no command 'frobnicate'" 'launch, plan, report, once-per-host, task' -- frobnicate
    refused 64 usage "^train: 'train task' does nothing without a command" 'list, show, report, best, logs, attach, wait, kill' -- task
    refused 64 usage "^train: 'train task' has no command 'lsit'" "did you mean 'list'\?" -- task lsit
    refused 64 usage "^train: 'train' has no command 'kill'" "did you mean 'train task kill'\?" -- kill abcd
    refused 64 usage "^train: 'train' has no command 'list'" "did you mean 'train task list' or 'train hosts list'\?" -- list
    refused 64 usage "^train: 'train task' has no command 'launch'" "did you mean 'train launch'\?" -- task launch -n 1
    refused 64 usage "^train: 'train task show' needs a TASK" "see 'train task show --help'" -- task show
    refused 64 usage "^train: 'b' is one word too many" -- task show a b
    refused 64 usage "^train: 'train' has no option '--json'" -- --json
    refused 64 usage "^train: 'train launch' has no option '--slot'" "did you mean '--slots'\?" -- launch --slot 4 -- true
    refused 64 usage "^train: 'train launch' has no option '--bogus'" "see 'train launch --help'" -- launch --bogus -- true
    refused 64 usage "^train: 'train launch' has no option '-x'" -- launch -x -- true
    refused 64 usage "^train: 'train plan' has no option '--tee'" -- plan --tee none -- true
    refused 64 usage "'yaml' is none of table, json, env, hostfile and slurm" -- plan --format yaml -- true
    refused 64 usage "'rsh' is none of auto, ssh and openssh" -- plan --transport rsh -- true
    refused 64 usage "'local' is none of auto, ssh and openssh" -- launch --transport local -- true
    refused 64 usage '--tee does not know .some.' 'rank:0,4-7' -- launch --tee some -- true
    refused 64 usage '--tee does not know .rank:3-1.' -- launch --tee rank:3-1 -- true
    refused 64 usage "--rank does not know 'x'" '0,4-7' -- task logs abc --rank x
    refused 64 usage "--since does not know 'soon'" '10m' -- task logs abc --since soon
    refused 64 usage '--json.*--csv' -- task list --json --csv
    refused 64 usage '-H and --hostfile were both given' 'use one of them' -- launch -H a --hostfile b -- true
}

nothing_to_run() {
    refused 64 usage 'neither an experiment nor a command' 'python3 train.py' -- launch
    refused 64 usage 'neither an experiment nor a command' -- launch -n 4
    refused 64 usage 'neither an experiment nor a command' -- plan --
    refused 64 usage "^train: 'x.py' is one word too many: 'train launch' takes one experiment" \
        '^  train launch -n 1 -- python3 x.py$' -- launch python3 x.py
    refused 64 usage "^  train launch -n 1 -- python3 x.py --lr 0.1 'a b'$" -- launch python3 x.py --lr 0.1 'a b'
    refused 64 usage '^  train launch -n 2 --tee all -- python3 x.py$' -- launch -n 2 --tee all python3 x.py
    refused 64 usage '^  train launch -n2 -- python3 x.py --lr 1$' -- launch -n2 python3 x.py --lr 1
    refused 64 usage '^  train launch -H a:1 -n 1 -- python3 x.py$' -- launch -H a:1 python3 x.py
    refused 64 usage '^  train launch -n 2 experiment.yaml -- python3$' -- launch -n 2 experiment.yaml python3
    refused 64 usage "^  train launch experiment.yaml -- --lr 0.1$|has no option '--lr'" -- launch experiment.yaml --lr 0.1
    refused 64 usage '^  train launch -n 1 -- python3 x.py data$' -- launch x.py data
    refused 66 no_input "experiment file 'x.py'" 'train launch -n 1 -- python3 x.py' -- launch x.py
    printf '%s\n' 'import os' 'def main(argv: list):' '    pass' >x.py
    local command
    for command in launch plan 'config check' 'config show'; do
        # shellcheck disable=SC2086 # words of a command
        refused 78 config '^train: x.py: this is a script, not an experiment' \
            '^  to run it: train launch -- python3 x.py$' -- $command x.py
    done
    refused 66 no_input "experiment file 'python3'" 'train launch -n 1 -- python3' -- launch python3
}

settings() {
    refused 64 usage "^train: --set:.* 'name' has no '='" 'write --set key.path=value' -- launch --set name -- true
    refused 78 config "^train: --set:.*unknown key 'nam'" "did you mean 'name'\?" -- launch --set nam=x -- true
    refused 78 config '^train: --set' -- launch --set 'name=[' -- true
    refused 78 config 'stop_grace' -- launch --set stop_grace=soon -- true
}

hosts() {
    refused 78 hosts '^train: -H' -- launch -H 'a:0' -- true
    refused 78 hosts '^train: -H.*a' -- launch -H 'a:1,a:1' -- true
    refused 78 hosts '^train: -H' -- launch -H 'node[01-' -- true
    printf 'node01 slots=4\nnode02 slot=4\n' >hosts
    refused 78 hosts "^train: hosts:2:8: unknown .*'slot'" "did you mean 'slots'" -- launch --hostfile hosts -- true
}

# What only the host can say: nothing is started, and the task is recorded as failed.
refused_by_host() { # refused_by_host WHAT_IS_MISSING REGEX... -- ARGUMENT...
    local missing=$1
    shift
    refused 72 "missing: host 'localhost': $missing" "$@"
    expect_equal "state" failed "$(state_of "$(task_id)")"
}

programs_and_directories() {
    refused_by_host "cannot execute '/no/such'" "host 'localhost': cannot execute '/no/such': no such file" 'every host' -- launch -- /no/such
    refused_by_host "program 'echo a && b'" "program 'echo a && b' was not found" 'put sh -c before a line of the shell' -- launch -- 'echo a && b'
    refused_by_host "program 'nonesuch'" "program 'nonesuch' was not found; searched PATH=" 'absolute path' -- launch -- nonesuch
    echo 'not a program' >plain
    refused_by_host "cannot execute '$PWD/./plain'" "/here/.*plain': permission denied" -- launch -- ./plain
    printf '#!/no/interpreter\n' >script
    chmod +x script
    refused_by_host "cannot execute '$PWD/./script': its interpreter '/no/interpreter'" "its interpreter '/no/interpreter'" -- launch -- ./script
    echo 'pass' >prog.py
    refused_by_host "python3 cannot read its script '$PWD/prgo.py'" \
        "host 'localhost': python3 cannot read its script" "did you mean 'prog.py'\?" -- launch -- python3 prgo.py
    mkdir -p sub
    refused_by_host "python3 cannot read its script '$PWD/sub/prog.py'" 'with --context|--context sends' -- \
        launch --set working_directory=sub -- python3 prog.py
    # shellcheck disable=SC2016 # expanded by the shell of the rank
    refused_by_host "python3 cannot read its script '$PWD/absent.py'" -- launch --set 'entrypoint=python3 absent.py --lr $X'
    refused_by_host "working directory '/no/where'" "working directory '/no/where': .*" 'with --context' -- launch --set working_directory=/no/where -- touch "$work/here/started"
    refused_by_host "working directory '$PWD/plain'" "working directory '.*/here/plain' is not a directory" -- launch --set working_directory=plain -- true
    [ ! -e "$work/here/started" ] || note_failure "something was started"
}

shell_says_what_is_missing() {
    experiment 'entrypoint: nonesuch --flag'
    run launch experiment.yaml
    expect_status 127
    expect_err 'nonesuch'
    expect_last_err "failed: worker: rank 0 on 'localhost' exited with code 127 (exit 127)"
}

steering_bytes() {
    refused 66 no_input 'cannot read' -- launch $'\e[2J\e]0;title\a.yaml'
    expect_equal "escape bytes" 0 "$(grep -ac $'\x1b' "$work/err")"
    printf 'entrypoint: ["true"]\n\x1b[2J: 1\n' >experiment.yaml
    run launch experiment.yaml
    expect_status 78
    expect_equal "escape bytes" 0 "$(grep -ac $'\x1b' "$work/err")"
}

help_is_an_answer() {
    local words
    for words in '' launch plan task 'task list' 'task show' 'task logs' 'task kill'; do
        # shellcheck disable=SC2086 # several words
        run $words --help
        expect_status 0
        expect_equal "stderr" "" "$(cat "$work/err")"
        expect_out '^Usage: train '
        [ "$(wc -l <"$work/out")" -le 42 ] || note_failure "more than a screen"
        [ "$(wc -L <"$work/out")" -le 100 ] || note_failure "a line is too long"
    done
    run --version
    expect_equal "version" "train $(sed -n 's/^project(train VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")" "$(head -n 1 "$work/out")"
    expect_out "^wire [0-9]+$"
    expect_out '^libssh2 [0-9.]+, OpenSSL [0-9.]+[a-z]*, zlib [0-9.]+, SQLite [0-9.]+, '
    expect_equal "whether there is a commit" "$([ ! -e "$root/.git" ] || echo 1)" "$(grep -cE '^commit [0-9a-f]{12}(-dirty)?$' "$work/out" | grep -v 0)"
}

test_case "files that cannot be read" files
test_case "YAML that is wrong" yaml
test_case "options whose value is empty" empty_values
test_case "mistakes of experiment and hosts are told together" both_files_at_once
test_case "counts that cannot be" counts
test_case "misspelt commands and options" commands
test_case "nothing to run, and a command where a file belongs" nothing_to_run
test_case "--set that is wrong" settings
test_case "hosts that are wrong" hosts
test_case "programs and working directories that are missing" programs_and_directories
test_case "a shell's word on a missing program is shown" shell_says_what_is_missing
test_case "bytes that steer a terminal are not passed on" steering_bytes
test_case "help goes to stdout and fits a screen" help_is_an_answer
finish
