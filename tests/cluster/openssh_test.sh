#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Launches through OpenSSH's client: what only it can do, and that it leaves nothing behind.
#   openssh_test.sh path/to/train
. "$(dirname "$0")/lib.sh"

# Certificates: the authority's public key is put there by the cases that need it.
use_cluster 4 --slots 1 --sshd 'TrustedUserCAKeys /etc/ssh/authority.pub'
use_train "${1:-}"

through=(--transport openssh)
on_four=(-H 'node[01-04]:1' -n 4)
launch_forever() { start_forever "${through[@]}" "${on_four[@]}" "$@"; }

ssh_processes() { processes head '^ssh -T'; }
no_ssh_is_left() { [ "$(ssh_processes)" -eq 0 ]; }

# --- What works ---

four_hosts() {
    launch "${through[@]}" "${on_four[@]}" -- hostname
    expect_status 0
    local rank
    for rank in 0 1 2 3; do expect_out "^\[$rank\] node0$((rank + 1))\$"; done
    expect_equal "lines of stdout" 4 "$(wc -l <"$work/out")"
    expect_equal "ssh processes right after the end" 0 "$(ssh_processes)"
    expect_idle 2 head "${nodes[@]}"
}

hosts_file_says_openssh() {
    printf '%s\n' 'hosts:' '  - {name: node01, slots: 1, transport: openssh}' \
        '  - {name: node02, slots: 1, transport: ssh}' '  - {name: head, slots: 1}' \
        >"$shared/mixed.yaml"
    launch_start --hostfile /srv/shared/mixed.yaml -n 3 -- /bin/sh -c "$forever"
    within 30 "a worker runs on node01" worker_is_on node01
    expect_equal "ssh processes to node01" 1 "$(settled processes head '^ssh -T.* node01 exec')"
    expect_equal "ssh processes in all" 1 "$(settled ssh_processes)"
    signal_launcher INT
    await_launch 30
    expect_status 130
    launch --transport ssh --hostfile /srv/shared/mixed.yaml -n 3 -- hostname
    expect_status 0
    expect_idle 2 head node01 node02
}

worker_is_on() { [ "$(processes "$1" '^sleep 4711')" -eq 1 ]; }

ranks_meet() {
    cp "$(dirname "$0")/../cli/tensorflow_worker.py" "$(dirname "$0")/../support/waiting.py" "$shared/"
    launch "${through[@]}" -H 'head:1,node[01-02]:1' -n 3 --set framework=tensorflow -- \
        /usr/bin/python3 /srv/shared/tensorflow_worker.py
    expect_status 0
    expect_equal "workers that met all" 3 "$(grep -c 'of 3 has met all' "$work/out")"
}

much_output() {
    # 32 MiB from each host, of which every byte counts.
    launch "${through[@]}" --tee none "${on_four[@]}" -- /bin/sh -c \
        'yes 0123456789abcdef | head -c 33554432'
    expect_status 0
    expect_whole_logs 4 'yes 0123456789abcdef | head -c 33554432'
    restart head
}

# --- What only OpenSSH can do ---

user_certificate() {
    # shellcheck disable=SC2016
    on head 'cd .ssh && ssh-keygen -q -t ed25519 -N "" -f authority &&
        ssh-keygen -q -t ed25519 -N "" -f signed && ssh-keygen -q -s authority -I me -n root signed.pub &&
        cp authority.pub /srv/shared/ && mv id_ed25519 /root/unused &&
        printf "Host node*\n IdentityFile ~/.ssh/signed\n" >config'
    local host
    for host in "${nodes[@]}"; do on "$host" 'cp /srv/shared/authority.pub /etc/ssh/; rm .ssh/authorized_keys'; done
    launch "${through[@]}" "${on_four[@]}" -- hostname
    expect_status 0
    expect_equal "lines of stdout" 4 "$(wc -l <"$work/out")"
    # Nobody has to say so.
    launch "${on_four[@]}" -- hostname
    expect_status 0
    expect_equal "lines of stdout" 4 "$(wc -l <"$work/out")"
    expect_err "OpenSSH's own client: .*the certificate ~/.ssh/signed-cert.pub"
    restart head "${nodes[@]}"
}

