#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# launch -d over SSH: what belongs to the terminal until the ranks have started, and nothing after.
# detach_test.sh path/to/train
. "$(dirname "$0")/lib.sh"

use_cluster 2 --slots 1
use_train "${1:-}"

both=(-H 'node[01-02]:1' -n 2)

# at_terminal [WORDS ANSWER]... -- COMMAND...: at a terminal that goes when the command has ended.
at_terminal() {
    cp "$(dirname "$0")/terminal_session.py" "$shared/"
    run_on_head python3 /srv/shared/terminal_session.py "$@"
}

newest() { on head "$train task list --all --json" | python3 -c 'import json, sys; print(json.load(sys.stdin)["tasks"][0]["id"])'; }
state_of() { on head "$train task show $1 --json" | python3 -c 'import json, sys; print(json.load(sys.stdin)["state"])'; }

outlives_its_login() {
    rm -f "$shared/go"
    # shellcheck disable=SC2016 # expanded by the ranks
    run_on_head ssh head "$train launch -d ${both[*]} -- sh -c 'until [ -e /srv/shared/go ]; do sleep 0.05; done; echo done \$RANK'"
    expect_status 0
    local id
    id=$(cat "$work/out")
    [[ $id =~ ^[a-z2-7]{8}$ ]] || note_failure "stdout is not an id alone: '$id'"
    expect_equal "state" running "$(state_of "$id")"
    touch "$shared/go"
    on head "$train task wait $id"
    expect_equal "status of task wait" 0 $?
    expect_equal "output" "$(printf '[%d] done %d\n' 0 0 1 1)" "$(on head "$train task logs $id" | sort)"
}

outlives_its_terminal() {
    on head 'cp .ssh/id_ed25519 .ssh/locked && ssh-keygen -q -p -P "" -N secret -f .ssh/locked' >/dev/null
    configure 'Host node*' '  IdentityFile ~/.ssh/locked' '  IdentitiesOnly yes'
    at_terminal 'passphrase for the key ~/.ssh/locked: ' secret -- "$train" launch -d "${both[@]}" -- /bin/sh -c "$forever"
    expect_status 0
    expect_out 'task [a-z0-9]+ runs on its own now'
    local id
    id=$(newest)
    expect_equal "state" running "$(state_of "$id")"
    eventually 5 workers_run || note_failure "the workers do not run: $(all_processes '^sleep')"
    on head "$train task kill $id"
    expect_equal "state" killed "$(state_of "$id")"
    expect_equal "left" "" "$(all_processes '^sleep 4711')"
    on head 'rm .ssh/config .ssh/locked'
}

