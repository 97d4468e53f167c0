#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Commands beside ranks on other hosts.   exec_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 2 --slots 1
use_train "${1:-}"

begin() {
    rm -f "$shared/go"
    id=$(on head "$train" launch -d -H 'node[01-02]:1' -n 2 "$@" -- /bin/sh -c 'cd /srv; while [ ! -e /srv/shared/go ]; do sleep 0.05; done' 2>"$work/err") ||
        note_failure "it does not start: $(cat "$work/err")"
}

finish_task() {
    touch "$shared/go"
    on head "$train" task wait "$id" >"$work/wait" 2>&1 || note_failure "it fails: $(cat "$work/wait")"
}

runs_there() {
    begin
    run_on_head "$train" task exec "$id" --rank 1 -- /bin/sh -c 'echo "$(uname -n) $RANK $PWD"; exit 4'
    expect_status 4
    expect_out '^node02 1 /srv$'
    head -c 3000000 /dev/urandom >"$shared/bytes"
    on head /bin/sh -c "$train task exec $id --rank 1 -- cat </srv/shared/bytes | cmp - /srv/shared/bytes" ||
        note_failure "bytes do not come back as they were"
    finish_task
}

# Neither side waits for the other for ever.
is_cut() {
    begin --set reconnect_window=120s
    on head "$train" task exec "$id" --rank 1 -- /bin/sh -c 'sleep 5011' >"$work/out" 2>"$work/err" &
    local asks=$!
    eventually 10 is_there 5011 || note_failure "the command does not run"
    "$cluster" cut node02
    wait "$asks"
    expect_equal "exit status" 76 $?
    grep -q "no sign of life for 30 s" "$work/err" || note_failure "the user is told: $(cat "$work/err")"
    eventually 10 is_not_there 5011 || note_failure "the command stays on a host that is cut"
    "$cluster" heal node02
    finish_task
}

is_there() { all_processes "^sleep $1" | grep -q .; }
is_not_there() { ! is_there "$1"; }

test_case "a command beside a rank of another host runs there, and passes bytes" runs_there
soak_case "a command on a host that is cut ends there, and here" is_cut
finish
