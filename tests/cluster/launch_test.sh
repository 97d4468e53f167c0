#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Launches on four hosts, and what can go wrong there.   launch_test.sh path/to/train
. "$(dirname "$0")/lib.sh"

use_cluster 4 --slots 1
use_train "${1:-}"

on_four=(-H 'node[01-04]:1' -n 4)
launch_forever() { start_forever "${on_four[@]}" "$@"; }

# --- What works ---

four_hosts() {
    launch "${on_four[@]}" -- hostname
    expect_status 0
    local rank
    for rank in 0 1 2 3; do expect_out "^\[$rank\] node0$((rank + 1))\$"; done
    expect_equal "lines of stdout" 4 "$(wc -l <"$work/out")"
    expect_idle 2 "${nodes[@]}"
}

# As mpirun does: without a number, and with one that no hosts of one size make up.
uneven_hosts_in_order() {
    local number
    for number in '' '-n 3'; do
        # shellcheck disable=SC2086 # two words, or none
        launch -H node01:2,node02:1 $number -- hostname
        expect_status 0
        expect_equal "ranks $number" $'[0] node01\n[1] node01\n[2] node02' "$(sort "$work/out")"
    done
}

one_log_per_rank() {
    # The number is computed by the worker, so that only its output has it.
    # shellcheck disable=SC2016
    launch "${on_four[@]}" -- /bin/sh -c 'echo "out-$((RANK * 11 + 500))"; echo "err-$((RANK * 11 + 700))" >&2'
    expect_status 0
    local rank logs
    for rank in 0 1 2 3; do
        logs=$(on head "grep -rlIx 'out-$((rank * 11 + 500))' .local/state/train")
        expect_equal "files with the output of rank $rank alone" 1 "$(grep -c . <<<"$logs")"
        expect_equal "lines of 'out-' in $logs" 1 "$(on head "grep -c '^out-' '$logs'")"
        on head "grep -rqIx 'err-$((rank * 11 + 700))' .local/state/train" ||
            note_failure "no log file has the stderr of rank $rank"
    done
}

