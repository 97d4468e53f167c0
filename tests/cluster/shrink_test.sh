#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Trials that go on with fewer ranks where hosts have failed.
#   shrink_test.sh path/to/train
# shellcheck disable=SC2016 # programs for hosts and ranks are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 4 --slots 1
use_train "${1:-}"

# The ranks of an attempt run for ever, or until they are told to fail, or to end well.
cat >"$shared/shrinks" <<'BASH'
echo "attempt $TRAIN_RESTART_COUNT rank $RANK of $WORLD_SIZE on $(hostname): $TRAIN_BATCH_SIZE of $TRAIN_GLOBAL_BATCH_SIZE"
touch "/srv/shared/there.$TRAIN_RESTART_COUNT.$RANK.of.$WORLD_SIZE"
until [ -e "/srv/shared/end.$WORLD_SIZE" ]; do
    [ ! -e "/srv/shared/fail.$WORLD_SIZE" ] || { sleep 4 && exit 3; }
    sleep 0.1 # waits: the rank has nothing else to do
done
BASH
id=
field() { on head "$train task show $id --json" | python3 -c "import json,sys; d=json.load(sys.stdin); print($1)"; }
hosts_of_attempts='"; ".join(a["hosts"] for a in d["attempts"])'
# said_by COMMAND PATTERN: beside the launch that runs.
said_by() { on head "$1" 2>&1 | grep -e "$2" >/dev/null || note_failure "'$1' does not say: $2"; }
# has_ranks COUNT: all ranks of an attempt that has so many have begun.
has_ranks() { [ "$(find "$shared" -maxdepth 1 -name "there.*.of.$1" | wc -l)" -ge "$1" ]; }
begin() {
    rm -f "$shared"/there.* "$shared"/fail.* "$shared"/end.*
    launch_start -H 'node[01-04]:1' -n 4 --batch 24 --set max_restarts=1000 --set restart_delay=1s \
        --set reconnect_window=10s --set min_slots_per_trial="$1" "${@:2}" -- /bin/bash /srv/shared/shrinks
    within 30 "all ranks run" has_ranks 4
    id=$(task_id)
}

three_losses() {
    begin 1
    "$cluster" kill node02
    within 90 "three ranks run" has_ranks 3
    # Who looks at the task while it is smaller sees that.
    expect_equal "ranks of the smaller task" 3 "$(field 'd["ranks"]')"
    expect_equal "where they are" "node01,node03,node04," "$(field '",".join(r["host"] for r in d["rank_results"])')"
    expect_equal "slots" 3 "$(field 'd["slots"]')"
    expect_equal "where rank 1 is" node03 "$(on head "$train task exec $id --rank 1 -- hostname" 2>/dev/null)"
    said_by "$train task exec $id --rank 3 -- hostname" "has no rank 3: its ranks are 0 to 2"
    said_by "$train task show $id" '^ranks      3 of 4$'
    said_by "$train task show $id" 'not part of the last attempt'
    # The output of the rank that is gone is still there.
    said_by "$train task logs $id --attempt 0 --rank 3" '^attempt 0 rank 3 of 4 on node04: 6 of 24$'
    "$cluster" kill node01
    within 90 "two ranks run" has_ranks 2
    "$cluster" kill node04
    within 90 "one rank runs" has_ranks 1
    touch "$shared/end.1"
    await_launch 30
    expect_status 0
    expect_err '^train: attempt 1: on node\[01,03-04\] instead of node\[01-04\], with 3 ranks instead of 4$'
    expect_err '^train: attempt 3: on node03 instead of node\[03-04\], with 1 rank instead of 2$'
    expect_out '^\[1\] attempt 1 rank 1 of 3 on node03: 8 of 24$'
    expect_out '^\[1\] attempt 2 rank 1 of 2 on node04: 12 of 24$'
    expect_out '^\[0\] attempt 3 rank 0 of 1 on node03: 24 of 24$'
    expect_equal "hosts of the attempts" \
        "node01,node02,node03,node04; node01,node03,node04; node03,node04; node03" "$(field "$hosts_of_attempts")"
    expect_equal "the list of tasks that have ended" "1 of node03 with 1" \
        "$(on head "$train task list --all --json" |
            python3 -c 'import json,sys
for t in json.load(sys.stdin)["tasks"]:
    if t["id"] == sys.argv[1]: print(t["slots"], "of", t["hosts"], "with", t["ranks"])' "$id")"
    expect_equal "ranks that were told to start" "4 ranks are, 3 ranks are, 2 ranks are, 1 rank is" \
        "$(field '", ".join(e["text"][: -len(" told to start")] for e in d["events"] if e["what"] == "ranks_started")')"
    expect_idle 5 head node03
}

