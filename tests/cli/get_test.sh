#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What ranks have left is copied, on this machine.   get_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"
use_train "${1:-}"

cache() { echo "$work/home/.cache/train"; }
copy() { echo "$(cache)/runs/$(task_id)-0"; }

# launched ARGUMENT...: a task that has ended well; sets `id`.
launched() {
    run launch "$@"
    expect_status 0
    id=$(task_id)
}

# expect_nothing_half_done FOLDER: what was begun there was ended or removed.
expect_nothing_half_done() {
    expect_equal "what is left half done in $1" "" "$(find "$1" -name '.train-get*')"
}

# Without a context: from the directory of the launch.
gets_files() {
    mkdir -p out/sub to
    head -c 3000000 /dev/urandom >out/model.pt
    chmod 640 out/model.pt
    launched -n 1 -- /bin/true
    run task get "$id" out/model.pt
    expect_status 0
    expect_same "a file in the current directory" out/model.pt model.pt
    expect_equal "its mode" 640 "$(stat -c %a model.pt)"
    expect_equal "what is said" "train: 1 file (2.9 MiB) from host 'localhost' in 'model.pt'" "$(cat "$work/err")"
    expect_equal "what is answered" "" "$(cat "$work/out")"
    run task get "$id" out/model.pt to
    expect_same "a file in a directory" out/model.pt to/model.pt
    run task get "$id" "$PWD/out/model.pt" to/other
    expect_same "a file by its whole path and another name" out/model.pt to/other
    run task get "$id" out/model.pt -
    expect_status 0
    expect_same "a file on standard output" out/model.pt "$work/out"
    : >out/nothing
    run task get "$id" out/nothing -
    expect_status 0
    expect_equal "an empty file on standard output" "" "$(cat "$work/out")"
    run task get "$id" out/sub/ to/
    expect_status 0
    expect_err "^train: 0 files \(0 bytes\) from host 'localhost' in 'to/sub'$"
    expect_equal "an empty folder" to/sub "$(find to/sub)"
    ln -s out/sub elsewhere
    run task get "$id" out/model.pt elsewhere/../nothing.pt
    expect_status 0
    expect_same "a file beside where a link leads" out/model.pt out/nothing.pt
    rm elsewhere out/nothing.pt
    run task get "$id" . everything
    expect_status 0
    expect_equal "a folder with what is made in it" "" "$(diff -r . everything 2>&1 | grep -v '^Only in \.: everything$')"
    expect_nothing_half_done .
}

listing=$(cat "$(dirname "$0")/../listing.py")

# With a context: from the copy, also of a task that runs.
gets_a_folder_of_the_copy() {
    mkdir code code/sub
    run launch -d -n 2 -H localhost:2 --context code --set working_directory=sub -- /usr/bin/python3 -c '
import os, time
if os.environ["RANK"] == "1":
    os.makedirs("out/a\nb \x1b[31m/empty")
    open(b"out/a\nb \x1b[31m/\xff", "wb").write(b"name of no text")
    open("out/run", "w").close()
    os.chmod("out/run", 0o755)
    os.symlink("/etc/passwd", "out/far")
    os.symlink("../nowhere", "out/broken")
    os.symlink("out", "latest")
    with open("out/holes", "wb") as file:
        file.seek(50_000_000)
        file.write(b"end")
    os.mknod("ready")
while not os.path.exists("go"): time.sleep(0.02)'
    expect_status 0
    id=$(cat "$work/out")
    within 20 "the folder is there" test -e "$(copy)/sub/ready"
    run task get "$id" out --rank 1
    expect_status 0
    expect_equal "what came of a task that runs" "$(cd "$(copy)/sub/out" && /usr/bin/python3 -c "$listing")" "$(cd out && /usr/bin/python3 -c "$listing")"
    [ "$(du -k out/holes | cut -f 1)" -lt 10000 ] || note_failure "holes are filled"
    run task get "$id" latest/run x
    expect_status 0
    touch "$(copy)/sub/go"
    with_environment "$train" task wait "$id" 2>/dev/null
    run task get "$id" latest here
    expect_status 0
    expect_equal "what came of a task that has ended" "$(cd out && /usr/bin/python3 -c "$listing")" "$(cd here && /usr/bin/python3 -c "$listing")"
    rm -rf "$(copy)"
    run task get "$id" out gone
    expect_status 66
    expect_err "^train: host 'localhost': the ranks' copy of the context is not there any more$"
    expect_err '^  it stays for seven days after the end of its task'
    [ ! -e gone ] || note_failure "something is there all the same"
    run task get "$id" /etc/hostname
    expect_status 0
    expect_same "a whole path, without the copy" /etc/hostname hostname
}

