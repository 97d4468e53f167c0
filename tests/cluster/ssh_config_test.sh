#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Hosts as ssh's configuration describes them.   ssh_config_test.sh path/to/train
. "$(dirname "$0")/lib.sh"

use_cluster 2 --slots 1
use_train "${1:-}"

# Everything that the head's ssh is called with goes through a program that counts.
count_calls() {
    on head 'printf "#!/bin/sh\necho \"\$*\" >>/tmp/ssh-calls\nexec /usr/bin/ssh \"\$@\"\n" >/usr/local/bin/ssh
        chmod 755 /usr/local/bin/ssh; rm -f /tmp/ssh-calls'
}
calls() { on head 'cat /tmp/ssh-calls 2>/dev/null' | grep -c .; }

# launch_with_agent ARGUMENT...: with the agent that `start_agent FILE...` started.
start_agent() {
    on head "ssh-agent -a /tmp/agent >/dev/null; SSH_AUTH_SOCK=/tmp/agent ssh-add -q $* 2>&1"
}
launch_with_agent() { run_on_head env SSH_AUTH_SOCK=/tmp/agent "$train" launch "$@"; }

runs_on() { # HOST ARGUMENT...: a launch with these arguments runs there
    local host=$1
    shift
    launch "$@" -n 1 -- hostname
    expect_status 0
    expect_out "^\[0\] $host\$"
}

# --- Where a host is ---

alias_port_and_user() {
    on node01 'useradd -o -u 4711 -d /srv/trainer -m -s /bin/bash -p "*" trainer
        cp -a .ssh /srv/trainer/ && chown -R trainer /srv/trainer/.ssh'
    second_sshd node01 /etc/ssh/sshd_testbed
    configure 'Host big-one' '  HostName 10.77.1.1' '  Port 2222' '  User trainer'
    launch_in /srv/shared -H big-one:1 -n 1 -- id -un
    expect_status 0
    expect_out '^\[0\] trainer$'
    # What the command line says comes first.
    launch_in /srv/shared -H root@big-one:1 -n 1 -- id -un
    expect_out '^\[0\] root$'
    restart head node01
}

included_files() {
    on head 'mkdir -p .ssh/conf.d; printf "Host one\n  HostName node01\n" >.ssh/conf.d/a
        printf "Host two\n  HostName node02\n" >.ssh/conf.d/b'
    configure 'Include conf.d/*' 'Host *' '  ConnectTimeout 20'
    launch -H one:1,two:1 -n 2 -- hostname
    expect_status 0
    expect_out '^\[0\] node01$'
    expect_out '^\[1\] node02$'
    restart head
}

ssh_is_asked_only_if_it_matters() {
    count_calls
    runs_on node01 -H 'node[01-02]:1'
    expect_equal "calls of ssh without ~/.ssh/config" 0 "$(calls)"
    configure 'Host node*' '  User root' '  ConnectTimeout 20'
    launch -H 'node[01-02]:1' -n 2 -- hostname
    expect_status 0
    expect_equal "calls of ssh for hosts of one Host line" 1 "$(calls)"
    restart head
}

broken_configuration() {
    configure 'Host *' '  Prot 22'
    launch -H 'node[01-02]:1' -n 2 -- hostname
    expect_status 76
    expect_err 'line 2: Bad configuration option: prot'
    restart head
}

# --- Logging in ---

several_identity_files() {
    on head 'ssh-keygen -q -t ed25519 -N "" -f .ssh/wrong; ssh-keygen -q -t ecdsa -N "" -f .ssh/right'
    authorize .ssh/right node01
    configure 'Host node01' '  IdentityFile ~/.ssh/wrong' '  IdentityFile %d/.ssh/ri%ght'
    launch -H node01:1 -n 1 -- hostname
    expect_status 76
    expect_err '%g'
    configure 'Host node01' '  IdentityFile ~/.ssh/wrong' '  IdentityFile %d/.ssh/right'
    runs_on node01 -H node01:1
    restart head node01
}

