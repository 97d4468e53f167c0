#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What bash, zsh and fish complete of a command line of train.   completion_test.sh path/to/train
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

# --- What the program says ---

# words_of WORD...: the candidates for the last word, one a line, without descriptions.
words_of() { run complete -- "$@" && sed 1d "$work/out" | cut -f 1; }

# expect_words WHAT WORDS WORD...: exactly these, in this order, and nothing on stderr.
expect_words() {
    local what=$1 expected=$2
    shift 2
    expect_equal "$what" "$expected" "$(words_of "$@" | paste -sd ' ')"
    expect_equal "stderr of that" "" "$(cat "$work/err")"
}

expect_shell_adds() {
    local expected=$1
    shift
    run complete -- "$@"
    expect_equal "what the shell adds to '$*'" "$expected" "$(head -n 1 "$work/out")"
}

commands_and_options() {
    local command
    expect_words "commands" "$("$train" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p' | paste -sd ' ')" ''
    expect_words "commands of task" "show" task s
    for command in launch 'task list' 'config check'; do
        # shellcheck disable=SC2086 # several words
        expect_equal "options of $command" "$("$train" $command --help | grep -oE '^  -[^ ]*' | tr -d ' ' | tr , '\n' | grep -e -- | sort)" \
            "$(words_of $command -- | sort)"
    done
    expect_words "an option that was given" "--csv" task list --json --cs
    expect_words "an option that was given, again" "" task list --csv --cs
    expect_words "options that may be repeated" "--set --secret" launch --set name=a --secret A --se
    expect_words "nothing of hidden commands" "" agent ''
    expect_words "nothing after a word that is none" "" task shwo ''
    run complete -- task show --js
    expect_out $'^--json\tPrint JSON, with plan and configuration$'
}

values() {
    expect_words "a format" "json" plan --format j
    expect_words "a format in the same word" "--format=json" plan --format=j
    expect_words "a transport" "auto ssh openssh" task list --transport ''
    expect_words "a tier of checks" "--check=full" launch --check=fu
    expect_words "a shell" "zsh" completion z
    expect_words "a schema" "task" config schema t
    expect_words "a key, which a value follows" "resources.placement=" launch --set resources.place
    expect_words "a value of a key" "--set=resources.placement=strict_pack --set=resources.placement=strict_spread" \
        launch --set=resources.placement=st
    expect_words "a truth" "allow_busy=true allow_busy=false" plan --set allow_busy=
    expect_words "no value where any fits" "" launch -n ''
    expect_shell_adds files launch ''
    expect_shell_adds files launch --hostfile=
    expect_shell_adds directories launch --context ''
    expect_shell_adds nothing launch -n ''
    expect_shell_adds command launch -n 1 -- py
    [ ! -e "$work/state" ] || note_failure "a state directory was made"
}

hosts() {
    printf 'w0 slots=2\nw1 slots=4\nn1 slots=1\n' >hosts
    expect_words "hosts of --hostfile" "w0 w1" plan --hostfile hosts --include w
    expect_words "another part" "w0@w1:0,2@n1" plan --hostfile=hosts --exclude w0@w1:0,2@n
    expect_words "hosts of -H" "b" plan -H a,b:2 --include b
    expect_words "no hosts" "" plan --include ''
    cp hosts home-hosts
    mkdir -p "$work/home"
    cp hosts "$work/home/hosts"
    # shellcheck disable=SC2088 # as it is typed
    expect_words "hosts of a file at home" "n1" plan --hostfile '~/hosts' --include n
    environment=(TRAIN_HOSTFILE="$PWD/hosts")
    expect_words "hosts of TRAIN_HOSTFILE" "w0 w1 n1" plan --include ''
    printf 'hosts: [' >hosts
    expect_words "hosts of a file that is wrong" "" plan --include ''
    mkfifo pipe
    environment=(TRAIN_HOSTFILE="$PWD/pipe")
    expect_words "hosts of a pipe that nobody writes" "" plan --include ''
}