# Its ranks fail until the host serves again, which is a minute after it was lost, and is reached by then.
grows_again() {
    begin 2 --set blame_limit=0 --set restart_delay=0s
    "$cluster" kill node03
    within 90 "three ranks run" has_ranks 3
    "$cluster" boot node03
    rm -f "$shared"/there.*
    touch "$shared/fail.3" "$shared/end.4"
    await_launch 240
    expect_status 0
    expect_err ': on node\[01-04\] instead of node\[01-02,04\], with 4 ranks instead of 3$'
    expect_equal "ranks at the end" 4 "$(field 'd["ranks"]')"
    expect_out '^\[2\] attempt [0-9]* rank 2 of 4 on node03: 6 of 24$'
    expect_idle 5 head "${nodes[@]}"
}

waits_for_the_least() {
    begin 3
    "$cluster" kill node02
    within 90 "three ranks run" has_ranks 3
    "$cluster" kill node04
    within 60 "it waits for the host" err_has '^train: restart 2 of 1000 '
    "$cluster" boot node04
    touch "$shared/end.3"
    await_launch 120
    expect_status 0
    expect_equal "ranks at the end" 3 "$(field 'd["ranks"]')"
    expect_idle 5 head node01 node03 node04
}

# A launcher that takes over has the smaller trial, all of its output, and lets it shrink again; another one only
# ends it.
launcher_dies() {
    begin 2 --set on_launcher_loss=30s
    "$cluster" kill node04
    within 90 "three ranks run" has_ranks 3
    signal_launcher KILL
    await_launch 10
    start_on_head "$train" task attach "$id"
    within 30 "the task is adopted" grep -q "attempt 1 rank 2 of 3" "$work/out"
    "$cluster" kill node03
    within 90 "two ranks run" has_ranks 2
    signal_launcher KILL
    await_launch 10
    expect_equal "ranks of the task" 2 "$(field 'd["ranks"]')"
    run_on_head "$train" task kill "$id"
    expect_status 0
    expect_equal "hosts of the attempts" \
        "node01,node02,node03,node04; node01,node02,node03; node01,node02" "$(field "$hosts_of_attempts")"
    expect_equal "its output" "4 3 2" \
        "$(for attempt in 0 1 2; do on head "$train task logs $id --attempt $attempt" | grep -c "attempt $attempt rank"; done | xargs)"
    expect_idle 5 head node01 node02
}

few_spares() {
    rm -f "$shared"/there.* "$shared"/fail.* "$shared"/end.*
    touch "$shared/end.1"
    launch_start -H 'node[01-04]:1' -n 1 --set max_restarts=4 --set restart_delay=0s --set reconnect_window=10s \
        --set blame_limit=1 --spare 1 -- /bin/bash -c 'echo "on $(hostname)"; case $(hostname) in node03) ;; *) exit 7 ;; esac'
    await_launch 60
    expect_status 7
    id=$(task_id)
    expect_equal "hosts that were used" "node01 node02" "$(sed -n 's/^\[0\] on //p' "$work/out" | sort -u | xargs)"
}

test_case "over three losses a trial goes on with three ranks, two and one" three_losses
test_case "it has all ranks again at the restart after its host came back" grows_again
test_case "it has no fewer slots than it may" waits_for_the_least
test_case "launchers that take a smaller trial over know what there is of it" launcher_dies
test_case "only so many hosts are spare ones" few_spares

finish
