#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Directories that travel, on this machine.   context_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

cache() { echo "$work/home/.cache/train"; }
copy() { echo "$(cache)/runs/$(task_id)-0"; }

# shown TEXT: what rank 0 prints, without its prefix.
shown() { sed -n 's/^\[0\] //p' "$work/out"; }

starts_in_a_copy() {
    mkdir -p code/sub
    echo 'print("hello")' >code/main.py
    echo original >code/sub/file
    run launch -H localhost:2 -n 2 --context code -- /bin/sh -c 'pwd; cat sub/file; echo "$RANK" >"made-$RANK"'
    expect_status 0
    expect_equal "what rank 0 printed" "$(copy) original" "$(shown | paste -sd ' ')"
    expect_out "^\[1\] $(copy)\$"
    expect_equal "what the ranks left there" "0 1" "$(cat "$(copy)/made-0" "$(copy)/made-1" | paste -sd ' ')"
    expect_equal "what they left here" "main.py sub" "$(find code -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | paste -sd ' ')"
    run launch -n 1 --context code -- /usr/bin/python3 main.py
    expect_out '^\[0\] hello$'
    expect_equal "packed contexts" 1 "$(find "$(cache)/contexts" -type f | wc -l)"
    expect_equal "modes of the cache" "700 700 700" \
        "$(stat -c %a "$(cache)" "$(cache)/contexts" "$(cache)/runs" | paste -sd ' ')"
}

working_directory_inside() {
    mkdir -p code/a/b
    run launch -n 1 --context code --set working_directory=a/./b/ -- pwd
    expect_equal "where it ran" "$(copy)/a/b" "$(shown)"
    run launch -n 1 --context code --set working_directory=. -- pwd
    expect_equal "where it ran" "$(copy)" "$(shown)"
    run launch -n 1 --context code --set working_directory=/usr/bin -- pwd
    expect_equal "where it ran" /usr/bin "$(shown)"
    run launch -n 1 --context code --set working_directory=a/../.. -- pwd
    expect_status 78
    expect_err "working_directory 'a/../..' is outside of the context"
    run launch -n 1 --context code --set working_directory=gone -- pwd
    expect_status 72
    expect_err "working directory '.*/runs/.*-0/gone': no such file"
}

relative_program() {
    mkdir code
    printf '#!/bin/sh\necho ran\n' >code/run.sh
    chmod 755 code/run.sh
    run launch -n 1 --context code -- ./run.sh
    expect_out '^\[0\] ran$'
    chmod 644 code/run.sh
    run launch -n 1 --context code -- ./run.sh
    expect_status 72
    expect_equal "copies of tasks that never began" 1 "$(find "$(cache)/runs" -mindepth 1 -maxdepth 1 | wc -l)"
}

# It is looked for in the copy, where the rank will run, and not where the launcher is.
script_inside() {
    mkdir -p code/lib
    echo 'print("ran")' >code/lib/prog.py
    run launch -n 1 --context code --set working_directory=lib -- python3 prog.py
    expect_out '^\[0\] ran$'
    run launch -n 1 --context code -- python3 code/lib/prog.py
    expect_status 72
    expect_err "python3 cannot read its script '.*/runs/.*-0/code/lib/prog.py': no such file"
    expect_err 'a context brings what is in its directory'
    run launch -n 1 --context code --set working_directory=lib -- python3 prgo.py
    expect_status 72
    expect_err "did you mean 'prog.py'\?"
}

ignored() {
    mkdir -p code/sub/__pycache__ code/.git
    touch code/{a.bin,b.py,c.pyc,.git/config,sub/keep.bin,sub/__pycache__/x}
    echo '*.bin' >code/.gitignore
    echo '!keep.bin' >code/sub/.gitignore
    run launch -n 1 --context code -- find . -type f
    expect_equal "files by .gitignore" "./.gitignore ./b.py ./sub/.gitignore ./sub/keep.bin" \
        "$(shown | LC_ALL=C sort | paste -sd ' ')"
    echo 'b.py' >code/.detignore
    run launch -n 1 --context code -- find . -type f
    expect_equal "files by .detignore" "./.gitignore ./a.bin ./sub/.gitignore ./sub/keep.bin" \
        "$(shown | LC_ALL=C sort | paste -sd ' ')"
    printf '.git*\n!b.py\n' >code/.trainignore
    run launch -n 1 --context code -- find . -type f
    expect_equal "files by .detignore and .trainignore" "./a.bin ./b.py ./sub/keep.bin" \
        "$(shown | LC_ALL=C sort | paste -sd ' ')"
    rm code/.detignore
    printf 'b.py\n!a.bin\n' >code/.trainignore
    run launch -n 1 --context code -- find . -type f
    expect_equal "files by .gitignore and .trainignore" "./.gitignore ./a.bin ./sub/.gitignore ./sub/keep.bin" \
        "$(shown | LC_ALL=C sort | paste -sd ' ')"
}

