#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests wait by what tests/support has, which knows the pace of the machine: this finds what waits
# otherwise, or asserts that something takes no longer than so many seconds. A line that is right says why,
# at its end or in a line of its own before it: `// waits: REASON`, `# waits: REASON`.
# Usage: waiting.sh [FILE...]: these files only, else all of tests/.
# shellcheck disable=SC2034 # the arrays are used by their names
set -u
cd "$(dirname "$0")/../.." || exit 1

# Not looked at: what tests wait with, what is measured and never asserted, and these very patterns.
elsewhere='^tests/(support|bench|fuzz|lint)/'

word='(^|[^A-Za-z0-9_])' # what is before a word
cpp=(
    "${word}(sleep_for|sleep_until|usleep|nanosleep)\(|::sleep\(" 'sleeps'
    "${word}poll\(.*, *[1-9][0-9']*\)" 'polls for a fixed time'
    "${word}wait_(for|until)\(([^0]|0[^s])" 'waits for a fixed time'
    "SO_RCVTIMEO|SO_SNDTIMEO|${word}alarm\(" 'waits for a fixed time'
    "after\([1-9][0-9']*(s|min), .*stop\(\)" 'runs a loop for a fixed time'
    "now\(\) - [A-Za-z_.]+ <=? |boot_time\(\) - [A-Za-z_.]+ <=? " 'must be done in a fixed time'
    "bool (eventually|stays|becomes_readable|loop_until)\(" 'waits in a way of its own'
    "sleep (0?\.[0-9]+|[1-9]); *([^d ]|d[^o])" 'has a process sleep in place of waiting for an event'
)
shell=(
    "^[[:space:]]*sleep [^&]*$" 'sleeps'
    "${word}for .*(seq |\(\().*${word}sleep [^&;]*; *done" 'looks so many times'
    "${word}timeout ([0-9]|[0-9][0-9]|[1-5][0-9][0-9]) " 'must be done in a fixed time'
    "${word}read .*-t *[0-9]" 'waits for a fixed time'
    "(SECONDS|EPOCHREALTIME|_since).* -l[te] [^]]*\] \|\|" 'must be done in a fixed time'
    "(SECONDS|EPOCHREALTIME|_since).* -g[te] [^]]*\] &&" 'must be done in a fixed time'
    "^(eventually|stays|settled|is_over)\(\)" 'waits in a way of its own'
)
python=(
    "time\.sleep\(" 'sleeps'
    "${word}select\.select\(.*, *[0-9.]+\)" 'waits for a fixed time'
    "${word}(settimeout\(|timeout=)[0-9]" 'waits for a fixed time'
    "def (eventually|settled|stays)\(" 'waits in a way of its own'
)

# look PATTERN WHAT FILE...: prints the places of all lines that match and say nothing of why.
look() {
    local pattern=$1 what=$2
    shift 2
    [ $# -eq 0 ] || pattern=$pattern what=$what awk '
        FNR == 1 { before = "" }
        $0 ~ ENVIRON["pattern"] && !/patience\(/ && !/(\/\/|#) waits: ./ && before !~ /^[ \t]*(\/\/|#) waits: ./ {
            line = $0
            sub(/^[ \t]+/, "", line)
            print FILENAME ":" FNR ": " ENVIRON["what"] ": " line
        }
        { before = $0 }' "$@"
}

# look_all NAME FILE...: with all patterns of the array of this name.
look_all() {
    local -n patterns=$1
    local i
    shift
    for ((i = 0; i < ${#patterns[@]}; i += 2)); do look "${patterns[i]}" "${patterns[i + 1]}" "$@"; done
}

# files_of NAME-REGEX FIRST-LINE-REGEX: of those that are looked at, by their name or their first line.
files_of() {
    local file first
    for file in "${files[@]}"; do
        [[ $file =~ $1 ]] && echo "$file" && continue
        [[ ${file##*/} != *.* ]] && IFS= read -r first <"$file" && [[ $first =~ $2 ]] && echo "$file"
    done 2>/dev/null
}

files=("$@")
[ $# -gt 0 ] || mapfile -t files < <(find tests -type f | grep -vE "$elsewhere" | sort)
mapfile -t cpp_files < <(files_of '\.[ch]pp$' '^$')
mapfile -t shell_files < <(files_of '\.sh$' '^#!.*[/ ](ba)?sh')
mapfile -t python_files < <(files_of '\.py$' '^#!.*python')
found=$(
    look_all cpp "${cpp_files[@]}"
    look_all shell "${shell_files[@]}"
    look_all python "${python_files[@]}"
)
[ -n "$found" ] || exit 0
sort -t: -k1,1 -k2,2n -u <<<"$found"
echo "tests wait by tests/support: eventually, settled, stays, becomes_readable, loop_until; what must wait
otherwise says why on its line: '// waits: REASON' or '# waits: REASON'"
exit 1
