#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is known, on the launcher's machine, of ranks that die on others: their last words, the
# kernel's, and their cores.   last_words_test.sh path/to/train
# shellcheck disable=SC2016 # programs for hosts and ranks are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 2 --slots 2
use_train "${1:-}"

both=(-H 'node[01-02]:1' -n 2)
# field EXPRESSION: of the JSON of the task that was launched last, as `d`.
field() { on head "$train task show $(task_id) --json" | python3 -c "import json, sys; d = json.load(sys.stdin); print($1)"; }

# --- Want of memory ---

# A host of the tests has its own cgroup of version 2 and, where the kernel counts memory in version
# 1, that of this machine: from here on a login there is in one with a limit, as in a container.
limited=''
limit_memory() { # HOST MIB
    on "$1" 'box=/sys/fs/cgroup/memory/train-words-'"$TRAIN_BED"'
        mkdir /sys/fs/cgroup/memory && mount -t cgroup -o memory memory /sys/fs/cgroup/memory &&
        mkdir "$box" && echo '"$(($2 << 20))"' >"$box/memory.limit_in_bytes" &&
        echo "$(cat /run/sshd.pid)" >"$box/cgroup.procs"' 2>"$work/limit" || return
    limited=$1
}
unlimit_memory() {
    [ -n "$limited" ] || return 0
    on "$limited" 'cd /sys/fs/cgroup/memory || exit
        for pid in $(cat train-words-'"$TRAIN_BED"'/cgroup.procs); do echo "$pid" >cgroup.procs; done
        rmdir train-words-'"$TRAIN_BED"
    restart "$limited"
    limited=''
}
trap 'unlimit_memory; leave_cluster' EXIT

cat >"$shared/grows" <<'SH'
[ "$RANK" = 1 ] || exec sleep 4711
echo growing >&2
eval "$1"
SH
grow='awk "BEGIN { s = \"x\"; while (1) s = s s }"'

expect_told_of_memory() { # SCRIPT REGEX
    launch "${both[@]}" -- /bin/sh /srv/shared/grows "$1"
    expect_status 137
    expect_last_err "^train: failed: worker: rank 1 on 'node02' $2 for want of memory \(OOM: its cgroup's limit of 128 MiB\) \(exit 137\)$"
    expect_err '^(train:)? *\| growing$'
    expect_equal "what is recorded of both ranks" "None its cgroup's limit of 128 MiB" \
        "$(field '*[rank["oom"] for rank in d["rank_results"]]')"
    expect_idle 5 head "${nodes[@]}"
}

memory_runs_out() {
    if ! limit_memory node02 128; then
        skip "no limit of memory can be set on a host: $(tail -n 1 "$work/limit")"
        return
    fi
    expect_told_of_memory "exec $grow" 'was killed by the kernel'
    # What a rank has started, of which it tells by its code.
    expect_told_of_memory "$grow; exit \$?" 'exited with code 137: the kernel killed a process of it'
    # The counts from before are not its own.
    launch "${both[@]}" -- /bin/sh /srv/shared/grows 'kill -KILL $$'
    expect_last_err "^train: failed: worker: rank 1 on 'node02' was killed by SIGKILL \(exit 137\)$"
    expect_equal "what is recorded of one that somebody killed" None "$(field 'd["rank_results"][1]["oom"]')"
    unlimit_memory
}

# --- Cores ---

