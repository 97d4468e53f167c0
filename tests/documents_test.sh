#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What README.md, the manual and the examples say is so.   documents_test.sh path/to/train
# With TRAIN_REGENERATE=1 it rewrites what the manual has from --help; look at the difference.
#
# Shown `train launch` commands are planned, not launched: a plan reads the same files and flags.
set -u
cd "$(dirname "$0")/.." || exit 1
[ -x "${1:-}" ] || { echo "usage: ${0##*/} path/to/train" >&2; exit 2; }
train=$(realpath "$1")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export XDG_STATE_HOME=$work/state XDG_CONFIG_HOME=$work/config
unset TRAIN_HOSTFILE CUDA_VISIBLE_DEVICES SLURM_JOB_NODELIST SLURM_NODELIST PBS_NODEFILE PE_HOSTFILE
unset LSB_DJOB_HOSTFILE LSB_MCPU_HOSTS LSB_HOSTS
# shellcheck source=support/cases.sh
. tests/support/cases.sh

# expect_same WHAT: the two files $work/a and $work/b have the same lines.
expect_same() {
    local difference
    difference=$(diff "$work/a" "$work/b") || note_failure "$1:" "$difference"
}

# --- The manual is well-formed ---

check_markup() {
    local page said
    command -v mandoc >/dev/null || { note_failure "there is no mandoc"; return; }
    for page in man/*.[157]; do
        said=$(mandoc -Tlint -W warning "$page") || note_failure "$page:" "$said"
        said=$(mandoc -Tascii "$page" 2>/dev/null | sed 's/.\x08//g' | awk 'length > 80')
        [ -z "$said" ] || note_failure "$page is wider than a terminal:" "$said"
    done
}

# Sections and subsections of a page.
headings() { sed -n 's/^\.S[hs] //p' "$1"; }

# "PAGE NAMED HEADING" of each reference to a section: to one of the same page, `.Sx HEADING`; to one of
# another, the lines `.Dq HEADING`, `in`, `.Xr PAGE SECTION`.
section_references() {
    awk '
        FNR == 1 { earlier = last = "" }
        sub(/^\.(Pq )?(see )?Sx /, "") { sub(/ [.,;:]$/, ""); print FILENAME, FILENAME, $0; next }
        /^\.Xr train/ && last == "in" && sub(/^\.Dq /, "", earlier) { print FILENAME, "man/" $2 "." $3, earlier }
        { earlier = last; last = $0 }' man/*.[157]
}

check_references() {
    local page named heading count=0
    for page in man/*.[157]; do
        while read -r named; do
            [ -f "man/$named" ] || note_failure "$page names $named, which is not there"
        done < <(grep -oE '(^\.| )Xr train[a-z-]* [0-9]' "$page" | sed -E 's/.*Xr (.*) (.)/\1.\2/' | sort -u)
        named=${page#man/}
        [ "$named" = train.1 ] || grep -q "^\.Xr ${named%.*} ${named##*.}" man/train.1 ||
            note_failure "man/train.1 does not name $page"
    done
    while read -r page named heading; do
        count=$((count + 1))
        headings "$named" | grep -qxF -e "$heading" || note_failure "$page: $named has no section '$heading'"
    done < <(section_references)
    [ "$count" -ge 30 ] || note_failure "only $count references to sections were found"
}

# As HTML: each link to a page or a place of a page, and each style, is there.
check_html() {
    cmake -D "OUT=$work/html" -P man/manual_html.cmake >"$work/out" 2>&1 || note_failure "$(cat "$work/out")"
    printf '%s.html\n' man/*.[157] | sed 's|^man/||' | sort >"$work/a"
    grep -oE 'href="[a-z.0-9-]+\.html"' "$work/html/index.html" | cut -d '"' -f 2 | sort -u >"$work/b"
    expect_same "pages (<) and those that index.html names (>)"
    /usr/bin/python3 - "$work/html" >"$work/out" <<'END' || note_failure "$(cat "$work/out")"
import html.parser, pathlib, sys, urllib.parse

class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src"): self.links.append(value)
            if name == "id": self.ids.add(value)

folder = pathlib.Path(sys.argv[1])
pages = {path.name: Page(path) for path in folder.glob("*.html")}
broken, count = [], 0
for name, page in pages.items():
    for link in page.links:
        file, _, place = link.partition("#")
        if file.startswith("https://manpages.debian.org/") and not file.split("/")[-1].startswith("train"): continue
        count += 1
        file = file or name
        if not (folder / file).is_file() or place and urllib.parse.unquote(place) not in pages[file].ids:
            broken.append(f"{name} has a link to {link}, which is not there")
print("\n".join(broken) or f"only {count} links were found")
sys.exit(bool(broken) or count < 500)
END
}

# --- Options: --help against the manual, both ways ---

# One line per option of a command's --help: all its names.
help_options() {
    # shellcheck disable=SC2086 # several words
    "$train" $1 --help | sed -n 's/^  \(-[^ ]*\).*/\1/p' | tr ',' ' '
}

