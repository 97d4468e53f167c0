#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is known of ranks that die: their last words, the kernel's, and their cores. TRAIN_CRASHES=N
# has so many ranks die.   last_words_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

ranks=20 # of each attempt
task() { with_environment "$train" task "$@" >"$work/out" 2>"$work/err"; status=$?; }

# Once all are there, each says 4 KiB in 64 lines and dies in a way of its own.
dies='trap "" TERM
: >"up.$TRAIN_RESTART_COUNT.$RANK"
if [ "$RANK" = 0 ]; then
    until set -- up.$TRAIN_RESTART_COUNT.* && [ $# = $WORLD_SIZE ]; do sleep 0.02; done
    : >"go.$TRAIN_RESTART_COUNT"
fi
while [ ! -e "go.$TRAIN_RESTART_COUNT" ]; do sleep 0.02; done
words=""
i=0
while [ $i -lt 64 ]; do
    words="$words$(printf "%056d %06d" "$RANK" $i)
"
    i=$((i + 1))
done
ulimit -c 0
printf %s "$words" >&2
case $((RANK % 4)) in
    0) kill -KILL $$ ;; 1) kill -SEGV $$ ;; 2) kill -ABRT $$ ;; *) exit 1 ;;
esac'

# words_are_whole FILE RANK: exactly what such a rank says.
words_are_whole() {
    cmp -s "$1" <(for ((i = 0; i < 64; ++i)); do printf '%056d %06d\n' "$2" "$i"; done)
}

every_word_is_kept() {
    local restarts=$((${TRAIN_CRASHES:-40} / ranks - 1)) rank attempt lost=0
    limit=1800 run launch -H "localhost:$ranks" -n "$ranks" --tee none --set max_restarts="$restarts" \
        --set restart_delay=0s "$@" -- /bin/sh -c "$dies"
    [ "$status" != 0 ] || note_failure "it has succeeded"
    for ((attempt = 0; attempt <= restarts; ++attempt)); do
        for ((rank = 0; rank < ranks; ++rank)); do
            words_are_whole "$work/state/train/tasks/$(task_id)/logs/rank-$rank.$attempt.log" "$rank" && continue
            lost=$((lost + 1))
        done
    done
    expect_equal "ranks without their last words" 0 "$lost"
    expect_err '^(train:)? *\| 0+[0-9]* 000063$'
    task show "$(task_id)" --json
    expect_equal "attempts" $((restarts + 1)) "$(field 'len(d["attempts"])' "$work/out")"
}

crashes() { every_word_is_kept; }
crashes_at_the_limit() { every_word_is_kept --set log_limit=16KiB; }
crashes_where_output_is_dropped() { every_word_is_kept --set spool_overflow=drop; }

memory_runs_out() {
    local memory=/sys/fs/cgroup/memory box
    box=$memory/train-words-$$
    if [ ! -e "$memory/memory.limit_in_bytes" ] || [ ! -r /dev/kmsg ] || ! mkdir "$box" 2>/dev/null; then
        skip "no limit of memory can be set here"
        return
    fi
    echo $((32 << 20)) >"$box/memory.limit_in_bytes"
    run launch -H localhost:2 -n 2 -- /bin/sh -c '[ "$RANK" = 1 ] || exec sleep 4711
        echo $$ >'"$box"'/cgroup.procs; echo growing >&2
        exec awk "BEGIN { s = \"x\"; while (1) s = s s }"'
    rmdir "$box"
    expect_status 137
    expect_last_err "failed: worker: rank 1 on 'localhost' was killed by the kernel for want of memory (OOM: its cgroup's limit of 32 MiB) (exit 137)"
    expect_err '^(train:)? *the kernel killed process [0-9]+ \(awk\)'
    expect_err '^(train:)? *\| growing$'
    task show "$(task_id)" --json
    expect_schema task "$work/out"
    expect_equal "what is recorded" True \
        "$(field '__import__("re").fullmatch(r"its cgroup.s limit of 32 MiB: process \d+ \(awk\)", d["rank_results"][1]["oom"]) is not None' "$work/out")"
    expect_equal "the other rank" None "$(field 'd["rank_results"][0]["oom"]' "$work/out")"
}

somebody_kills() {
    run launch -H localhost:1 -n 1 -- /bin/sh -c 'kill -KILL $$'
    expect_status 137
    expect_last_err "failed: worker: rank 0 on 'localhost' was killed by SIGKILL (exit 137)"
    task show "$(task_id)" --json
    expect_equal "what is recorded" None "$(field 'd["rank_results"][0]["oom"]' "$work/out")"
}

core_is_named() {
    local pattern
    pattern=$(cat /proc/sys/kernel/core_pattern)
    case $pattern in
        */* | '|'* | @*)
            skip "cores do not come into working directories here"
            return
            ;;
    esac
    run launch -H localhost:1 -n 1 -- /bin/sh -c 'ulimit -c unlimited; kill -ABRT $$'
    expect_status 134
    expect_err "^(train:)? *its core: '$work/here/core"
    task show "$(task_id)" --json
    expect_schema task "$work/out"
    expect_equal "what is recorded" True "$(field 'd["rank_results"][0]["core"].startswith("'"'$work/here/core"'")' "$work/out")"
}

race_case "what ranks say before they crash is in the logs and the report" crashes
race_case "the same where a log is at its limit" crashes_at_the_limit
race_case "the same where output may be dropped" crashes_where_output_is_dropped
test_case "a rank that the kernel kills for want of memory is told so" memory_runs_out
test_case "a rank that somebody kills is not taken for one" somebody_kills
test_case "the core of a rank is named" core_is_named
finish