core_is_named() {
    local pattern core
    pattern=$(cat /proc/sys/kernel/core_pattern)
    launch "${both[@]}" -- /bin/sh -c '[ "$RANK" = 1 ] || exec sleep 4711
        ulimit -c unlimited; kill -ABRT $$'
    expect_status 134
    expect_last_err "^train: failed: worker: rank 1 on 'node02' was killed by SIGABRT \(core dumped\) \(exit 134\)$"
    core=$(sed -n "/^train: rank 1 on 'node02':\$/,/^train: [^ ]/s/^\(train:\)\? *its core: //p" "$work/err")
    expect_equal "what is recorded" "$core" "$(field 'd["rank_results"][1]["core"]')"
    expect_equal "what is recorded of the other" None "$(field 'd["rank_results"][0]["core"]')"
    case $pattern in
        '|'* | @*)
            [[ $core =~ ^(the kernel gave it to|systemd has it) ]] || note_failure "its core: '$core'"
            ;;
        *)
            local file=${core#\'}
            file=${file%\'}
            if [[ $file = /* ]]; then
                on node02 "head -c 4 '$file' | grep -q ELF" || note_failure "'$file' is no core on node02"
                on node02 "rm '$file'"
            else
                note_failure "no file is named: $core"
            fi
            ;;
    esac
    expect_idle 5 head "${nodes[@]}"
}

# --- Last words ---

# Once both are there, each says 4 KiB in 64 lines and dies, of one cause or the other by turns.
cat >"$shared/dies" <<'SH'
trap '' TERM
attempt=$TRAIN_RESTART_COUNT
here=/srv/shared/up/$attempt
: >"$here.$RANK"
until [ -e "$here.0" ] && [ -e "$here.1" ]; do sleep 0.01; done
ulimit -c 0
words=$(/bin/bash /srv/shared/words "$RANK" "$attempt"; echo .)
if [ "$1" -gt 0 ]; then head -c "$1" /dev/urandom | base64 -w 63 >&$((1 + RANK)); fi
printf %s "${words%.}" >&2
if [ $(((RANK + attempt) % 2)) = 0 ]; then kill -SEGV $$; else exit 3; fi
SH
cat >"$shared/words" <<'BASH'
for ((i = 0; i < 64; ++i)); do printf 'rank %02d attempt %04d says %037d\n' "$1" "$2" "$i"; done
BASH
# words_are_lost ID ATTEMPTS: "RANK.ATTEMPT" of each log that has not exactly what such a rank says;
# what else it printed may be before and between.
cat >"$shared/words_are_lost" <<'BASH'
for ((attempt = 0; attempt < $2; ++attempt)); do
    for rank in 0 1; do
        /srv/shared/bin/train task logs "$1" --rank "$rank" --attempt "$attempt" 2>>/srv/shared/gaps |
            grep -aoE 'rank [0-9]+ attempt [0-9]+ says [0-9]+$' |
            cmp -s - <(/bin/bash /srv/shared/words "$rank" "$attempt") || echo "$rank.$attempt"
    done
done
BASH

# die_often ATTEMPTS BYTES ARGUMENT...: on both hosts; each prints so much noise before its last words.
die_often() {
    local attempts=$1 bytes=$2 attempt
    shift 2
    rm -rf "$shared/up" "$shared/gaps"
    mkdir "$shared/up"
    launch --tee none "${both[@]}" --set max_restarts=$((attempts - 1)) --set restart_delay=0s "$@" -- \
        /bin/sh /srv/shared/dies "$bytes"
    expect_last_err "^train: failed: worker: rank [01] on 'node0[12]' (exited with code 3 \(exit 3\)|was killed by SIGSEGV \(exit 139\))$"
    [[ $status =~ ^(3|139)$ ]] || note_failure "exit status: $status"
    expect_equal "attempts" "$attempts" "$(field 'len(d["attempts"])')"
    expect_equal "logs without all last words" "" \
        "$(on head "/bin/bash /srv/shared/words_are_lost $(task_id) $attempts" | paste -sd' ')"
    for ((attempt = 0; attempt < attempts - 1; ++attempt)); do
        expect_err "^train: rank [01] on 'node0[12]' .*: rank 0[01] attempt $(printf %04d "$attempt") says 0*63$"
    done
    expect_err "^(train:)? *\| rank 0[01] attempt $(printf %04d "$attempt") says 0*63$"
    expect_idle 5 head "${nodes[@]}"
}

last_words() { die_often 40 0; }

last_words_behind_a_flood() {
    local host
    # Of their spools, a tenth of what is free.
    for host in "${nodes[@]}"; do on "$host" 'mount -o remount,size=48m /srv'; done
    die_often 20 $((12 << 20)) --set spool_overflow=drop
    expect_equal "ranks of which output was dropped" "0 1" \
        "$(sed -n 's/^train: rank \([01]\): [0-9]* bytes of output were dropped for want of room here$/\1/p' "$shared/gaps" | sort -u | paste -sd' ')"
    restart head "${nodes[@]}"
}

test_case "a rank that the kernel of its host kills for want of memory is told so" memory_runs_out
test_case "the core of a rank is named with its host" core_is_named
test_case "what ranks say before they crash on two hosts is in the logs and the report" last_words
test_case "so it is behind a flood that was dropped" last_words_behind_a_flood
finish
