#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Output, exit codes and endings of launches on this machine.   launch_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

four=(-H localhost:4 -n 4)
two=(-H localhost:2 -n 2)
forever='exec sleep 4711'

ranks_run() { process_count_is "$1" '^sleep 4711'; }

start_forever() { # start_forever RANKS [ARGUMENT...]
    local ranks=$1
    shift
    start launch -H "localhost:$ranks" -n "$ranks" "$@" -- /bin/sh -c "$forever"
    within 30 "all ranks run" ranks_run "$ranks"
}

# In a rank: says with a file that it has got so far, and waits until ranks $1... have.
together='so_far() { : >"here.$RANK"; for rank; do until [ -e "here.$rank" ]; do sleep 0.02; done; done; }; '

# --- Output ---

lines_and_streams() {
    run launch "${four[@]}" -- /bin/sh -c 'echo "out $RANK"; echo "err $RANK" >&2'
    expect_status 0
    expect_equal "stdout" "$(printf '[%s] out %s\n' 0 0 1 1 2 2 3 3)" "$(sort "$work/out")"
    expect_equal "lines of the ranks on stderr" "$(printf '[%s] err %s\n' 0 0 1 1 2 2 3 3)" \
        "$(grep '^\[' "$work/err" | sort)"
    expect_equal "other lines of stderr" 1 "$(grep -vc '^\[' "$work/err")"
    expect_err "^train: task $(task_id): 4 ranks of 'sh' on localhost; output in $work/state"
}

# Also where another process makes the plan once more, and once more for another launch.
all_slots_are_taken() {
    run launch -H localhost:3 -- /bin/sh -c 'echo "$RANK of $WORLD_SIZE"'
    expect_status 0
    expect_equal "stdout" "$(printf '[%s] %s of 3\n' 0 0 1 1 2 2)" "$(sort "$work/out")"
    run task rerun "$(task_id)"
    expect_status 0
    expect_equal "stdout of the same again" "$(printf '[%s] %s of 3\n' 0 0 1 1 2 2)" "$(sort "$work/out")"
    run launch -d -H localhost:3 -- /bin/sh -c 'echo "$RANK of $WORLD_SIZE"; until [ -e go ]; do sleep 0.05; done'
    expect_status 0
    local id
    id=$(cat "$work/out")
    run launch -H localhost:3 -- /bin/true
    expect_status 75
    expect_err '3 slots asked'
    touch go
    run task attach "$id"
    expect_status 0
    run task logs "$id"
    expect_equal "the log" "$(printf '[%s] %s of 3\n' 0 0 1 1 2 2)" "$(sort "$work/out")"
}

logs_are_exact() {
    # All bytes, a long line, carriage returns, escapes, and no newline at the end.
    /usr/bin/python3 -c 'import sys
sys.stdout.buffer.write(bytes(range(256)) * 300 + b"x" * 70000 + b"\r\n50%\r100%\r\n\x1b[31mred\x1b[0m\nlast")' >bytes
    run launch "${two[@]}" -- cat bytes
    expect_status 0
    expect_same "the log of rank 0" bytes "$(log_of 0)"
    expect_same "the log of rank 1" bytes "$(log_of 1)"
    expect_equal "log files" 2 "$(find "$work/state" -name '*.log' | wc -l)"
    expect_out '^\[0\] \\x1b\[31mred\\x1b\[0m$'
    expect_out '^\[0\] 100%$'
    expect_out '^\[1\] last$'
    expect_equal "escape bytes on the terminal" 0 "$(grep -ac $'\x1b' "$work/out")"
    expect_equal "lines without a rank" 0 "$(grep -avc '^\[[01]\] ' "$work/out")"
}

raw_lines_are_whole() {
    run launch "${two[@]}" --raw -- /usr/bin/printf '10%%\r20%%\r\033[31mred\033[0m\n'
    expect_status 0
    expect_equal "stdout" $'[0] 10%\r20%\r\033[31mred\033[0m\n[1] 10%\r20%\r\033[31mred\033[0m' \
        "$(sort "$work/out")"
}

# Each is written when the one before is in the log: of what comes on two streams at once either may be first.
both_streams_in_one_log() {
    start launch -n 1 -- /bin/sh -c 'after() { until [ -e "$1" ]; do sleep 0.02; done; }
        echo one; after one; echo two >&2; after two; printf three'
    within 20 "the first is in the log" log_has one
    touch one
    within 20 "the second is in the log" log_has two
    touch two
    await
    printf 'one\ntwo\nthree' >wanted
    expect_same "the log" wanted "$(log_of 0)"
}