# Names of options in the manual's text on standard input.
manual_options() { grep -oE 'Fl (Fl )?[a-zA-Z]+(-[a-z]+)*' | sed -E 's/Fl Fl /--/; s/Fl /-/' | sort -u; }

page_of() { echo "man/train-${1%% *}.1"; }

# The synopsis of one command, as roff.
synopsis() {
    awk -v wanted=".Cm $1" '/^\.Sh DESCRIPTION/ { exit } /^\.Nm/ { on = 0 } $0 == wanted { on = 1 } on' "$(page_of "$1")"
}

check_synopsis() {
    local name names page
    page=$(page_of "$1")
    synopsis "$1" | manual_options >"$work/manual"
    [ -n "$(synopsis "$1")" ] || note_failure "$page has no synopsis of train $1"
    while read -r names; do
        [[ $names == *--help* ]] && continue
        # shellcheck disable=SC2086 # several names of one option
        grep -qxF -e "$(printf '%s\n' $names)" "$work/manual" ||
            note_failure "$page: the synopsis of train $1 lacks $names"
    done < <(help_options "$1")
    help_options "$1" | tr ' ' '\n' >"$work/help"
    while read -r name; do
        grep -qxF -e "$name" "$work/help" || note_failure "$page: train $1 has no option $name"
    done <"$work/manual"
}

check_all_options() {
    local command
    for command in '' "${commands[@]}"; do help_options "$command"; done | tr ' ' '\n' |
        grep -vx -e -h | sort -u >"$work/a"
    cat man/train*.1 man/train-[est]*.7 | manual_options | grep -vx -e -h >"$work/b"
    expect_same "options in --help (<) and in the manual (>)"
}

# check_block PAGE NAME ARGUMENT...: what stands in the page from "begin NAME" to "end NAME" is what
# tests/man_options.sh says with these arguments.
check_block() {
    local page=$1 name=$2
    shift 2
    tests/man_options.sh "$train" "$@" >"$work/a" || note_failure "tests/man_options.sh $* fails"
    if [ "$(grep -cxF -e ".\\\" begin $name" -e ".\\\" end $name" "$page")" != 2 ]; then
        note_failure "$page lacks the comment lines 'begin $name' and 'end $name'"
        return
    fi
    if [ -n "${TRAIN_REGENERATE:-}" ]; then
        awk -v name="$name" -v text="$work/a" '
            $0 == ".\\\" end " name { skipped = 0 }
            !skipped
            $0 == ".\\\" begin " name { skipped = 1; while ((getline line <text) > 0) print line }' "$page" >"$work/page"
        cat "$work/page" >"$page"
    fi
    awk -v name="$name" '$0 == ".\\\" end " name { exit } on; $0 == ".\\\" begin " name { on = 1 }' "$page" >"$work/b"
    expect_same "--help (<) and $name in $page (>), which TRAIN_REGENERATE=1 tests/documents_test.sh rewrites"
}

check_help_blocks() {
    local command
    check_block man/train.1 commands commands
    check_block man/train.1 'options of train' options
    for command in "${commands[@]}"; do
        check_block "$(page_of "$command")" "options of $command" options "$command"
    done
}

# Commands in --help against those in the list above.
check_commands() {
    local group
    {
        "$train" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p' | grep -vxE 'task|hosts|config'
        for group in task hosts config; do
            "$train" "$group" --help | sed -n "/^Commands:/,/^$/s/^  \([a-z-]*\) .*/$group \1/p"
        done
    } | sort >"$work/a"
    printf '%s\n' "${commands[@]}" | sort >"$work/b"
    expect_same "commands in --help (<) and checked here (>)"
}

# check_help_examples COMMAND: its help ends with one to three examples of it; of train itself there may be more.
check_help_examples() {
    local help line count=0
    # shellcheck disable=SC2086 # several words
    help=$("$train" $1 --help)
    while read -r line; do
        count=$((count + 1))
        [[ "$line " == "train ${1:+$1 }"* ]] || note_failure "no example of train $1: $line"
    done < <(examples_in <<<"$help")
    [ "$count" -ge 1 ] || note_failure "train $1 --help has no examples"
    [ -z "$1" ] || [ "$count" -le 3 ] || note_failure "train $1 --help has $count examples"
}