host_certificate() {
    # shellcheck disable=SC2016
    on head 'cd .ssh && ssh-keygen -q -t ed25519 -N "" -f authority &&
        printf "@cert-authority node* %s\n" "$(cat authority.pub)" >known_hosts &&
        cp authority /srv/shared/'
    # shellcheck disable=SC2016
    on node01 'cp /srv/shared/authority /srv/bed/keys/node01.pub . && chmod 600 authority &&
        ssh-keygen -q -s authority -I node01 -h -n node01 node01.pub &&
        mv node01-cert.pub /etc/ssh/ && echo "HostCertificate /etc/ssh/node01-cert.pub" >>/etc/ssh/sshd_testbed'
    reload_sshd node01
    launch "${through[@]}" -H node01:1 -n 1 -- hostname
    expect_status 0
    expect_out '^\[0\] node01$'
    launch "${through[@]}" -H node02:1 -n 1 -- touch /tmp/started
    expect_status 76
    expect_err 'host key of .*is not known: ssh-ed25519 SHA256:'
    expect_nothing_started
    restart head node01
}

# within_seconds SECONDS WHAT COMMAND...: as `within`, without a launcher.
within_seconds() {
    local seconds=$1 what=$2
    shift 2
    eventually "$seconds" "$@" || note_failure "within $seconds s: $what"
}

through_a_jump_host() {
    printf 'Host node02 node03\n  %s\n' "$1" | on_with_input head 'cat >.ssh/config'
    # shellcheck disable=SC2016
    launch "${through[@]}" -H 'node[02-03]:1' -n 2 -- /bin/sh -c \
        'echo "from ${SSH_CONNECTION%% *}, meet at $MASTER_ADDR"'
    expect_status 0
    expect_equal "ranks that came from node01 and meet at node02" 2 \
        "$(grep -c 'from 10\.77\.1\.1, meet at 10\.77\.1\.2$' "$work/out")"
    expect_idle 2 head "${nodes[@]}"
    restart head
}

# on_with_input HOST LINE: as `on`, with standard input.
on_with_input() { "$cluster" exec "$1" timeout -k 5 60 /bin/bash -c "$2"; }

# What ssh itself asks, by the program that SSH_ASKPASS names, of a task that has lost its launcher.
question_has_time() {
    local id
    cat >"$shared/asks" <<'BASH'
#!/bin/bash
echo "$1" >>/srv/shared/asked
until [ -e /srv/shared/answer ]; do sleep 0.05; done
echo secret
BASH
    chmod 755 "$shared/asks"
    on head 'cp .ssh/id_ed25519 .ssh/locked && ssh-keygen -q -p -P "" -N secret -f .ssh/locked' >/dev/null
    configure 'Host node02' '  IdentityFile ~/.ssh/locked' '  IdentitiesOnly yes' 'Host node03' '  ProxyJump node02'
    touch "$shared/answer"
    run_on_head env DISPLAY=:9 SSH_ASKPASS=/srv/shared/asks "$train" launch -d "${through[@]}" -H node03:1 -n 1 -- /bin/sh -c "$forever"
    expect_status 0
    id=$(cat "$work/out")
    kill_supervisor
    rm -f "$shared/answer" "$shared/asked"
    start_on_head env DISPLAY=:9 SSH_ASKPASS=/srv/shared/asks "$train" task attach "$id"
    sleep 18 # waits: longer than hosts that do not answer are waited for, and than a try may take
    ! err_has 'is attended again' || note_failure "attach does not wait for the answer"
    expect_equal "questions" 1 "$(grep -c 'passphrase for key' "$shared/asked")"
    touch "$shared/answer"
    within 10 "the answer is taken" err_has "^train: task $id is attended again"
    signal_launcher INT
    await_launch 5
    on head "$train task kill $id" 2>/dev/null
    expect_equal "questions" 1 "$(grep -c 'passphrase for key' "$shared/asked")"
    restart head
}