log_has() { grep -qs "$1" "$(log_of 0 2>/dev/null)"; }

long_lines_stay_whole_in_the_log() {
    run launch -n 1 -- /usr/bin/python3 -c 'print("a" * 100000); print("b" * 16384); print("end")'
    expect_status 0
    expect_equal "lengths of lines in the log" "100000 16384 3" \
        "$(awk '{ printf "%s%d", (NR > 1 ? " " : ""), length($0) }' "$(log_of 0)")"
    expect_equal "letters on the terminal" "100000 16384" \
        "$(tr -dc a <"$work/out" | wc -c) $(tr -dc b <"$work/out" | wc -c)"
    expect_out '^\[0\] end$'
}

hundred_mebibytes() {
    output=/dev/null run launch "${four[@]}" -- /usr/bin/python3 -c 'import sys
for i in range(25): sys.stdout.write(("x" * 63 + "\n") * 2**14)'
    expect_status 0
    local rank
    for rank in 0 1 2 3; do
        expect_equal "bytes in the log of rank $rank" $((25 << 20)) "$(stat -c %s "$(log_of "$rank")")"
    done
}

terminal_that_does_not_read() {
    mkfifo "$work/fifo"
    exec 7<>"$work/fifo" # keeps it open while nobody reads
    output=$work/fifo start launch "${two[@]}" -- /usr/bin/python3 -c 'import sys
for i in range(400000): sys.stdout.write("line %d of a rank that prints a lot\n" % i)'
    sleep 3 # waits: this is how long the terminal stands still
    cat "$work/fifo" >"$work/out" 7>&- & # which would wait for its own end otherwise
    local reader=$!
    exec 7>&-
    await
    wait "$reader"
    expect_status 0
    expect_equal "lines on the terminal" 800000 "$(wc -l <"$work/out")"
    expect_out '^\[1\] line 399999 of'
}

reader_leaves() {
    # Neither fails before both have printed: the first failure stops the other.
    # shellcheck disable=SC2016
    local both='yes | head -n 100000; : >"$0/printed$RANK"
        until [ -e "$0/printed0" ] && [ -e "$0/printed1" ]; do sleep 0.02; done; exit 4'
    (exec_with_environment "$train" launch "${two[@]}" -- /bin/sh -c "$both" "$work") \
        2>"$work/err" | head -n 1 >"$work/out"
    status=${PIPESTATUS[0]}
    expect_status 4
    expect_out '^\[[01]\] y$'
    expect_equal "bytes in a log" 200000 "$(stat -c %s "$(log_of 0)")"
}

tee_chooses_ranks() {
    run launch "${four[@]}" --tee none -- /bin/sh -c 'echo "rank $RANK"'
    expect_status 0
    expect_equal "stdout with --tee none" "" "$(cat "$work/out")"
    expect_equal "log of rank 3" "rank 3" "$(cat "$(log_of 3)")"
    run launch "${four[@]}" --tee rank:0,2-3 -- /bin/sh -c 'echo "rank $RANK"'
    expect_equal "stdout with --tee rank:0,2-3" "$(printf '[%s] rank %s\n' 0 0 2 2 3 3)" "$(sort "$work/out")"
    run launch "${four[@]}" --tee all -- /bin/sh -c 'echo "rank $RANK"'
    expect_equal "lines with --tee all" 4 "$(wc -l <"$work/out")"
    run launch "${four[@]}" --tee none -- /bin/sh -c 'echo "because $RANK" >&2; [ $RANK != 2 ] && exec sleep 4711; exit 9'
    expect_status 9
    expect_err 'because 2'
}

json_document() {
    # Rank 1 fails only when rank 0, which is stopped then, has said its line.
    run launch "${two[@]}" --json -- /bin/sh -c 'echo "rank $RANK"
        if [ "$RANK" = 0 ]; then : >said; else until [ -e said ]; do :; done; fi; exit $RANK'
    expect_status 1
    expect_schema task "$work/out"
    expect_equal "state" failed "$(field 'd["state"]' "$work/out")"
    expect_equal "class" worker "$(field 'd["error_class"]' "$work/out")"
    expect_equal "code of rank 1" 1 "$(field 'd["rank_results"][1]["exit_code"]' "$work/out")"
    expect_err '^\[0\] rank 0$'
    expect_err '^\[1\] rank 1$'
    with_environment "$train" task show "$(task_id)" --json >"$work/shown"
    expect_same "task show --json" "$work/out" "$work/shown"
}