# The lines below "Examples:".
examples_in() { sed -n '/^Examples:$/,/^$/s/^  \(train .*\)/\1/p'; }

# "OPTION PLACEHOLDER TEXT" of each option that takes a value; what excludes it is left out.
options_with_values() {
    awk '/^[A-Z][a-z]*:/ { section = $1 } section != "Options:" { next }
        /^  -/ { if (line != "") print line; line = $0; next }
        /^ {30}/ { line = line " " $0; next }
        END { if (line != "") print line }' | sed -E 's/ Excludes:( --[a-z-]+)+//; s/^  //' |
        sed -nE 's/^(-[^ ]+) ([A-Z]+(=[A-Z]+|\|all|\[=@FILE\])?) +(.*)/\1 \2 \4/p'
}

# check_value_examples COMMAND: a placeholder says what a value is, or the text of the option or an example
# shows one: a number, words after a colon or before a parenthesis, or the option with a value.
check_value_examples() {
    local help names placeholder text name shown count=0
    # shellcheck disable=SC2086 # several words
    help=$("$train" $1 --help)
    while read -r names placeholder text; do
        [[ $placeholder =~ ^(FILE|DIR|N|SLOTS|N\|all|PORT|KEY=VALUE|NAME=VALUE|NAME\[=@FILE\])$ ]] && continue
        shown=no
        [[ $text =~ [0-9]|:\ [a-zA-Z]+,|[a-z]+\ \(default|One\ of ]] && shown=yes
        for name in ${names//,/ }; do
            examples_in <<<"$help" | grep -qE -e " ${name}[ =][^- ]" && shown=yes
        done
        [ "$shown" = yes ] || note_failure "train $1 --help does not show a value: $names $placeholder  $text"
    done < <(options_with_values <<<"$help")
}

check_all_value_examples() {
    local command
    for command in "${commands[@]}"; do check_value_examples "$command"; done
    # A command whose options are known, so that a help that is read wrongly is found.
    expect_equal "options of task logs with a value" '--rank --host --trial --attempt --since --tail' \
        "$("$train" task logs --help | options_with_values | cut -d ' ' -f 1 | paste -sd ' ')"
}

# --- Numbers and names that the sources fix ---

check_exit_codes() {
    # A worker's own code is none of ours.
    sed -n 's/.*return ExitCode(\([0-9]*\)).*/\1/p' cli/surroundings/exit_code.hpp | grep -vx 1 | sort -un >"$work/a"
    sed -n 's/^\.It \([0-9]*\)$/\1/p' man/train-exit-codes.7 >"$work/b"
    expect_same "exit codes in cli/surroundings/exit_code.hpp (<) and in man/train-exit-codes.7 (>)"
}

# measure.cpp reads what every rank has.
check_environment() {
    grep -rhoE --exclude=measure.cpp '(getenv|variable|find)\(([a-z_]+, )?"[A-Z0-9_]+"' cli | cut -d '"' -f 2 | sort -u >"$work/a"
    sed -n 's/^\.It Ev \([A-Z0-9_]*\).*/\1/p' man/train-environment.7 | sort -u >"$work/b"
    expect_same "environment variables read in cli/ (<) and in man/train-environment.7 (>)"
}

check_version() {
    local version
    version=$("$train" --version | head -n 1)
    grep -q "^## ${version#train } " CHANGELOG.md || note_failure "CHANGELOG.md does not begin with ${version#train }"
}

# What the two documents name in ticks as a file or a folder: PATH, or PATH.{hpp,cpp}.
check_paths() {
    local path paths=() count=0
    # shellcheck disable=SC2016 # the ticks of Markdown
    while read -r path; do
        count=$((count + 1))
        eval "paths=($path)"
        ls -d "${paths[@]}" >/dev/null 2>&1 || note_failure "there is no $path"
    done < <(grep -hoE '`(cli|backends|launcher|config_schema|tests|man)/[a-z_0-9{},./-]+`' ARCHITECTURE.md CONTRIBUTING.md |
        tr -d '`' | sort -u)
    [ "$count" -ge 40 ] || note_failure "only $count paths were found"
}

# --- Commands that are shown ---

# "FILE: COMMAND" of each; what follows a # or two spaces explains it.
shown_commands() {
    local page
    grep -H '^\$ train ' README.md | sed 's/\$ //'
    for page in man/*.[157]; do # a line that ends with \e goes on in the next one
        sed -E ':a; /\\e$/{N; s/ *\\e\n */ /; ba}' "$page" | grep '^train ' | sed "s|^|$page:|"
    done
    grep -HE '^(#     |  )train (launch|plan|task|config) ' examples/quickstart.sh examples/*/*.yaml | sed -E 's/:(#     |  )/:/'
    local command
    for command in '' task hosts config "${commands[@]}"; do
        # shellcheck disable=SC2086 # several words
        "$train" $command --help | examples_in | sed 's/^/--help:/'
    done
}

check_shown_commands() {
    local file line words code hosts count=0
    cp -r examples "$work/examples"
    cp examples/digits/experiment.yaml "$work/experiment.yaml"
    while IFS=: read -r file line; do
        count=$((count + 1))
        line=$(sed -E 's/ +#.*//; s/   +.*//; s/([a-z]) {2,}.*/\1/' <<<"$line")
        # Quotes do not occur; a glob must not either. What is redirected is left out.
        read -ra words <<<"${line%% > *}"
        [ "${words[1]}" = launch ] && words[1]=plan
        [ "${words[2]:-}" = -d ] && unset 'words[2]' # a plan does not go on by itself
        # Slots enough for what is shown without hosts.
        [[ $line == *' -H '* || $line == *hostfile* ]] || export TRAIN_HOSTFILE=$work/hosts.large
        printf 'localhost slots=16\n' >"$work/hosts.large"
        for hosts in hosts hosts.yaml HOSTS.yaml; do cp examples/digits/hosts.example.yaml "$work/$hosts"; done
        # Hosts that are asked must be there.
        [[ $line =~ ^train\ (check|task\ list|hosts\ list) ]] && printf 'localhost slots=4\n' | tee "$work/hosts" >"$work/hosts.yaml"
        [[ $line == *'-n 16'* ]] && printf 'node[01-02]:8\n' | tee "$work/hosts" >"$work/hosts.yaml"
        (cd "$work" && "$train" "${words[@]:1}") >"$work/out" 2>"$work/err" </dev/null
        code=$?
        unset TRAIN_HOSTFILE
        # A task that is shown does not exist here.
        [[ $line =~ ^train\ (task\ (show|report|best|logs|attach|exec|get|wait|kill|rerun|rm)|forward) ]] && [ "$code" = 66 ] && code=0
        # What doctor finds is of this machine.
        [ "$line" = 'train doctor' ] && [ "$code" = 1 ] && code=0
        [ "$code" = 0 ] || note_failure "$file: $line" "$(cat "$work/err")"
    done < <(shown_commands)
    [ "$count" -ge 12 ] || note_failure "only $count commands were found"
    sed -n 's/^\$ \(\.\/[^ ]*\).*/\1/p' README.md | while read -r file; do
        [ -x "$file" ] || echo "README.md shows $file, which cannot be executed"
    done >"$work/out"
    [ ! -s "$work/out" ] || note_failure "$(cat "$work/out")"
}

# --- Files that the manual shows ---

# One file for each literal block of a page: $work/block.1, ...
split_blocks() {
    rm -f "$work"/block.*
    awk -v out="$work/block." '/^\.Ed/ { on = 0 } on { print > (out n) } /^\.Bd -literal/ { on = 1; n++ }' "$1"
}

check_blocks() {
    local block count=0 words=()
    split_blocks man/train-config.5
    for block in "$work"/block.*; do
        grep -q '^entrypoint:' "$block" || continue
        count=$((count + 1))
        "$train" config check "$block" 2>"$work/err" || note_failure "an experiment in train-config(5):" "$(cat "$work/err")"
    done
    [ "$count" -ge 5 ] || note_failure "only $count experiments were found in train-config(5)"
    mkdir -p "$work/user/train"
    cat "$(grep -l '^flags:' "$work"/block.*)" >"$work/user/train/config.yaml"
    XDG_CONFIG_HOME=$work/user "$train" doctor | grep -q '^ok *config_file .* is read, and right$' ||
        note_failure "the user's file in train-config(5) is wrong"
    count=0
    while read -r line; do
        count=$((count + 1))
        eval "words=($line)"
        "$train" config show examples/digits/experiment.yaml "${words[@]}" >"$work/out" 2>"$work/err" ||
            note_failure "$line in train-config(5):" "$(cat "$work/err")"
    done < <(grep -h '^--set' man/train-config.5)
    [ "$count" -ge 4 ] || note_failure "only $count overrides were found in train-config(5)"
    split_blocks man/train-hosts.5
    count=0
    for block in "$work"/block.*; do
        ! grep -q '^train ' "$block" || continue
        count=$((count + 1))
        "$train" config check --hosts "$block" 2>"$work/err" || note_failure "hosts in train-hosts(5):" "$(cat "$work/err")"
    done
    [ "$count" -eq 4 ] || note_failure "$count hosts files were found in train-hosts(5), not 4"
}

# What host sets expand to: ".It SET Ta NAME NAME ...".
check_host_sets() {
    local set names planned count=0
    while read -r set names; do
        count=$((count + 1))
        planned=$("$train" plan -H "$set" -n "$(wc -w <<<"$names")" --json -- true 2>/dev/null |
            sed -n 's/^ *"host": "\([^"]*\)".*/\1/p' | awk '!seen[$0]++' | paste -sd ' ')
        [ "$planned" = "$names" ] || note_failure "train-hosts(5): $set is $planned, not $names"
    done < <(sed -n 's/^\.It \([^ ]*\[[^ ]*\) Ta /\1 /p' man/train-hosts.5)
    [ "$count" -ge 7 ] || note_failure "only $count host sets were found in train-hosts(5)"
}

# --- Examples ---

check_examples() {
    local file
    for file in examples/*/*.yaml; do
        [[ ${file##*/} != hosts* ]] || continue
        TRAIN_HOSTFILE='' "$train" plan "$file" -H node01:16 >"$work/out" 2>"$work/err" ||
            note_failure "$file:" "$(cat "$work/err")"
        ! grep -v 'advice' "$work/err" | grep -q . || note_failure "$file:" "$(cat "$work/err")"
        "$train" config check -W "$file" >"$work/out" 2>&1 || note_failure "$file is not legal"
        [ ! -s "$work/out" ] || note_failure "$file:" "$(cat "$work/out")"
    done
    for file in examples/*/hosts*.yaml; do
        "$train" plan --hostfile "$file" -n 1 -- true >"$work/out" 2>"$work/err" || note_failure "$file:" "$(cat "$work/err")"
    done
    # shellcheck disable=SC2016 # the ticks of Markdown
    sed -n '/^```yaml/,/^```/p' README.md | grep -v '^```' >"$work/a"
    grep -v '^#' examples/digits/experiment.yaml >"$work/b"
    expect_same "the experiment in README.md (<) and examples/digits/experiment.yaml without its comments (>)"
}

# The lines of a picture, in an order of their own, without the id of the task: some come when they come.
lines_of_picture() { grep '^<text' "$1" | sed -E 's/^[^>]*>//; s/(task|tasks)([ /])[a-z0-9]{8}/\1\2ID/g' | sort; }

check_picture() {
    tests/browser/launch_picture "$train" "$work/launch.svg" || note_failure "tests/browser/launch_picture ended with $?"
    lines_of_picture examples/launch.svg >"$work/a"
    lines_of_picture "$work/launch.svg" >"$work/b"
    [ "$(wc -l <"$work/a")" -ge 10 ] || note_failure "the picture has few lines"
    expect_same "examples/launch.svg (<) and what tests/browser/launch_picture draws (>)"
}

commands=(launch plan check report once-per-host 'task list' 'task show' 'task report' 'task best' 'task logs' 'task attach' 'task exec' 'task get' 'task wait' 'task kill' 'task rerun' 'task rm' 'task prune' 'hosts list' 'hosts probe' 'config check' 'config show' 'config schema' completion doctor forward)
test_case "the manual says of commands and options what their --help says" check_help_blocks
test_case "the manual is well-formed, and no wider than a terminal" check_markup
test_case "pages and sections that the manual names are there" check_references
test_case "the manual as HTML has no broken link" check_html
test_case "--help lists the commands that are checked here" check_commands
for command in '' task hosts config "${commands[@]}"; do test_case "train $command --help has examples" check_help_examples "$command"; done
test_case "options with a value show in --help what it looks like" check_all_value_examples
for command in "${commands[@]}"; do test_case "the synopsis of train $command has the options of its --help" check_synopsis "$command"; done
test_case "the manual has the options of --help, and no others" check_all_options
test_case "the manual has the exit codes of the program" check_exit_codes
test_case "the manual has the environment variables that the program reads" check_environment
test_case "CHANGELOG.md begins with the version of the program" check_version
test_case "files that ARCHITECTURE.md and CONTRIBUTING.md name are there" check_paths
test_case "commands that are shown can be planned" check_shown_commands
test_case "files that the manual shows are legal" check_blocks
test_case "host sets are what the manual says" check_host_sets
test_case "the examples can be planned, and are what README.md shows" check_examples
test_case "the picture of a launch in README.md is what is seen at a terminal" check_picture
finish