secrets_are_warned_of() {
    local warning="warning: the context has files that commonly hold keys or passwords, and that every host gets: '.env', 'deep/.aws/credentials', 'k1.pem', 'k2.pem' and 1 more; to leave them out, name them in .trainignore\$"
    mkdir -p code/deep/.aws
    touch code/{.env,.env.example,deep/.aws/credentials,main.py,k1.pem,k2.pem,k3.pem}
    run launch -n 1 --context code -- true
    expect_status 0
    expect_err "^train: $warning"
    run plan -n 1 --context code -- true
    expect_out '^warning: the context has files that commonly hold keys or passwords'
    printf '.env\n*.pem\n.aws/\n' >code/.trainignore
    run launch -n 1 --context code -- true
    expect_status 0
    expect_no_err 'keys or passwords'
}

own_output_is_no_context() {
    echo x >file
    output=$work/here/log errors=$work/here/errors run launch -n 1 --context . -- ls
    expect_equal "what the rank saw" "[0] file" "$(cat log)"
    grep -q "^train: warning: 'log' is what train writes to, and is left out" errors ||
        note_failure "no warning in: $(cat errors)"
}

faults_are_told_together() {
    mkdir -p code/d
    ln -s ../out code/link
    ln -s ../../out code/d/link
    ln -s /etc code/abs
    run launch -n 1 --context code -- touch ran
    expect_status 78
    expect_err "^train: the link 'abs' of the context points to '/etc', outside of it\$"
    expect_err "^train: the link 'd/link' of the context points to '../../out', outside of it\$"
    expect_err "^train: the link 'link' of the context points to '../out', outside of it\$"
    expect_last_err 'failed: config (exit 78)'
    [ ! -e "$(cache)/runs" ] || note_failure "there is a copy"
}

too_large() {
    mkdir code
    truncate -s 60M code/a.bin
    truncate -s 50M code/b.bin
    run launch -n 1 --context code -- true
    expect_status 78
    expect_err "^train: the context 'code' has 110.0 MiB, more than the 100.0 MiB that may travel; 'a.bin' has 60.0 MiB, 'b.bin' has 50.0 MiB\$"
    expect_err '^  leave out what the ranks do not need: name it in code/.trainignore$'
    echo a.bin >code/.trainignore
    run launch -n 1 --context code -- ls
    expect_status 0
    expect_equal "what is left" b.bin "$(shown)"
}

too_many() {
    mkdir -p code/data
    (cd code/data && seq 100001 | xargs touch)
    run launch -n 1 --context code -- true
    expect_status 78
    expect_err "has more than 100000 files and folders; 100001 of the first 100001 are in 'data'"
}

no_directory() {
    run launch -n 1 --context gone -- true
    expect_status 66
    expect_err "^train: --context: there is no directory 'gone': no such file"
    touch file
    run launch -n 1 --context file -- true
    expect_status 66
    expect_err "^train: --context: 'file' is not a directory\$"
    run launch -n 1 --context '' -- true
    expect_status 64
    run plan -n 1 --context gone -- true
    expect_status 66
}

# Ray's runtime_env names it, too.
runtime_env_names_it() {
    mkdir code
    echo 'echo "$GREETING from $(cat word)"' >code/say.sh
    echo code >code/word
    cat >experiment.yaml <<'YAML'
entrypoint: ["/bin/sh", "say.sh"]
runtime_env: {working_dir: code, env_vars: {GREETING: hello}}
YAML
    run launch experiment.yaml
    expect_status 0
    expect_out '^\[0\] hello from code$'
    run plan experiment.yaml
    expect_out '^context: code: 2 files'
    mkdir other
    cp code/say.sh other
    echo other >other/word
    run launch experiment.yaml --context other
    expect_out '^\[0\] hello from other$'
    run launch experiment.yaml --set runtime_env.working_dir=gone
    expect_status 66
    expect_err "^train: runtime_env.working_dir: there is no directory 'gone': no such file"
    run launch experiment.yaml --set runtime_env.working_dir=s3://bucket/code
    expect_last_err 'failed: config (exit 78)'
}