silent_rank() {
    run launch -n 1 -- true
    expect_status 0
    expect_equal "stdout" "" "$(cat "$work/out")"
    expect_equal "size of the log" 0 "$(stat -c %s "$(log_of 0)")"
}

no_standard_input() {
    echo "a secret line" >input
    input=input run launch "${two[@]}" -- /bin/sh -c 'cat; echo "end of input on $RANK"'
    expect_status 0
    expect_out '^\[0\] end of input on 0$'
    expect_no_out secret
}

arguments_arrive_whole() {
    run launch -n 1 -- /usr/bin/python3 -c 'import sys; print(sys.argv[1:])' \
        "I am 6' tall" '$HOME' 'a  b' '' $'two\nlines' '*' -- -n --json
    expect_status 0
    expect_equal "arguments" \
        "[0] [\"I am 6' tall\", '\$HOME', 'a  b', '', 'two\\nlines', '*', '--', '-n', '--json']" \
        "$(cat "$work/out")"
}

# --- Exit codes ---

own_codes() {
    local code
    for code in 1 3 64 78 130 255; do
        run launch -n 1 -- /bin/sh -c "exit $code"
        expect_status "$code"
        expect_last_err "failed: worker: rank 0 on 'localhost' exited with code $code (exit $code)"
        expect_equal "lines with the cause" 1 "$(grep -c "exited with code $code" "$work/err")"
    done
}