existing_master_is_used() {
    on head 'printf "Host node*\n ControlMaster auto\n ControlPath /tmp/master-%%h\n" >.ssh/config'
    on head 'ssh -f -N -o ControlPersist=yes node01'
    # What is open already needs no key.
    on head 'mv .ssh/id_ed25519 /root/unused'
    launch "${through[@]}" -H node01:1 -n 1 -- hostname
    expect_status 0
    expect_out '^\[0\] node01$'
    on head 'ssh -O check node01' 2>/dev/null || note_failure "the master was ended with the launch"
    on head 'ssh -O exit node01' 2>/dev/null
    restart head
}

# --- What is kept from ssh, and from those who look ---

no_secrets() {
    cat >"$shared/secret.yaml" <<'YAML'
name: secret
entrypoint: ["/bin/sh", "-c", "echo token is $TOKEN; exec sleep 4711"]
environment: {environment_variables: {TOKEN: swordfish}}
YAML
    start_on_head env API_KEY=opensesame "$train" launch /srv/shared/secret.yaml "${through[@]}" \
        -H node01:1 -n 1
    within 30 "the rank has its token" out_has 'token is swordfish'
    # shellcheck disable=SC2016
    on head 'for p in $(pgrep -x ssh); do cat /proc/$p/environ /proc/$p/cmdline; done | tr "\0" "\n"' \
        >"$work/seen"
    grep -q '^BatchMode=yes$' "$work/seen" || note_failure "no ssh process was looked at"
    ! grep -Eq 'swordfish|opensesame' "$work/seen" || note_failure "ssh shows a secret"
    signal_launcher INT
    await_launch 30
    expect_idle 2 head node01
}

# --- Trust ---

host_key_is_unknown() {
    on head 'sed -i /^node02,/d .ssh/known_hosts'
    launch "${through[@]}" "${on_four[@]}" -- touch /tmp/started
    expect_status 76
    expect_err 'node02.*host key of .*is not known: ssh-ed25519 SHA256:'
    expect_err 'ssh -o StrictHostKeyChecking=ask node02 true'
    expect_nothing_started
    ! on head 'grep -q ^node02, .ssh/known_hosts' || note_failure "the unknown key was accepted"
    restart head
}

host_key_has_changed() {
    # shellcheck disable=SC2016
    on head 'ssh-keygen -q -t ed25519 -N "" -f other; read -r type key _ <other.pub
        sed -i "s|^\(node02,[^ ]*\) .*|\1 $type $key|" .ssh/known_hosts'
    launch "${through[@]}" "${on_four[@]}" -- touch /tmp/started
    expect_status 76
    expect_err 'node02.*host key of .* has changed: it shows ssh-ed25519 SHA256:.*known_hosts:[0-9]+ has another'
    expect_err 'ssh-keygen -f .*known_hosts.* -R '
    expect_nothing_started
    restart head
}

# --- What fails ---

all_that_is_wrong() {
    printf '%s\n' 'hosts:' '  - {name: node01, slots: 1}' '  - {name: node02, slots: 1, port: 2222}' \
        '  - {name: nowhere, slots: 1}' >"$shared/wrong.yaml"
    launch "${through[@]}" --hostfile /srv/shared/wrong.yaml -n 3 -- touch /tmp/started
    expect_status 76
    expect_err 'node02.*connection refused at 10\.77\.1\.2:2222'
    expect_err "nowhere.*name 'nowhere' does not resolve"
    expect_nothing_started
}

no_key() {
    on head 'mv .ssh/id_ed25519 /root/unused'
    launch "${through[@]}" -H node01:1 -n 1 -- touch /tmp/started
    expect_status 76
    expect_err 'authentication failed for user root at 10\.77\.1\.1:22'
    expect_nothing_started
    restart head
}

no_ssh_program() {
    run_on_head env PATH=/nowhere "$train" launch "${through[@]}" "${on_four[@]}" -- touch /tmp/started
    expect_status 72
    expect_err "'ssh'"
    expect_err 'openssh-client'
    expect_nothing_started
}

host_does_not_answer() {
    "$cluster" cut node03
    launch "${through[@]}" "${on_four[@]}" -- touch /tmp/started
    expect_status 76
    expect_err 'node03.*no answer from 10\.77\.1\.3:22'
    "$cluster" heal node03
    expect_nothing_started
}