# Two tasks: `ended` and `running`. The name of the latter would run a command in a careless shell.
launch_two() {
    run launch -n 1 --set name=first -- true
    expect_status 0
    ended=$(task_id)
    # shellcheck disable=SC2016 # to be expanded by nobody
    start launch -n 1 --set 'name="$(touch stolen)`touch stolen`:\t\u001b[31m"' -- sleep 600
    within 20 "the second task runs" second_runs
}
second_runs() {
    running=$(task_id)
    [ "$running" != "$ended" ] && state_is "$running" running
}
end_second() {
    with_environment "$train" task kill "$running" 2>/dev/null
    await
}
# Without `run`, which would lose the launcher.
asked() { with_environment "$train" complete -- "$@" 2>&1 | sed 1d | cut -f 1 | paste -sd ' '; }

tasks() {
    local ended running
    launch_two
    expect_equal "tasks, the newest first" "$running $ended" "$(asked task show '')"
    expect_equal "tasks that have not ended" "$running" "$(asked task kill '')"
    expect_equal "tasks that have ended" "$ended" "$(asked task rm '')"
    expect_equal "a task that was named" "" "$(asked task rm "$ended" '')"
    expect_equal "the beginning of an id" "$ended" "$(asked task logs "${ended:0:5}")"
    with_environment "$train" complete -- task show "$running" >"$work/answer"
    # shellcheck disable=SC2016 # to be expanded by nobody
    expect_equal "the description" "$running"$'\trunning, $(touch stolen)`touch stolen`: \\x1b[31m' \
        "$(sed 1d "$work/answer")"
    end_second
}

damaged_state() {
    mkdir -p "$work/state/train"
    echo "no database" >"$work/state/train/tasks.db"
    expect_words "no tasks" "" task show ''
    expect_equal "what is there" tasks.db "$(ls "$work/state/train")"
}

# --- What shells make of it ---

# A train in front of the path, which notes what it is called with, a word a line; it completes as the
# true one does.
install_noting_train() {
    local shell
    mkdir -p "$work/bin"
    cat >"$work/bin/train" <<SH
#!/bin/sh
[ "\$1" = complete ] && exec "$train" "\$@"
printf '%s\n' "\$@" >"$work/typed"
echo typed:
SH
    chmod +x "$work/bin/train"
    environment=(PATH="$work/bin:$PATH" TERM=dumb ZDOTDIR="$work")
    for shell in bash zsh fish; do "$train" completion "$shell" >"$work/train.$shell"; done
    cat >"$work/bashrc" <<SH
PS1='ready> '
bind 'set enable-bracketed-paste off'
bind '"\\C-o": insert-completions'
. "$work/train.bash"
SH
    cat >"$work/.zshrc" <<SH
PS1='ready> '
unsetopt prompt_sp
autoload -Uz compinit
compinit -u -d "$work/compdump"
. "$work/train.zsh"
insert_all() { _main_complete; compstate[insert]=all; }
zle -C insert-all complete-word insert_all
bindkey '^O' insert-all
SH
}

# typed_in SHELL KEYS: the words with which train was called, after these keys and a newline in that
# shell. Ctrl-O stands for all candidates at once.
typed_in() {
    local program
    case $1 in
    bash) program=(/bin/bash --noprofile --rcfile "$work/bashrc" -i) ;;
    zsh) program=(/bin/zsh -i) ;;
    esac
    rm -f "$work/typed"
    with_environment /usr/bin/python3 "$here/screen.py" 200 50 '^ready> ' "key $2\\n" '^typed:' 'key exit\n' -- \
        "${program[@]}" >"$work/screen" 2>&1
    paste -sd ' ' "$work/typed" 2>/dev/null || sed 's/^/screen: /' "$work/screen"
}

expect_typed() { expect_equal "$1: $2" "$3" "$(typed_in "$1" "$2")"; }