refuses() {
    mkdir out
    echo 1 >out/file
    launched -n 1 -- /bin/true
    run task get "$id" out/none
    expect_status 66
    expect_err "^train: host 'localhost': '$PWD/out/none' is not there$"
    expect_err "^  a path without / at its front begins in '$PWD'$"
    expect_last_err 'failed: no_input (exit 66)'
    run task get "$id" /dev/null null
    expect_status 66
    expect_err "'/dev/null' is a device: only files and folders can be sent$"
    run task get "$id" out -
    expect_status 64
    expect_err "'$PWD/out' is a folder: only a file goes to standard output$"
    expect_equal "what went there" "" "$(cat "$work/out")"
    run task get "$id" out
    expect_status 64
    expect_err "^train: 'out' is there already$"
    expect_err '^  --force writes over it$'
    run task get "$id" out/.. none/
    expect_status 66
    run task get "$id" out/.. .
    expect_status 64
    expect_err "^train: 'out/..' has no name that it could have here$"
    run task get "$id" out/file none/file
    expect_status 66
    expect_err "^train: there is no directory 'none'$"
    run task get "$id" out/file --rank 1
    expect_status 66
    expect_err "^train: task $id has no rank 1: its ranks are 0 to 0$"
    run task get nonesuch out/file
    expect_status 66
    run task get "$id" "$(printf 'a%.0s' {1..5000})" to
    expect_status 64
    expect_err "^train: a path has at most 4096 bytes, and this one 5000$"
    run task get "$id"
    expect_status 64
    expect_equal "what is there" out "$(ls -A)"
}

replaces() {
    mkdir -p out there/out
    echo new >out/file
    echo old >there/file
    echo old >there/out/old
    launched -n 1 -- /bin/true
    run task get "$id" out/file there --force
    expect_status 0
    expect_equal "a file that was there" new "$(cat there/file)"
    run task get "$id" out there --force
    expect_status 0
    expect_equal "a folder that was there" file "$(ls -A there/out)"
    rm there/file
    mkdir there/file
    run task get "$id" out/file there --force
    expect_status 64
    expect_err "^train: 'there/file' is a folder, and what comes is a file$"
    run task get "$id" out --force
    expect_status 64
    expect_err "^train: 'out' is the one on that host: both have this file system$"
    run task get "$id" out/file out --force
    expect_status 64
    expect_err "^train: 'out/file' is the one on that host"
    expect_equal "what was not replaced" new "$(cat out/file)"
    expect_nothing_half_done .
}

# As another user than root, who may read everything.
cannot_read() {
    [ "$(id -u)" = 0 ] || { skip "it takes root to become another user"; return; }
    mkdir -p out/closed
    echo 1 >out/closed/inside
    echo 1 >out/secret
    echo 1 >out/file
    mkfifo out/fifo
    chown -R nobody "$all_work"
    chmod 0 out/closed out/secret
    as_nobody run launch -n 1 -- /bin/true
    id=$(task_id)
    as_nobody run task get "$id" out to
    chown -R root "$all_work"
    chmod 700 out/closed
    expect_status 66
    expect_err "^train: host 'localhost': '$PWD/out/secret' cannot be read: permission denied$"
    expect_err "^train: host 'localhost': '$PWD/out/closed' cannot be read: permission denied$"
    expect_err "^train: host 'localhost': '$PWD/out/fifo' is a FIFO, and is left out$"
    expect_err "^train: 1 file \(2 bytes\) from host 'localhost' in 'to'$"
    expect_err "^train: 2 parts of '$PWD/out' could not be read, or changed meanwhile; all else is here$"
    expect_equal "what came" file "$(ls -A to)"
}

# as_nobody run ARGUMENT...
as_nobody() {
    local before=$setsid
    setsid=$all_work/as_nobody
    printf '#!/bin/sh\nexec setpriv --reuid nobody --clear-groups %s "$@"\n' "$before" >"$setsid"
    chmod 755 "$setsid" "$all_work"
    "$@"
    setsid=$before
}