# Connections are asked for again after 1, 3, 7, 15 and 31 s: one of the last two is answered.
patience() {
    configure 'Host node03' '  ConnectTimeout 60'
    "$cluster" cut node03
    launch_start "${through[@]}" "${on_four[@]}" -- hostname
    stays 12 launch_runs || note_failure "it did not wait for longer than its own 10 s"
    "$cluster" heal node03
    await_launch 60
    expect_status 0
    expect_out '^\[2\] node03$'
    restart head
}

# --- What ends early ---

ssh_is_made_anew() {
    local before
    launch_forever
    before=$(logins_of_node03)
    kill_ssh
    within 10 "another ssh process has logged in" node03_has_more_logins "$before"
    workers_run || note_failure "a worker does not run any more"
    signal_launcher INT
    await_launch 30
    expect_status 130
    expect_idle 2 head "${nodes[@]}"
}

kill_ssh() { on head 'pkill -KILL -f "^ssh -T.* node03 exec"'; }
logins_of_node03() { on node03 'grep -c Accepted /run/sshd.log'; }
node03_has_more_logins() { [ "$(logins_of_node03)" -gt "$1" ]; }

ssh_is_killed() {
    launch_forever --set reconnect_window=0s
    kill_ssh
    await_launch 60
    expect_status 76
    expect_last_err node03 '\bhost\b'
    expect_err 'ssh process to 10\.77\.1\.3:22 was killed by signal KILL'
    expect_idle 2 node01 node02 node04
    expect_idle 10 head node03
}

ctrl_c() {
    launch_forever
    signal_launcher INT
    await_launch 30
    expect_status 130
    expect_idle 2 head "${nodes[@]}"
}

launcher_is_killed() {
    launch_forever
    signal_launcher KILL
    await_launch 5
    expect_status 137
    within_seconds 5 "no ssh process is left" no_ssh_is_left
    expect_idle 10 head "${nodes[@]}"
}

host_is_cut() {
    launch_forever --set reconnect_window=0s
    "$cluster" cut node03
    await_launch 60
    expect_status 76
    expect_last_err node03 '\bhost\b'
    expect_idle 2 head node01 node02 node04
    "$cluster" heal node03
    expect_idle 60 node03
}

test_case "four ranks run on four hosts through ssh processes, of which none is left" four_hosts
test_case "a hosts file says which hosts go through ssh processes, and --transport goes before it" hosts_file_says_openssh
test_case "ranks behind ssh processes meet, the launcher's machine among them" ranks_meet
test_case "32 MiB from each of four hosts come whole" much_output
test_case "a user certificate logs in" user_certificate
test_case "a host certificate is trusted" host_certificate
test_case "a ProxyCommand is used, and the host's own address told" \
    through_a_jump_host 'ProxyCommand ssh -W %h:%p node01'
test_case "a ProxyJump is used, and the host's own address told" through_a_jump_host 'ProxyJump node01'
soak_case "a question of ssh's own has the time that it takes when a task is gone on with" question_has_time
test_case "a master connection that exists is used, and survives" existing_master_is_used
test_case "no ssh process shows a secret" no_secrets
test_case "an unknown host key stops the launch and shows the fingerprint" host_key_is_unknown
test_case "a changed host key stops the launch" host_key_has_changed
test_case "all hosts that cannot be reached are named" all_that_is_wrong
test_case "a missing key stops the launch" no_key
test_case "a machine without ssh says so" no_ssh_program
test_case "a host that does not answer is named" host_does_not_answer
soak_case "a host that answers late is waited for, as long as its ConnectTimeout says" patience
test_case "a killed ssh process is made anew" ssh_is_made_anew
test_case "without a reconnect window a killed ssh process is a lost host" ssh_is_killed
test_case "Ctrl-C ends every worker and every ssh process" ctrl_c
test_case "a killed launcher leaves nothing on any host within 10 s" launcher_is_killed
soak_case "a host that is cut off ends the task and is named" host_is_cut
finish