in_shell() {
    local shell=$1 ended running
    command -v "$shell" >/dev/null || { skip "there is no $shell"; return; }
    install_noting_train
    printf 'w0 slots=2\nw1 slots=4\n' >hosts.yaml
    mkdir -p 'a folder'
    touch 'a folder/experiment.yaml'
    expect_typed "$shell" 'train ta\tsh\t' 'task show'
    expect_typed "$shell" 'train plan --form\tj\t' 'plan --format json'
    expect_typed "$shell" 'train plan --format=j\t' 'plan --format=json'
    expect_typed "$shell" 'train plan --set resources.place\tin\t' 'plan --set resources.placement=in_order'
    expect_typed "$shell" 'train plan --set=resources.placement=strict_p\t' 'plan --set=resources.placement=strict_pack'
    expect_typed "$shell" 'train plan --hostfile ho\t--include w0@w1\t--format t\t' \
        'plan --hostfile hosts.yaml --include w0@w1 --format table'
    expect_typed "$shell" 'train plan --hostfile=ho\t' 'plan --hostfile=hosts.yaml'
    expect_typed "$shell" 'train plan a\te\t' 'plan a folder/experiment.yaml'
    # zsh takes the last slash back when the line ends.
    expect_typed "$shell" 'train plan --context a\t.' 'plan --context a folder/.'
    expect_typed "$shell" 'train launch -n 1 -- slee\t600' 'launch -n 1 -- sleep 600'
    expect_typed "$shell" "$work/bin/train tas\\t" 'task'
    launch_two
    expect_typed "$shell" 'train task kill \t' "task kill $running"
    expect_typed "$shell" 'train task show \x0f' "task show $running $ended"
    [ ! -e stolen ] || note_failure "$shell has run a command of a task's name"
    end_second
}

# fish says by itself what it would offer.
expect_fish() {
    expect_equal "fish: $1" "$2" \
        "$(with_environment fish --no-config -c "source $work/train.fish; complete -C '$1'" 2>&1 | cut -f 1 | paste -sd ' ')"
}

in_fish() {
    local ended running
    command -v fish >/dev/null || { skip "there is no fish"; return; }
    install_noting_train
    printf 'w0 slots=2\nw1 slots=4\n' >hosts.yaml
    mkdir -p 'a folder'
    touch 'a folder/experiment.yaml'
    expect_fish 'train ta' task
    expect_fish 'train task sh' show
    expect_fish 'train plan --form' --format
    expect_fish 'train plan --format=j' --format=json
    expect_fish 'train plan --set resources.place' 'resources.placement='
    expect_fish 'train plan --hostfile ho' hosts.yaml
    expect_fish 'train plan --hostfile=ho' --hostfile=hosts.yaml
    expect_fish 'train plan --hostfile hosts.yaml --include w0@' 'w0@w0 w0@w1'
    expect_fish 'train plan --context ' 'a folder/'
    expect_fish 'train plan ' 'a folder/ hosts.yaml'
    expect_fish 'A=b train completion ' 'bash fish zsh'
    expect_fish "$work/bin/train tas" task
    expect_fish 'train launch -- train tas' task
    launch_two
    expect_fish 'train task kill ' "$running"
    expect_equal "the description in fish" "$ended"$'\tsucceeded, first' \
        "$(with_environment fish --no-config -c "source $work/train.fish; complete -C 'train task rm '")"
    [ ! -e stolen ] || note_failure "fish has run a command of a task's name"
    end_second
}

scripts() {
    local shell
    for shell in bash zsh fish; do
        run completion "$shell"
        expect_status 0
        expect_same "the script of $shell" "$work/out" "$root/cli/completion/train.$shell"
    done
    run completion sh
    expect_status 64
    expect_err "'sh' is none of bash, zsh and fish"
}

test_case "commands and options are completed, and hidden ones are not" commands_and_options
test_case "values are completed, and no state is made" values
test_case "hosts of the hosts file are completed" hosts
test_case "tasks are completed, each where it is of use" tasks
test_case "a damaged registry has no tasks, and no error" damaged_state
test_case "the scripts are those that are installed" scripts
test_case "bash completes" in_shell bash
test_case "zsh completes" in_shell zsh
test_case "fish completes" in_fish
finish
