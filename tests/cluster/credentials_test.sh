#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Hosts that are logged in to by an ssh-agent that goes, and by one that `task attach` lends.
#   credentials_test.sh path/to/train
# shellcheck disable=SC2016 # programs for hosts and ranks are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 2 --slots 1
use_train "${1:-}"

both=(-H 'node[01-02]:1' -n 2)
id='' # of the task

# Prints numbered lines until /srv/shared/go is there.
cat >"$shared/counts" <<'BASH'
echo $$ >"/srv/shared/pid-$RANK"
for ((i = 0; ; i++)); do
    echo "line $i of rank $RANK"
    [ ! -e /srv/shared/go ] || break
    sleep 0.05 # waits: the pace of the rank
done
BASH

# start_agent NAME: an ssh-agent of the head at /tmp/NAME, which alone has the key that logs in.
start_agent() { on head "setsid ssh-agent -a /tmp/$1 >/tmp/$1.words </dev/null; SSH_AUTH_SOCK=/tmp/$1 ssh-add -q /tmp/key 2>&1"; }
end_agent() { on head "pkill -KILL -f '^ssh-agent -a /tmp/$1\$'; rm -f /tmp/$1"; }

make_key() {
    on head 'rm -f /tmp/key*; ssh-keygen -q -t ed25519 -N "" -f /tmp/key'
    authorize /tmp/key "${nodes[@]}"
}

# detach ARGUMENT...: with the agent `own`; sets `id`.
detach() {
    rm -f "$shared/go" "$shared"/pid-*
    run_on_head env SSH_AUTH_SOCK=/tmp/own "$train" launch -d "${both[@]}" "$@" -- /bin/bash /srv/shared/counts
    expect_status 0
    id=$(cat "$work/out")
    eventually 10 test -s "$shared/pid-0" -a -s "$shared/pid-1" || note_failure "the ranks do not run"
}

said() { on head "cat ~/.local/state/train/tasks/$id/launcher.log" | grep -Eq -- "$1"; }
lines_of_second() { on head "$train task logs $id --rank 1" | wc -l; }
prints_again() { [ "$(lines_of_second)" -gt "$1" ]; }
rank_pids() { cat "$shared/pid-0" "$shared/pid-1"; }
attach_with() { # AGENT
    start_on_head env SSH_AUTH_SOCK="/tmp/$1" "$train" task attach "$id"
}
leave_view() {
    signal_launcher INT
    await_launch 5
}

# What node02 had of the network is gone when it is back.
lose_connection() {
    "$cluster" cut node02
    on node02 'pkill -KILL -f "^sshd: root@notty"'
    "$cluster" heal node02
}

lent_agent_serves() { # TRANSPORT
    local before after pids
    make_key
    start_agent own
    detach --transport "$1"
    expect_err '^train: hosts node\[01-02\] are logged in to with ssh-agent: once it has ended'
    expect_err "^  train task attach $id"
    pids=$(rank_pids)
    end_agent own
    lose_connection
    eventually 20 said "host 'node02' is out of reach .*authentication failed" ||
        note_failure "the supervisor does not say that it cannot log in"
    on head "$train task show $id" | grep -q '^ *node02: out of reach: it refuses what its launcher can log in with' ||
        note_failure "task show does not say that node02 wants a login"
    # A terminal that has none to lend.
    attach_with none
    within 10 "what is missing is said" err_has '^train: host node02 waits for a login, and this terminal has nothing to lend'
    leave_view
    before=$(lines_of_second)
    start_agent other
    attach_with other
    within 10 "the agent serves" err_has '^train: hosts node\[01-02\] are logged in to with the ssh-agent of this terminal from now on$'
    after=$(lines_of_second)
    eventually 15 prints_again "$after" || note_failure "rank 1 prints nothing, after $before and $after lines"
    leave_view
    eventually 5 said "host 'node02' is back" || note_failure "the supervisor does not say that node02 is back"
    # It serves after the view is left, and once it is known to nobody that there was one before.
    lose_connection
    after=$(lines_of_second)
    eventually 15 prints_again "$after" || note_failure "rank 1 prints nothing after the second loss"
    expect_equal "ranks" "$pids" "$(rank_pids)"
    touch "$shared/go"
    on head "$train task wait $id"
    expect_equal "status of task wait" 0 $?
    for rank in 0 1; do
        on head "$train task logs $id --rank $rank" >"$work/log"
        seq -f "line %g of rank $rank" 0 $(($(wc -l <"$work/log") - 1)) | cmp - "$work/log" ||
            note_failure "the log of rank $rank has gaps"
    done
    end_agent other
    expect_idle 5 head "${nodes[@]}"
    restart head "${nodes[@]}"
}

nothing_is_lent_where_files_log_in() {
    on head 'cp .ssh/id_ed25519 /tmp/key'
    start_agent own
    detach --set reconnect_window=60s
    ! err_has 'logged in to' || note_failure "hosts are named that a file logs in to"
    end_agent own
    start_agent other
    attach_with other
    within 10 "it is viewed" out_has '^\[0\] line'
    ! err_has 'logged in to|for a login' || note_failure "something is said of logins"
    touch "$shared/go"
    await_launch 20
    expect_status 0
    end_agent other
    restart head "${nodes[@]}"
}

adopted_with_own_agent() {
    make_key
    start_agent own
    detach
    end_agent own
    start_agent other
    kill_supervisor
    attach_with other
    within 20 "somebody attends it" err_has "^train: task $id is attended again"
    expect_err '^train: hosts node\[01-02\] are logged in to with ssh-agent: once it has ended'
    touch "$shared/go"
    await_launch 20
    expect_status 0
    end_agent other
    restart head "${nodes[@]}"
}

for transport in ssh openssh; do
    test_case "an agent that 'task attach' lends logs in to a host that had lost its own (transport $transport)" \
        lent_agent_serves $transport
done
test_case "nothing is said of logins where files log in" nothing_is_lent_where_files_log_in
test_case "who goes on with a task logs in with the agent of its own terminal" adopted_with_own_agent
finish