identities_only() {
    # sshd allows six tries: without IdentitiesOnly the keys of the agent use them up.
    # shellcheck disable=SC2016 # expanded on the head
    on head 'for i in 1 2 3 4 5 6 7; do ssh-keygen -q -t ed25519 -N "" -f key$i; done
        ssh-keygen -q -t ed25519 -N "" -f right'
    start_agent 'key?'
    authorize right node01
    configure 'Host node01' '  IdentityFile ~/right'
    launch_with_agent -H node01:1 -n 1 -- hostname
    expect_status 76
    expect_err 'MaxAuthTries'
    configure 'Host node01' '  IdentityFile ~/right' '  IdentitiesOnly yes'
    launch_with_agent -H node01:1 -n 1 -- hostname
    expect_status 0
    restart head node01
}

agent_holds() { # TYPE: the file itself is encrypted
    on head "ssh-keygen -q -t $1 -N '' -f plain; cp plain copy; cp plain.pub copy.pub
        ssh-keygen -q -p -P '' -N secret -f plain >/dev/null"
    authorize plain node01
    configure 'Host node01' '  IdentityFile ~/plain' '  IdentitiesOnly yes'
    launch -H node01:1 -n 1 -- hostname
    expect_status 76
    expect_err 'plain is encrypted'
    expect_err 'ssh-add'
    start_agent copy
    launch_with_agent -H node01:1 -n 1 -- hostname
    expect_status 0
    expect_out '^\[0\] node01$'
    # The public half names the agent's key as well.
    configure 'Host node01' '  IdentityFile ~/copy.pub' '  IdentitiesOnly yes' \
        '  IdentityAgent /tmp/agent'
    runs_on node01 -H node01:1
    restart head node01
}

# --- Host keys ---

hashed_known_hosts() {
    second_sshd node02 /etc/ssh/sshd_testbed
    on head 'sed -i "s/^node02,[^ ]*/[node02]:2222/" .ssh/known_hosts; ssh-keygen -q -H -f .ssh/known_hosts >/dev/null 2>&1
        rm -f .ssh/known_hosts.old; ! grep -q node .ssh/known_hosts' ||
        note_failure "known_hosts still has names"
    configure 'Host node02' '  Port 2222'
    launch -H 'node[01-02]:1' -n 2 -- hostname
    expect_status 0
    expect_out '^\[1\] node02$'
    restart head node02
}

host_key_alias() {
    on head 'sed -i "s/^node02,[^ ]*/the-farm/" .ssh/known_hosts'
    launch -H node02:1 -n 1 -- hostname
    expect_status 76
    expect_err 'the host key of node02:22 is not known'
    configure 'Host node02' '  HostKeyAlias the-farm'
    runs_on node02 -H node02:1
    restart head
}

# `no` is taken for accept-new, which is said once.
no_is_accept_new() { # ARGUMENT...: of the launches
    on head 'sed -i "/^node0[12],/d" .ssh/known_hosts'
    configure 'StrictHostKeyChecking no'
    launch "$@" -H 'node[01-02]:1' -n 2 -- hostname
    expect_status 0
    expect_equal "new keys" 2 "$(grep -c ' is new and was added to ' "$work/err")"
    expect_equal "warnings" 1 "$(grep -c "^train: warning: 'StrictHostKeyChecking no' is taken as accept-new" "$work/err")"
    launch "$@" -H 'node[01-02]:1' -n 2 -- hostname
    expect_status 0
    ! err_has 'accept-new' || note_failure "it warns where nothing was accepted"
    restart head
}