# Every line has its rank and number, so that none can stand for another.
# shellcheck disable=SC2016 # expanded by the worker and on the head
nothing_is_lost() {
    local lines=30000
    restart head # logs of other cases count otherwise
    launch -H 'node[01-04]:16' -n 64 -- \
        /bin/sh -c "awk -v rank=\$RANK 'BEGIN { for (i = 0; i < $lines; ++i) print rank, i }'"
    expect_status 0
    expect_equal "lines on the terminal" $((64 * lines)) "$(wc -l <"$work/out")"
    local wrong
    wrong=$(awk -v lines="$lines" '
        { if ($1 != "[" $2 "]" || $3 != next_of[$2]++) wrong++; ranks[$2] }
        END { for (rank in ranks) if (next_of[rank] == lines) whole++
              print wrong + 0, whole + 0 }' "$work/out")
    expect_equal "lines out of place, ranks that are whole" "0 64" "$wrong"
    wrong=$(on head 'for log in .local/state/train/tasks/*/logs/rank-*.0.log; do
        awk "{ if (\$2 != n++ + 0) exit 1 } END { exit n != '"$lines"' }" "$log" || echo "$log"; done')
    expect_equal "logs that are not whole" "" "$wrong"
    restart head
}

different_homes() {
    on node02 'mkdir /srv/home && cp -a /root/.ssh /srv/home/ && sed -i "s|:/root:|:/srv/home:|" /etc/passwd'
    # shellcheck disable=SC2016
    launch "${on_four[@]}" -- /bin/sh -c 'echo "home is $HOME"'
    expect_status 0
    expect_out '^\[0\] home is /root$'
    expect_out '^\[1\] home is /srv/home$'
    restart node02
}

noisy_rc_file() {
    on node02 'printf "echo noise\necho more noise >&2\n" >.bashrc'
    launch "${on_four[@]}" -- hostname
    expect_status 0
    expect_out '^\[1\] node02$'
    expect_no_out noise
    restart node02
}

cached_programs() { on node01 'find .cache/train -type f -exec stat -c "%n %i %s" {} + | sort'; }

shipped_once() {
    launch "${on_four[@]}" -- true
    expect_status 0
    local first
    first=$(cached_programs)
    [ -n "$first" ] || note_failure "node01 has no program in ~/.cache/train"
    launch "${on_four[@]}" -- true
    expect_status 0
    expect_equal "cached program (name, inode, size)" "$first" "$(cached_programs)"
}

tensorflow_workers_meet() {
    cp "$(dirname "$0")/../cli/tensorflow_worker.py" "$(dirname "$0")/../support/waiting.py" "$shared/"
    launch -H 'node[01-04]:2' -n 8 --set framework=tensorflow -- \
        /usr/bin/python3 /srv/shared/tensorflow_worker.py
    expect_status 0
    expect_equal "workers that met all" 8 "$(grep -c 'of 8 has met all' "$work/out")"
    expect_idle 2 "${nodes[@]}"
}

# The machine of the launcher takes part: the others must not be told its loopback address.
launcher_takes_part() {
    cp "$(dirname "$0")/../cli/tensorflow_worker.py" "$(dirname "$0")/../support/waiting.py" "$shared/"
    launch -H 'head:1,node[01-02]:1' -n 3 --set framework=tensorflow -- \
        /usr/bin/python3 /srv/shared/tensorflow_worker.py
    expect_status 0
    expect_equal "workers that met all" 3 "$(grep -c 'of 3 has met all' "$work/out")"
    # shellcheck disable=SC2016
    launch -H 'head:1,node[01-02]:1' -n 3 -- /bin/sh -c 'echo "meet at $MASTER_ADDR"'
    expect_status 0
    expect_equal "ranks that meet at the head" 3 "$(grep -c 'meet at 10\.77\.0\.1$' "$work/out")"
    expect_idle 2 head "${nodes[@]}"
}

# --- Workers that fail ---

worker_exits_3() {
    # shellcheck disable=SC2016
    launch "${on_four[@]}" -- /bin/sh -c \
        '[ "$RANK" != 2 ] || { echo "the reason is on stderr" >&2; exit 3; }; '"$forever"
    expect_status 3
    expect_err 'the reason is on stderr'
    expect_last_err 'rank 2' node03 '\b3\b' worker
    expect_idle 2 "${nodes[@]}"
}

worker_is_killed() {
    # shellcheck disable=SC2016
    launch "${on_four[@]}" -- /bin/sh -c '[ "$RANK" != 1 ] || kill -KILL $$; '"$forever"
    expect_status 137
    expect_last_err 'rank 1' node02 SIGKILL worker
    expect_idle 2 "${nodes[@]}"
}

workers_ignore_term() {
    # shellcheck disable=SC2016
    launch "${on_four[@]}" -- /bin/sh -c \
        '[ "$RANK" != 0 ] || exit 5; trap "" TERM; while :; do sleep 4711; done'
    expect_status 5
    expect_last_err 'rank 0' node01 '\b5\b'
    expect_idle 2 "${nodes[@]}"
}

worker_leaves_daemon() {
    launch_start "${on_four[@]}" -- /bin/sh -c 'setsid sleep 4711 & exit 0'
    await_launch 30
    expect_status 0
    expect_idle 2 "${nodes[@]}"
}

# --- A launcher that ends early ---

ctrl_c() {
    launch_forever
    signal_launcher INT
    await_launch 30
    expect_status 130
    expect_idle 1 "${nodes[@]}"
}

launcher_is_killed() {
    launch_forever
    signal_launcher KILL
    await_launch 5
    expect_status 137
    expect_idle 10 "${nodes[@]}"
    expect_equal "tasks that nobody attends" 1 "$(on head "$train" task list --all | grep -cw unattended)"
}

# --- Hosts that go away, and are not waited for; network_test.sh has those that are ---

at_once=(--set reconnect_window=0s)

host_is_cut() {
    launch_forever "${at_once[@]}"
    "$cluster" cut node03
    await_launch 60
    expect_status 76
    expect_last_err node03 '\bhost\b'
    expect_idle 2 node01 node02 node04
    "$cluster" heal node03
    expect_idle 60 node03
}

host_freezes() {
    launch_forever "${at_once[@]}"
    "$cluster" freeze node03
    await_launch 60
    expect_status 76
    expect_last_err node03 '\bhost\b'
    expect_idle 2 node01 node02 node04
    "$cluster" thaw node03
    expect_idle 60 node03
}

host_loses_power() {
    launch_forever "${at_once[@]}"
    "$cluster" kill node03
    await_launch 60
    expect_status 76
    expect_last_err node03 '\bhost\b'
    expect_idle 2 node01 node02 node04
}

# --- Hosts that cannot serve ---

expect_nothing_started() {
    local host
    for host in "${nodes[@]}"; do
        on "$host" 'test ! -e /tmp/started' || note_failure "a worker was started on $host"
    done
    expect_idle 2 "${nodes[@]}"
}

program_is_missing() {
    local host
    for host in node01 node02 node04; do
        on "$host" 'printf "#!/bin/sh\ntouch /tmp/started\n" >/usr/local/bin/tool; chmod 755 /usr/local/bin/tool'
    done
    launch "${on_four[@]}" -- /usr/local/bin/tool
    expect_status 72
    expect_err node03
    expect_err /usr/local/bin/tool
    expect_nothing_started
    restart node01 node02 node04
}

folder_is_missing() {
    local host
    for host in head node01 node02 node04; do on "$host" mkdir /tmp/here; done
    launch_in /tmp/here "${on_four[@]}" -- touch /tmp/started
    expect_status 72
    expect_err node03
    expect_err /tmp/here
    expect_nothing_started
    restart head node01 node02 node04
}

host_key_is_wrong() {
    # shellcheck disable=SC2016
    on head 'ssh-keygen -q -t ed25519 -N "" -f other; read -r type key _ <other.pub
        sed -i "s|^\(node02,[^ ]*\) .*|\1 $type $key|" .ssh/known_hosts'
    launch "${on_four[@]}" -- touch /tmp/started
    expect_status 76
    expect_err node02
    expect_err 'host key'
    expect_nothing_started
    restart head
}

host_key_is_unknown() {
    on head 'sed -i /^node02,/d .ssh/known_hosts'
    launch "${on_four[@]}" -- touch /tmp/started
    expect_status 76
    expect_err node02
    expect_err 'SHA256:'
    expect_nothing_started
    restart head
}

host_name_is_unknown() {
    launch -H 'node01:1,nowhere:1' -n 2 -- touch /tmp/started
    expect_status 76
    expect_err nowhere
    expect_nothing_started
}

port_is_refused() {
    printf '%s\n' 'hosts:' '  - {name: node01, slots: 1}' '  - {name: node02, slots: 1, port: 2222}' \
        >"$shared/refused.yaml"
    launch --hostfile /srv/shared/refused.yaml -n 2 -- touch /tmp/started
    expect_status 76
    expect_err node02
    expect_err refused
    expect_err 2222
    expect_nothing_started
}

# --- Tasks ---

# task_field FIELD: of the task called 'truth' in `task list --all`; 1 is its id, 3 its state.
task_field() { on head "$train" task list --all | awk -v field="$1" '$2 == "truth" { print $field }'; }

tasks_tell_the_truth() {
    cat >"$shared/truth.yaml" <<'YAML'
name: truth
entrypoint: ["/bin/sh", "-c", "echo \"rank $RANK says $((RANK * 3 + 40))\"; exec sleep 4711"]
scaling_config: {num_workers: 4}
YAML
    launch_start /srv/shared/truth.yaml --hostfile /srv/shared/hosts.yaml
    within 30 "all ranks have printed" out_count_is 4 'says'
    local id
    id=$(task_field 1)
    expect_equal "state while it runs" running "$(task_field 3)"
    on head "$train" task list | grep -qw "$id" || note_failure "task list does not name $id"
    on head "$train" task show "$id" | grep -qw node04 || note_failure "task show does not name node04"
    on head "$train" task logs "$id" | grep -q 'rank 2 says 46' || note_failure "task logs lacks rank 2"
    on head "$train" task kill "$id" || note_failure "task kill failed"
    await_launch 30
    [ "$status" != 0 ] || note_failure "a killed launch says that it succeeded"
    expect_equal "state after kill" killed "$(task_field 3)"
    on head "$train" task show "$id" | grep -qw killed || note_failure "task show does not say killed"
    expect_idle 2 "${nodes[@]}"
    train_on_head task show no-such-task
    expect_status 66
    restart head
}

# With what the agent has brought along.
# shellcheck disable=SC2016 # expanded by the worker
ranks_report() {
    launch "${on_four[@]}" -- /bin/sh -c 'train report --step 1 "loss=0.$RANK" || exit
        [ "$RANK" != 0 ] || /usr/bin/python3 -c "import train_report
train_report.report({\"loss\": 0.25}, step=2)"'
    expect_status 0
    on head "$train" task show "$(sed -n 's/^train: task \([a-z0-9]*\):.*/\1/p' "$work/err")" >"$work/out"
    expect_out '^metrics    5 reports; rank 0: .*"loss":0.25,"step":2'
}

test_case "four ranks run on four hosts, each line under its rank" four_hosts
test_case "a command fills uneven hosts in order, all of their slots unless it says how many" uneven_hosts_in_order
test_case "ranks report from hosts that have nothing but sshd" ranks_report
test_case "every rank leaves one log file with its output alone" one_log_per_rank
test_case "64 ranks that print as fast as they can lose nothing" nothing_is_lost
test_case "hosts may have different homes" different_homes
test_case "what an rc file prints does no harm" noisy_rc_file
test_case "the program is sent to a host once" shipped_once
test_case "TensorFlow's workers meet on four hosts, each on a port of its own" tensorflow_workers_meet
test_case "the launcher's own machine takes part with an address that others reach" launcher_takes_part
test_case "a worker's exit code is the launcher's, and the last line says whose" worker_exits_3
test_case "a worker that a signal ends gives 128 and the signal" worker_is_killed
test_case "workers that ignore TERM are killed after the grace" workers_ignore_term
test_case "a daemon that holds a worker's stdout ends with the task" worker_leaves_daemon
test_case "Ctrl-C ends every worker" ctrl_c
test_case "a killed launcher leaves nothing on any host within 10 s" launcher_is_killed
soak_case "a host that is cut off ends the task and is named" host_is_cut
soak_case "a host that freezes ends the task and is named" host_freezes
soak_case "a host that loses power ends the task and is named" host_loses_power
test_case "nothing starts when one host lacks the program" program_is_missing
test_case "nothing starts when one host lacks the working directory" folder_is_missing
test_case "a wrong host key stops the launch" host_key_is_wrong
test_case "an unknown host key stops the launch and shows the fingerprint" host_key_is_unknown
test_case "a host name that does not resolve stops the launch" host_name_is_unknown
test_case "a refused port stops the launch" port_is_refused
test_case "task list, show, logs and kill tell the truth" tasks_tell_the_truth
finish