stopped_while_it_starts() {
    "$cluster" freeze node02
    at_terminal 'output in' '^C' -- "$train" launch -d "${both[@]}" -- /bin/sh -c "$forever"
    expect_status 130
    expect_no_out 'runs on its own'
    "$cluster" thaw node02
    expect_equal "state" interrupted "$(state_of "$(newest)")"
    eventually 10 nothing_left || note_failure "left: $(all_processes 'agent attach|^sleep 4711')"
}
# dies_before_ranks_start [cut]: with it, the host that is ready cannot hear of that.
dies_before_ranks_start() {
    "$cluster" freeze node02
    launch_start -d "${both[@]}" -- /bin/sh -c "$forever"
    within 20 "the other host has an agent" has_agent node01
    [ $# -eq 0 ] || "$cluster" cut node01
    on head "pkill -KILL -f '[t]rain launch'"
    eventually 10 launch_has_ended || note_failure "the launcher is still there"
    expect_equal "state" lost "$(state_of "$(newest)")"
    # Its slot is free with it.
    eventually $((10 + $# * 50)) has_no_agent node01 || note_failure "left: $(all_processes 'agent attach')"
    expect_equal "what is held" "" "$(on node01 "$train task list --slots --csv" | grep -F ,held,)"
    "$cluster" heal node01
    "$cluster" thaw node02
    eventually 10 nothing_left || note_failure "left: $(all_processes 'agent attach|^sleep 4711')"
}
has_agent() { [ "$(processes "$1" 'agent attach')" -gt 0 ]; }
has_no_agent() { ! has_agent "$1"; }
nothing_left() { [ -z "$(all_processes 'agent attach|^sleep 4711')" ]; }

# As systemd has it for a login: the cgroup of a session, and what logind is told.
login_is_killed() {
    local host
    cat >"$shared/in_session" <<'BASH'
#!/bin/bash
session=/sys/fs/cgroup/user.slice/user-0.slice/session-1.scope
mkdir -p "$session" && echo $$ >"$session/cgroup.procs"
exec /bin/bash -c "$*"
BASH
    chmod 755 "$shared/in_session"
    for host in head node02; do
        # shellcheck disable=SC2016 # the host expands it
        on "$host" 'mkdir -p /etc/systemd/logind.conf.d && printf "[Login]\nKillUserProcesses=yes\nKillExcludeUsers=\n" >/etc/systemd/logind.conf.d/kill.conf'
    done
    # shellcheck disable=SC2016 # sshd expands it
    sshd_option 'ForceCommand USER=root exec /srv/shared/in_session $SSH_ORIGINAL_COMMAND' node02
    run_on_head env USER=root /srv/shared/in_session "$train launch -d ${both[*]} -- sleep 4711"
    expect_status 0
    expect_err '^train: warning: no rank on node02 outlives a lost connection: logind there kills'
    expect_err '^train: warning: logind here kills what a login has started when it ends'
    expect_err 'systemd-run --user --scope train'
    on head "$train task kill $(cat "$work/out")" 2>/dev/null
    launch "${both[@]}" --set reconnect_window=0s -- true
    expect_status 0
    ! err_has warning || note_failure "a warning although nothing is to outlive a lost connection"
    restart head node02
}

# The questions of `task attach`, of a task whose launcher is dead; the second is answered after so many SECONDS.
attach_asks() {
    local id
    on head 'cp .ssh/id_ed25519 .ssh/locked && ssh-keygen -q -p -P "" -N secret -f .ssh/locked' >/dev/null
    id=$(on head "$train launch -d ${both[*]} -- /bin/sh -c '$forever'" 2>/dev/null)
    kill_supervisor
    eventually 5 is_unattended "$id" || note_failure "state: $(state_of "$id")"
    configure 'Host node*' '  IdentityFile ~/.ssh/locked' '  IdentitiesOnly yes'
    at_terminal 'passphrase for the key ~/.ssh/locked: ' '^C' -- "$train" task attach "$id"
    expect_status 130
    expect_out "task $id stays unattended: stopped by SIGINT before its hosts were reached"
    expect_out '^echo: on$'
    expect_equal "state" unattended "$(state_of "$id")"
    at_terminal 'passphrase for the key ~/.ssh/locked: ' "$1s:secret" 'is attended again' '^C' -- "$train" task attach "$id"
    expect_status 130
    expect_out "task $id goes on; to see it again, or stop it:"
    expect_equal "state" running "$(state_of "$id")"
    on head "$train task kill $id"
    expect_equal "state" killed "$(state_of "$id")"
    eventually 10 nothing_left || note_failure "left: $(all_processes 'agent attach|^sleep 4711')"
    on head 'rm .ssh/config .ssh/locked'
}
is_unattended() { [ "$(state_of "$1")" = unattended ]; }

test_case "a detached launch outlives the login that it was called from" outlives_its_login
test_case "a passphrase is asked for at the terminal, which is then not needed any more" outlives_its_terminal
test_case "Ctrl-C before the ranks have started ends it" stopped_while_it_starts
test_case "a launcher that dies before the ranks start leaves nothing, and no slot held" dies_before_ranks_start
soak_case "a host that cannot hear of that gives its slot back after 40 seconds" dies_before_ranks_start cut
test_case "it is said where a login's end kills what it has started" login_is_killed
test_case "attach asks for a passphrase, and Ctrl-C at the question leaves the task as it was" attach_asks 1
soak_case "attach waits for a passphrase for longer than for hosts that do not answer" attach_asks 17
finish
