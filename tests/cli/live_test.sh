#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Who holds which slots, and what hosts have: of this machine.   live_test.sh path/to/train
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

# hold NAME ARGUMENT...: a task of another launcher, with a record of its own; sets `id`.
hold() {
    local name=$1
    shift
    id=$(XDG=$work/other with_environment "$env" XDG_STATE_HOME="$work/other" \
        "$train" launch -d --set "name=$name" "$@" -- /bin/sh -c 'while [ ! -e go ]; do sleep 0.02; done' 2>"$work/err") ||
        note_failure "it does not start: $(cat "$work/err")"
}

let_go() {
    touch go
    with_environment "$env" XDG_STATE_HOME="$work/other" "$train" task wait "$1" >"$work/wait" 2>&1 ||
        note_failure "it fails: $(cat "$work/wait")"
}

# identity_of FOLDER: of the leases in it.
identity_of() { echo "$(cat /proc/sys/kernel/random/boot_id):$(stat -c %d:%i "$1")"; }

held_by_others() {
    hold theirs -H localhost:4 -n 2
    run task list
    expect_status 0
    expect_out "^$id +theirs +running +2 +localhost +- +[a-z]+ +20[0-9-]+ [0-9:]+ +[0-9.]+s +-$"
    run task list --mine
    expect_out "^$id "
    run task list --csv
    expect_out "^$id,theirs,running,2,localhost,,[a-z]+,[0-9]+,[0-9]+,.\$"
    run task list --json
    expect_schema task "$work/out"
    expect_equal "task" "['$id', 'running', '2', None] True" \
        "$(field '[d["tasks"][0][k] for k in ("id", "state", "slots", "ranks")], d["tasks"][0]["launcher"].startswith("process ")' "$work/out" | tr -d '()' | sed 's/],/]/')"
    run task list --slots -H localhost:4
    expect_status 0
    expect_out '^localhost  2/4   \|a\|a\|\.\|\.\|$'
    expect_out "^a held by task $id \('theirs'\) of [a-z]+ \(launched by process [0-9]+ on '.*'\)$"
    expect_out "^localhost: its leases are in $work/leases, with the identity $(identity_of "$work/leases")$"
    run task list --slots --csv -H localhost:4
    expect_equal "lines" 5 "$(wc -l <"$work/out")"
    expect_out "^localhost,1,held,1,$id,theirs,"
    expect_out '^localhost,2,free,0,'
    run task list --json -H localhost:4
    expect_schema task "$work/out"
    expect_equal "holders" "['$id', '$id', None, None]" \
        "$(field '[s["holder"] and s["holder"]["task"] for s in d["hosts"][0]["slots"]]' "$work/out")"
    run hosts list -H localhost:4
    expect_out '^HOST +STATE +SLOTS +FREE +HELD +FOREIGN +OF '
    expect_out '^localhost  up     4      2     2     0        places '
    run hosts list --json -H localhost:4
    expect_schema task "$work/out"
    expect_equal "identity" "$(identity_of "$work/leases") $work/leases" \
        "$(field 'd["hosts"][0]["identity"] + " " + d["hosts"][0]["lease_directory"]' "$work/out")"
    # One's own record says more: no second row.
    environment=(XDG_STATE_HOME="$work/other")
    run task list
    expect_equal "lines" 2 "$(wc -l <"$work/out")"
    environment=()
    let_go "$id"
    run task list
    expect_equal "lines when it has ended" 1 "$(wc -l <"$work/out")"
}

# A lock that no task has, as long as its process lives.
stranger() {
    exec_with_environment /usr/bin/python3 - "$work/leases/place-1" <<'PY'
import fcntl, struct, sys, time
file = open(sys.argv[1], "w")
fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 10000, 0))  # F_OFD_SETLK
open(sys.argv[1] + ".held", "w").close()
time.sleep(4711)
PY
}

unknown_holder() {
    (stranger) &
    local pid=$!
    within 20 "the lock" test -e "$work/leases/place-1.held"
    run task list
    expect_equal "lines" 1 "$(wc -l <"$work/out")"
    expect_err "^train: host 'localhost': slot 1 held by a process that belongs to no task$"
    run task list --slots -H localhost:2
    expect_out '^localhost  1/2   \|\.\|a\|$'
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    run task list --slots -H localhost:2
    expect_out '^localhost  2/2   \|\.\|\.\|$'
}

not_known_is_not_free() {
    run task list --slots -H localhost:2,nosuch.invalid:2
    expect_status 76
    expect_out '^localhost +2/2   \|\.\|\.\|$'
    expect_out '^nosuch.invalid  \?     unreachable: '
    expect_err "^train: host 'nosuch.invalid': unreachable: "
    expect_last_err 'failed: host (exit 76)'
    run task list --json -H localhost:2,nosuch.invalid:2
    expect_status 76
    expect_schema task "$work/out"
    expect_equal "reachable" '[True, False]' "$(field '[h["reachable"] for h in d["hosts"]]' "$work/out")"
    run hosts list --csv -H nosuch.invalid:2
    expect_status 76
    expect_out '^nosuch.invalid,unreachable,,,'
    environment=(TRAIN_LEASE_DIRECTORY="$work/nowhere")
    run task list --slots
    expect_status 0
    expect_out '^localhost  \?     who holds what is not known: '
    run task list --json
    expect_schema task "$work/out"
    expect_equal "slots" '[]' "$(field 'd["hosts"][0]["slots"]' "$work/out")"
    environment=()
}