plan_shows_it() {
    mkdir code
    echo hello >code/file
    mkfifo code/fifo
    run plan -n 1 --context code -- true
    expect_status 0
    expect_out '^context: code: 1 file, 6 bytes, sha256 [0-9a-f]{12}$'
    expect_out "^warning: 'fifo' is no file, folder or link"
    run plan -n 1 --context code --json -- true
    expect_schema plan "$work/out"
    local planned
    planned=$(field 'd["context"]["sha256"]' "$work/out")
    run launch -n 1 --context code --json -- true
    expect_status 0
    expect_schema task "$work/out"
    expect_equal "what was planned" "$planned" "$(field 'd["context"]["sha256"]' "$work/out")"
    expect_equal "its size" "1 6" "$(field 'str(d["context"]["files"]) + " " + str(d["context"]["bytes"])' "$work/out")"
    run task show "$(task_id)"
    expect_out "^context    $work/here/code: 1 file, 6 bytes, sha256 ${planned:0:12}\$"
    ln -s .. code/out
    run plan -n 1 --context code -- true
    expect_status 78
    run launch -n 1 --json -- true
    expect_schema task "$work/out"
    expect_equal "without a context" None "$(field 'd["context"]' "$work/out")"
}

other_launchers_do_not_bring_it() {
    local format
    mkdir code
    echo hello >code/file
    for format in env hostfile slurm; do
        run plan -H localhost:1 -n 1 --context code --format "$format" -- true
        expect_status 0
        expect_equal "what --format $format warns of" \
            "train: warning: --format $format does not bring the context 'code' to the hosts
  start the ranks in a copy that every host sees, or let 'train launch' bring it" "$(cat "$work/err")"
        [ "$format" = env ] || expect_out '^# .*code: 1 file, 6 bytes, sha256 [0-9a-f]{12}$'
    done
    run plan -H localhost:1 -n 1 --format slurm -- true
    expect_equal "warnings without a context" "" "$(cat "$work/err")"
    expect_no_out context
    mv code $'x\ntouch ran'
    run plan -H localhost:1 -n 1 --context $'x\ntouch ran' --format slurm -- true
    expect_no_out '^touch'
    bash -n "$work/out" || note_failure "bash -n"
}

results_survive_the_launcher() {
    mkdir code
    start launch -n 1 --context code -- /bin/sh -c 'echo result >result; exec sleep 4711'
    within 20 "the rank runs" process_count_is 1 '^sleep 4711'
    kill -KILL "$launcher"
    await
    within 20 "the rank has ended" process_count_is 0 '^sleep 4711'
    expect_equal "what it left" result "$(cat "$(cache)"/runs/*/result)"
}

no_home() {
    mkdir code
    touch "$work/home/.cache"
    run launch -n 1 --context code -- pwd
    expect_status 0
    [[ $(shown) == /var/tmp/train-*/runs/* || $(shown) == /tmp/train-*/runs/* ]] ||
        note_failure "it ran in $(shown)"
    # What it left outside of this case's folder.
    run task show "$(task_id)" --json
    local left
    left=$(field 'd["context"]["sha256"]' "$work/out")
    rm -rf /var/tmp/train-"$UID"/runs/"$(task_id)"-0 /tmp/train-"$UID"/runs/"$(task_id)"-0
    rm -f /var/tmp/train-"$UID"/contexts/"$left".tar.gz /tmp/train-"$UID"/contexts/"$left".tar.gz
}

test_case "ranks start in a copy of the context, which stays with their results" starts_in_a_copy
test_case "the working directory is a part of the context, or absolute" working_directory_inside
test_case "a program of the context is run from there" relative_program
test_case "a script of an interpreter is looked for in the copy of the context" script_inside
test_case "ignore files are honoured" ignored
test_case "files that commonly hold secrets are warned of" secrets_are_warned_of
test_case "what train itself writes to does not travel" own_output_is_no_context
test_case "all links that leave the context are named" faults_are_told_together
test_case "too large a context is refused with its biggest files" too_large
test_case "a context of too many files is refused with the folder they are in" too_many
test_case "a context that is no directory is refused" no_directory
test_case "runtime_env: {working_dir} is the context" runtime_env_names_it
test_case "plan, task show and --json say what travels" plan_shows_it
test_case "what plan writes for other launchers says that it does not bring it" other_launchers_do_not_bring_it
test_case "results outlive a launcher that is killed" results_survive_the_launcher
test_case "without a home there are other places" no_home
finish