accept_new() { # ARGUMENT...: of the launches
    on head 'sed -i /^node02,/d .ssh/known_hosts'
    configure 'StrictHostKeyChecking accept-new' 'HashKnownHosts yes'
    launch "$@" -H 'node[01-02]:1' -n 2 -- hostname
    expect_status 0
    expect_err '^train: the host key of node02 is new and was added to /root/.ssh/known_hosts: ssh-ed25519 SHA256:'
    on head 'grep -q "^|1|" .ssh/known_hosts && ssh-keygen -F node02 -f .ssh/known_hosts >/dev/null' ||
        note_failure "ssh-keygen does not find node02 in known_hosts"
    launch "$@" -H 'node[01-02]:1' -n 2 -- hostname
    expect_status 0
    ! err_has 'is new' || note_failure "a known key is added again"
    on head 'ssh -o BatchMode=yes -o StrictHostKeyChecking=yes node02 true' ||
        note_failure "ssh itself does not know the key"
    # shellcheck disable=SC2016 # expanded on the head
    on head 'ssh-keygen -q -R node02 -f .ssh/known_hosts >/dev/null 2>&1; ssh-keygen -q -t ed25519 -N "" -f other
        read -r type key _ <other.pub; echo "node02 $type $key" >>.ssh/known_hosts'
    launch "$@" -H 'node[01-02]:1' -n 2 -- touch /tmp/started
    expect_status 76
    expect_err 'host key of (node02|10\.77\.1\.2):22 has changed'
    # Known by a key of another type, it is not new either.
    # shellcheck disable=SC2016 # expanded on the head
    on head 'ssh-keygen -q -R node02 -f .ssh/known_hosts >/dev/null 2>&1; ssh-keygen -q -t ecdsa -N "" -f another
        read -r type key _ <another.pub; echo "node02 $type $key" >>.ssh/known_hosts'
    launch "$@" -H 'node[01-02]:1' -n 2 -- touch /tmp/started
    expect_status 76
    expect_err 'host key of (node02:22 is not known|10\.77\.1\.2:22 has changed)' # as ssh calls it
    on node01 'test ! -e /tmp/started' || note_failure "something was started"
    restart head
}

# --- What takes OpenSSH itself ---

beyond_libssh2() {
    local option
    for option in 'ProxyCommand ssh -W %h:%p node01' \
        'KexAlgorithms sntrup761x25519-sha512@openssh.com'; do
        configure 'Host node02' "  $option"
        launch -H 'node[01-02]:1' -n 2 -- hostname
        expect_status 0
        expect_out '^\[0\] node01$'
        expect_out '^\[1\] node02$'
        expect_err "^train: node02 is reached by OpenSSH's own client: .*${option#* }"
        ! err_has 'node01 is reached' || note_failure "the other host goes that way, too"
        launch --transport ssh -H 'node[01-02]:1' -n 2 -- touch /tmp/started
        expect_status 76
        expect_err "node02.*OpenSSH's own client only.*${option#* }"
        on node01 'test ! -e /tmp/started' || note_failure "something was started"
    done
    configure 'Host node02' '  PreferredAuthentications password'
    launch -H 'node[01-02]:1' -n 2 -- hostname
    expect_status 76
    expect_err "^train: node02 is reached by OpenSSH's own client: 'PreferredAuthentications password'"
    restart head
}

test_case "an alias stands for a host, a port and a user" alias_port_and_user
test_case "included files count" included_files
test_case "ssh is asked once for all hosts, and not at all when nothing is configured" ssh_is_asked_only_if_it_matters
test_case "a configuration that ssh refuses is told in its words" broken_configuration
test_case "several identity files are tried in order" several_identity_files
test_case "IdentitiesOnly keeps the agent's keys out" identities_only
for type in ed25519 ecdsa rsa; do
    test_case "an encrypted $type key logs in through ssh-agent" agent_holds $type
done
test_case "hashed names and names with a port are found in known_hosts" hashed_known_hosts
test_case "HostKeyAlias names the host in known_hosts" host_key_alias
test_case "accept-new adds a new key and refuses a changed one" accept_new
test_case "accept-new means the same through OpenSSH's client" accept_new --transport openssh
test_case "StrictHostKeyChecking no is taken for accept-new" no_is_accept_new
test_case "StrictHostKeyChecking no means the same through OpenSSH's client" no_is_accept_new --transport openssh
test_case "what libssh2 cannot do goes through OpenSSH's client, with a line that says why" beyond_libssh2
finish