# Ctrl-C, or a reader that leaves, in the middle of many bytes.
leaves_nothing() {
    mkdir out
    truncate -s 64G out/large # so much that nobody is too late to interrupt it
    launched -n 1 -- /bin/true
    start task get "$id" out to
    within 20 "it has begun" something_is_half_done
    kill -INT "$launcher"
    await
    expect_status 130
    expect_err '^train: interrupted: nothing of it is kept$'
    expect_equal "what is there" out "$(ls -A)"
    with_environment "$train" task get "$id" out/large - | head -c 1000 | cmp - <(head -c 1000 out/large) ||
        note_failure "the beginning of a file differs"
    within 20 "nobody goes on without a reader" process_count_is 0 'task get'
    start task get "$id" out to
    within 20 "it has begun" something_is_half_done
    kill -KILL "$(pids_of ' agent get ')"
    await
    expect_status 76
    expect_err '^  nothing of what has come is kept$'
    expect_equal "what is there" out "$(ls -A)"
    start task get "$id" out to
    within 20 "it has begun" something_is_half_done
    kill -KILL "$launcher"
    within 20 "the host sends to nobody" process_count_is 0 ' agent get '
    [ ! -e to ] || note_failure "a part has the name of the whole"
}

# The host is stopped in the middle, while its file changes.
does_not_keep_what_changes() {
    mkdir out
    truncate -s 64G out/large
    launched -n 1 -- /bin/true
    start task get "$id" out/large to
    within 20 "it has begun" something_is_half_done
    freeze "$(pids_of ' agent get ')"
    truncate -s 1 out/large
    kill -CONT "$(pids_of ' agent get ')"
    await
    expect_status 66
    expect_err "^train: host 'localhost': '$PWD/out/large' became shorter while it was read$"
    expect_err "^train: '$PWD/out/large' of host 'localhost' did not come whole, and nothing of it is kept$"
    expect_equal "what is there" out "$(ls -A)"
}

something_is_half_done() { find . -maxdepth 1 -name '.train-get*' | grep -q .; }

# The host stands still in the middle, so that it takes long for sure.
tells_a_terminal() {
    mkdir out
    truncate -s 2G out/large
    launched -n 1 -- /bin/true
    cat >terminal.py <<'P'
import os, pty, sys
pid, master = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
try:
    while said := os.read(master, 4096):
        sys.stdout.buffer.write(said)
        sys.stdout.flush()
except OSError: # how a terminal says that nobody writes there any more
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
P
    with_environment /usr/bin/python3 terminal.py "$train" task get "$id" out to >"$work/out" 2>&1 &
    launcher=$!
    within 20 "it has begun" something_is_half_done
    freeze "$(pids_of ' agent get ')"
    within 20 "somebody who waits is told" out_has "^train: '$PWD/out' of host 'localhost' is on its way: [0-9.]+ [MK]iB so far"
    kill -CONT "$(pids_of ' agent get ')"
    await
    expect_status 0
    expect_out "^train: 1 file \(2048.0 MiB\) from host 'localhost' in 'to'"
    rm -r to
}

# Memory does not grow with what is fetched.
takes_little_memory() {
    mkdir out
    truncate -s 1G out/large
    launched -n 1 -- /bin/true
    start task get "$id" out/large to
    local most=0 kilobytes pid
    while ! has_ended; do
        for pid in $(pids_of 'task get|agent get'); do
            kilobytes=$(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$pid/status" 2>/dev/null)
            [ "${kilobytes:-0}" -le "$most" ] || most=$kilobytes
        done
    done
    await
    expect_status 0
    expect_equal "the length of what came" 1073741824 "$(stat -c %s to)"
    ((most > 0 && most < 100000)) || note_failure "it takes $most kB of memory"
    rm to
}

test_case "files and folders of the directory of the launch are copied, to a name, a directory or standard output" gets_files
test_case "a folder of a task's context is copied as it is, while the task runs and when it has ended" gets_a_folder_of_the_copy
test_case "what is not there, is of another kind or has no place here is refused, and nothing is made" refuses
test_case "--force writes over files and folders of the same kind" replaces
test_case "what cannot be read is named, and all else comes" cannot_read
test_case "nothing is left of a transfer that was interrupted, or whose host went" leaves_nothing
test_case "a file that changes while it is read is named, and nothing of it is kept" does_not_keep_what_changes
test_case "a terminal is told how far it is" tells_a_terminal
test_case "many bytes take little memory" takes_little_memory
finish