signals_of_workers() {
    local signal
    for signal in KILL:9 SEGV:11 TERM:15 INT:2 PIPE:13; do
        run launch -n 1 -- /bin/sh -c "ulimit -c 0; kill -${signal%:*} \$\$"
        expect_status $((128 + ${signal#*:}))
        expect_last_err "failed: worker: rank 0 on 'localhost' was killed by SIG${signal%:*} (exit $((128 + ${signal#*:})))"
    done
}

first_failure_stops_all() {
    run launch "${four[@]}" -- /bin/sh -c "$together"'so_far 0 1 3
        [ "$RANK" != 2 ] || { echo "first reason" >&2; echo "second reason" >&2; exit 3; }; '"$forever"
    expect_status 3
    expect_last_err "failed: worker: rank 2 on 'localhost' exited with code 3 (exit 3)"
    expect_err '^  \| first reason$'
    expect_err '^  \| second reason$'
    expect_err '^train: ranks 0,1,3 were stopped by train$'
    expect_err "its output: train task logs $(task_id) --rank 2, and as it came in $(log_of 2)"
    expect_gone
}

error_file_is_shown() {
    run launch -n 1 -- /usr/bin/python3 -c 'import json, os, sys
json.dump({"message": {"message": "CUDA is out of patience", "extraInfo": {}}}, open(os.environ["TORCHELASTIC_ERROR_FILE"], "w"))
sys.exit(5)'
    expect_status 5
    expect_err 'it reported: CUDA is out of patience'
}

success_after_stop_is_no_success() {
    run launch "${two[@]}" -- /bin/sh -c "$together"'trap "exit 0" TERM; so_far 1; [ $RANK = 0 ] && exit 7; sleep 4711 & wait'
    expect_status 7
    expect_last_err "failed: worker: rank 0 on 'localhost' exited with code 7 (exit 7)"
}

# --- Stopping ---

signal_ends_it() { # signal_ends_it SIGNAL STATUS
    start_forever 3
    kill "-$1" "$launcher"
    await
    expect_status "$2"
    expect_last_err "failed: interrupted: stopped by SIG$1 (exit $2)"
    expect_gone
}

ctrl_c_in_a_terminal() {
    # A terminal signals all processes of the group, those that hold the agents' streams too.
    start_forever 3
    kill -INT -- "-$launcher"
    await
    expect_status 130
    expect_last_err "failed: interrupted: stopped by SIGINT (exit 130)"
    expect_gone
}

ctrl_c_twice() {
    start launch "${two[@]}" --set stop_grace=1h -- /bin/sh -c \
        'trap "" TERM INT; echo "up"; while :; do sleep 4711; done'
    within 30 "both ranks are up" out_count_is 2 up
    kill -INT "$launcher"
    within 20 "the first one is said" err_has 'SIGINT: stopping all ranks'
    kill -0 "$launcher" || note_failure "it did not wait for the grace"
    kill -INT "$launcher"
    await
    expect_status 130
    expect_gone
}

ctrl_c_at_once() {
    local tries
    for tries in 1 2 3 4 5; do
        start launch "${two[@]}" -- /bin/sh -c "$forever"
        sleep "0.0$((tries * 15))" # waits: interrupted at any moment between start and running
        kill -INT "$launcher"
        await
        [ "$status" = 130 ] || note_failure "after a Ctrl-C in its first moments: $status"
        expect_gone
    done
}

grace_is_given() {
    start launch "${two[@]}" --set stop_grace=30s -- /bin/sh -c \
        'trap "sleep 0.5; echo saved $RANK; exit 0" TERM; echo up; while :; do sleep 0.05; done'
    within 30 "both ranks are up" out_count_is 2 up
    kill -INT "$launcher"
    await
    expect_status 130
    expect_out '^\[0\] saved 0$'
    expect_out '^\[1\] saved 1$'
}

# --- Many ---

# Each rank goes on when all of both tasks run.
two_at_once() {
    local ports name launchers=()
    for name in a b; do
        output=$work/$name errors=$work/$name.err start launch "${two[@]}" --set leases=none -- /bin/sh -c 'echo "$MASTER_PORT"
            : >"up.$TRAIN_TASK_ID.$RANK"; until [ "$(ls up.* | wc -l)" = 4 ]; do sleep 0.05; done'
        launchers+=("$launcher")
    done
    for launcher in "${launchers[@]}"; do
        await
        [ "$status" = 0 ] || note_failure "one of them: $status" "$(cat "$work"/[ab].err)"
    done
    ports=$(cat "$work/a" "$work/b" | sed -n 's/^\[[01]\] //p' | sort -u | wc -l)
    expect_equal "different ports of two tasks" 2 "$ports"
    expect_equal "recorded tasks" 2 "$(with_environment "$train" task list --all --csv | grep -c succeeded)"
}

eight_ranks() {
    run launch -H localhost:8 -n 8 -- /bin/sh -c 'echo "$RANK/$WORLD_SIZE local $LOCAL_RANK/$LOCAL_WORLD_SIZE"'
    expect_status 0
    expect_equal "lines" "$(for i in 0 1 2 3 4 5 6 7; do echo "[$i] $i/8 local $i/8"; done)" "$(sort "$work/out")"
}

test_case "each line has its rank, stdout to stdout and stderr to stderr" lines_and_streams
test_case "a command takes all slots of its host, in the background and once more, too" all_slots_are_taken
test_case "a log has what its rank printed, byte for byte; a terminal gets no control bytes" logs_are_exact
test_case "--raw shows lines as they are" raw_lines_are_whole
test_case "stdout and stderr of a rank share its log" both_streams_in_one_log
test_case "a line of 100,000 bytes is whole in the log and complete on the terminal" long_lines_stay_whole_in_the_log
test_case "100 MiB from four ranks are complete" hundred_mebibytes
test_case "a terminal that does not read for 3 s loses nothing" terminal_that_does_not_read
test_case "a reader that leaves does not end the run, nor its logs" reader_leaves
test_case "--tee chooses what the terminal shows, never what is logged" tee_chooses_ranks
test_case "--json prints one document, as published, and nothing else" json_document
test_case "a rank that prints nothing has an empty log" silent_rank
test_case "standard input is not given to ranks" no_standard_input
test_case "arguments arrive byte for byte" arguments_arrive_whole
test_case "a worker's exit code is the launcher's" own_codes
test_case "a signal that ends a worker gives 128 and its number" signals_of_workers
test_case "the first failure stops the others and is the last thing said" first_failure_stops_all
test_case "the error file of a rank is shown" error_file_is_shown
test_case "ranks that end well after a failure do not hide it" success_after_stop_is_no_success
test_case "Ctrl-C ends everything with 130" signal_ends_it INT 130
test_case "SIGTERM ends everything with 143" signal_ends_it TERM 143
test_case "SIGHUP ends everything with 129" signal_ends_it HUP 129
test_case "Ctrl-C at a terminal, which signals the whole group" ctrl_c_in_a_terminal
test_case "a second Ctrl-C does not wait for the grace" ctrl_c_twice
race_case "Ctrl-C in the first moments leaves nothing" ctrl_c_at_once
test_case "ranks have their grace to save what they have" grace_is_given
test_case "two launches at once do not disturb each other" two_at_once
test_case "eight ranks know their places" eight_ranks
finish