hosts_from_everywhere() {
    printf 'localhost slots=3\n' >hosts
    environment=(TRAIN_HOSTFILE=hosts)
    run task list --slots
    expect_out '^localhost  3/3   '
    run hosts list --hostfile hosts
    expect_out '^localhost  up     3 '
    environment=()
    run task list --slots
    expect_out "^localhost  $(nproc)/$(nproc)  "
    run task list --slots --mine
    expect_status 64
}

one_machine_of_two_names() {
    run task list -H localhost:2,127.0.0.1:2
    expect_status 0
    expect_err "^train: host '127.0.0.1' is the same machine as 'localhost': its leases are in $work/leases, with the identity $(identity_of "$work/leases")$"
    run task list --slots -H localhost:2,127.0.0.1:2
    expect_out '^127.0.0.1 .* the same machine as localhost$'
    expect_equal "lines about leases" 1 "$(grep -c 'its leases are in' "$work/out")"
    run task list --json -H localhost:2,127.0.0.1:2
    expect_schema task "$work/out"
    expect_equal "the same as" "[None, 'localhost']" "$(field '[h["same_as"] for h in d["hosts"]]' "$work/out")"
}

# Whoever names the folder sees what is held there; nobody else does.
named_folder() {
    printf 'hosts:\n  - {name: localhost, slots: 2, lease_directory: "%s"}\n' "$work/our 'locks'" >named.yaml
    run task list --slots --hostfile named.yaml
    expect_out '^localhost  \?     who holds what is not known: '
    mkdir "$work/our 'locks'"
    hold theirs --hostfile named.yaml -n 2
    run task list --slots --hostfile named.yaml
    expect_out '^localhost  0/2   \|a\|a\|$'
    run task list --slots -H localhost:2
    expect_out '^localhost  2/2   \|\.\|\.\|$'
    run launch --hostfile named.yaml -n 1 -- /bin/true
    expect_status 75
    run launch -H localhost:2 -n 2 -- /bin/true
    expect_status 0
    let_go "$id"
}

probed() {
    run hosts probe localhost --write probed.yaml
    expect_status 0
    expect_equal "stdout" '' "$(cat "$work/out")"
    run hosts probe localhost
    expect_status 0
    expect_same "what is printed and what is written" "$work/out" probed.yaml
    run config check -W --hosts probed.yaml
    expect_status 0
    expect_equal "warnings" '' "$(cat "$work/err")"
    run plan --hostfile probed.yaml -n 1 --json -- /bin/true
    expect_status 0
    expect_no_err warning
    run hosts probe localhost --write probed.yaml
    expect_status 64
    expect_err "'probed.yaml' is there already"
    echo 'old' >probed.yaml
    run hosts probe localhost nosuch.invalid --write probed.yaml --force
    expect_status 76
    grep -q '^# nosuch.invalid does not answer: ' probed.yaml || note_failure "who is missing is not said"
    grep -q 'name: "localhost"' probed.yaml || note_failure "who is there is not written"
    # Somebody writes it while hosts are asked.
    mkdir bin
    printf '#!/bin/sh\necho theirs >"%s/meanwhile.yaml"\nexit 255\n' "$PWD" >bin/ssh
    chmod 755 bin/ssh
    environment=("PATH=$PWD/bin:$PATH")
    run hosts probe localhost elsewhere --transport openssh --write meanwhile.yaml
    environment=()
    expect_status 64
    expect_err "^train: --write: 'meanwhile.yaml' is there already$"
    expect_err '^  --force writes over it$'
    expect_equal "what was written meanwhile" theirs "$(cat meanwhile.yaml)"
    expect_equal "what is beside it" '' "$(find . -name '*.part')"
    run hosts probe nosuch.invalid --write other.yaml
    expect_status 76
    [ ! -e other.yaml ] || note_failure "a file of no hosts is written"
}

watched() {
    (exec_with_environment "$train" task list --slots --watch) >"$work/watched" 2>"$work/err" &
    local watcher=$!
    within 20 "all is free" grep -q '^localhost .*|\.|' "$work/watched"
    hold theirs -H localhost:1 -n 1
    within 20 "the holder" grep -q "^a held by task $id " "$work/watched"
    let_go "$id"
    kill -TERM "$watcher"
    wait "$watcher" 2>/dev/null
}

test_case "a task of another launcher is listed by what its hosts know" held_by_others
test_case "a lock of no task is told, and goes with its process" unknown_holder
test_case "what is not known is never shown as free" not_known_is_not_free
test_case "hosts are those that launch would take, else this machine" hosts_from_everywhere
test_case "two names of one machine are told, with the identity of its leases" one_machine_of_two_names
test_case "a folder of leases that the hosts file names is the host's" named_folder
test_case "what hosts have makes a hosts file" probed
test_case "who holds slots can be watched" watched
finish
