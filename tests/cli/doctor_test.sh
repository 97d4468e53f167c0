#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What train doctor says of a machine with faults.   doctor_test.sh path/to/train
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

# ssh and train look for ssh's files in the home that the user database says, so a case has a database
# of its own, where $work/home is the user's home. The user has no capabilities there: to one with them no
# file is unreadable.
with_own_home() {
    printf 'me:x:0:0::%s:/bin/sh\n' "$work/home" >"$work/passwd"
    mkdir -p "$work/bin"
    cat >"$work/bin/train" <<SH
#!/bin/sh
exec unshare --user --map-root-user --mount sh -c \
    'mount --bind "$work/passwd" /etc/passwd && exec setpriv --bounding-set=-all "\$@"' - "\${TRAIN:-$train}" "\$@"
SH
    chmod +x "$work/bin/train"
    [ "$(TRAIN=/usr/bin/whoami "$work/bin/train" 2>/dev/null)" = me ] || { skip "no user can be made up"; return 1; }
    true_train=$train
    train=$work/bin/train
    (umask 077 && mkdir -p "$work/home/.ssh" && echo key >"$work/home/.ssh/id_ed25519")
}
with_true_home() { train=$true_train; }

# doctor CODE: both forms, which say the same.
doctor() {
    run doctor --json
    expect_status "$1"
    expect_schema doctor "$work/out"
    cp "$work/out" "$work/document"
    run doctor
    expect_status "$1"
    expect_equal "findings in both forms" "$(field 'len(d["findings"])' "$work/document")" "$(wc -l <"$work/out")"
}
# expect_finding STATE CHECK MESSAGE: a regular expression for the line.
expect_finding() { expect_out "^$1 +$2 +$3"; }

no_fault() {
    with_own_home || return
    doctor 0
    expect_finding ok ssh '/.*/ssh is OpenSSH_[0-9]'
    expect_finding ok keys '1 key file$'
    expect_finding ok ssh_config "there is no '$work/home/.ssh/config'"
    expect_finding ok ssh_agent 'none is used'
    expect_finding ok hosts_file 'TRAIN_HOSTFILE is not set'
    expect_finding ok state "'$work/state/train' is made by the first launch"
    expect_finding ok tasks 'no task runs'
    expect_finding ok open_files '[0-9]* \(ulimit -Hn\), enough for [0-9]* hosts|no limit'
    expect_no_out '^wrong'
    [ ! -e "$work/state" ] || note_failure "the state directory was made"
    with_true_home
}

open_key() {
    with_own_home || return
    chmod 644 "$work/home/.ssh/id_ed25519"
    doctor 1
    expect_finding wrong keys "others can read the key '.*id_ed25519' \(mode 0644\).*; chmod 600 $work/home/.ssh/id_ed25519$"
    expect_err '^train: 1 wrong, [0-9]+ warnings? \(exit 1\)$'
    with_true_home
}

# A user's configuration that names a key: that one is looked at.
configured_key() {
    with_own_home || return
    printf 'IdentityFile ~/.ssh/mine\n' >"$work/home/.ssh/config"
    mv "$work/home/.ssh/id_ed25519" "$work/home/.ssh/mine"
    chmod 640 "$work/home/.ssh/mine"
    doctor 1
    expect_finding wrong keys "others can read the key '.*/mine' \(mode 0640\)"
    with_true_home
}

bad_config() {
    with_own_home || return
    printf 'NoSuchOption yes\n' >"$work/home/.ssh/config"
    doctor 1
    expect_finding wrong ssh_config '.*[Bb]ad configuration option: nosuchoption'
    chmod 000 "$work/home/.ssh/config"
    doctor 1
    expect_finding wrong ssh_config "'.*/config' cannot be read: permission denied; chmod 600"
    chmod 666 "$work/home/.ssh/config"
    doctor 1
    expect_finding wrong ssh_config "others can write '.*/config' \(mode 0666\), so ssh refuses it"
    with_true_home
}

bad_hosts_file() {
    printf 'hosts:\n  - {name: a, slot: 2}\n  - {name: b, slot: 2}\n' >hosts.yaml
    environment=(TRAIN_HOSTFILE=hosts.yaml)
    doctor 1
    expect_finding wrong hosts_file "hosts.yaml:2: unknown key 'slot'.* \(and 1 more\); did you mean 'slots'\?"
    environment=(TRAIN_HOSTFILE=nothing.yaml)
    doctor 1
    expect_finding wrong hosts_file "cannot read the hosts file 'nothing.yaml'"
    printf 'hosts:\n  - {name: a, slots: 2}\n' >hosts.yaml
    environment=(TRAIN_HOSTFILE=hosts.yaml)
    run doctor
    expect_finding ok hosts_file "'hosts.yaml' has 1 host$"
}

open_state() {
    mkdir -p "$work/state/train"
    chmod 755 "$work/state/train"
    run doctor
    expect_finding warning state "others can enter '$work/state/train' \(mode 0755\).*; chmod 700 $work/state/train$"
    expect_equal "its mode then" 755 "$(stat -c %a "$work/state/train")"
    rmdir "$work/state/train"
    ln -s /tmp "$work/state/train"
    doctor 1
    expect_finding wrong state "'$work/state/train' cannot be used: it is not a directory"
}

damaged_registry() {
    (umask 077 && mkdir -p "$work/state/train")
    echo "this is no database, whatever its name says" >"$work/state/train/tasks.db"
    doctor 1
    expect_finding wrong tasks ".*is damaged.*; move it away"
}

dead_agent() {
    environment=(SSH_AUTH_SOCK="$work/agent")
    /usr/bin/python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$work/agent"
    run doctor
    expect_finding warning ssh_agent ".*$work/agent.*; "
    eval "$(ssh-agent -a "$work/living")" >/dev/null
    environment=(SSH_AUTH_SOCK="$work/living")
    run doctor
    expect_finding 'ok|^warning' ssh_agent ".*'$work/living'"
    ssh-agent -k >/dev/null
}

unattended_task() {
    local id
    start launch -n 1 --set on_launcher_loss=continue -- sleep 600
    within 20 "the rank runs" process_count_is 1 '^sleep 600'
    within 20 "the task runs" newest_runs
    kill -KILL "$launcher"
    await
    id=$(task_id)
    run doctor
    expect_finding warning tasks "the launcher of task $id has died.*; train task attach $id"
    run task kill "$id"
}
newest_runs() { state_is "$(task_id)" running; }

few_files() {
    (ulimit -n 256 && with_environment "$train" doctor >"$work/out" 2>"$work/err")
    expect_finding warning open_files '256 \(ulimit -Hn\), enough for 64 hosts; raise'
}

full_temporary() {
    environment=(TMPDIR=/proc/self)
    doctor 1
    expect_finding wrong temporary "'/proc/self' cannot be written: .*; set TMPDIR"
}

test_case "a machine without faults has nothing wrong, and no state is made" no_fault
test_case "a key that others can read is wrong" open_key
test_case "keys that ssh_config names are looked at" configured_key
test_case "a configuration that ssh refuses, or nobody can read, is wrong" bad_config
test_case "a hosts file that is wrong or missing is wrong" bad_hosts_file
test_case "a state folder that others can enter is told, and not changed" open_state
test_case "a damaged registry is wrong" damaged_registry
test_case "an ssh-agent that has died is told" dead_agent
test_case "a task whose launcher has died is told" unattended_task
test_case "few open files are told as a number of hosts" few_files
test_case "a place for temporary files that cannot be written is wrong" full_temporary
finish
