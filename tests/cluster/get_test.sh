#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What ranks have left is copied from other hosts.   get_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 2 --slots 1
use_train "${1:-}"

half_done() { on head "ls -A $1 | grep -c '^.train-get'" 2>/dev/null; }
something_is_half_done() { [ "$(half_done "$1")" -gt 0 ]; }
agents_that_send() { "$cluster" processes node02 ' agent get ' | wc -l; }
nobody_sends() { [ "$(agents_that_send)" -eq 0 ]; }

# A folder of the copy of a context, on the second host.
comes_from_there() {
    on head 'rm -rf /root/code /root/to && mkdir /root/code /root/to && echo 1 >/root/code/file'
    launch -H 'node[01-02]:1' -n 2 --context /root/code -- /bin/sh -c \
        'mkdir -p "out/$RANK/deep"; head -c 40000000 /dev/urandom >"out/$RANK/large"; uname -n >"out/$RANK/deep/name"; ln -s ../large "out/$RANK/deep/link"'
    expect_status 0
    id=$(sed -n 's/^train: task \([a-z0-9]*\): .*/\1/p' "$work/err")
    train_on_head task get "$id" out /root/to --rank 1
    expect_status 0
    expect_err "^train: 2 files \(38.1 MiB\) from host 'node02' in '/root/to/out'$"
    expect_equal "what is deep in it" "node02 ../large" "$(on head 'cat /root/to/out/1/deep/name; readlink /root/to/out/1/deep/link' | paste -sd ' ')"
    expect_equal "its large file" "$(on node02 "sha256sum <.cache/train/runs/$id-1/out/1/large")" \
        "$(on head 'sha256sum </root/to/out/1/large')"
    run_on_head /bin/sh -c "$train task get $id out/0/deep/name -"
    expect_equal "a file of the first host" node01 "$(cat "$work/out")"
    train_on_head task get "$id" none /root/to/none --rank 1
    expect_status 66
    expect_err "^train: host 'node02': '/root/.cache/train/runs/$id-1/none' is not there$"
    expect_equal "what is there" out "$(on head 'ls -A /root/to')"
}

# Both hosts have one file system, and a rank may have that file open.
replaces_nothing_by_itself() {
    on head 'rm -rf /srv/shared/out /root/to && mkdir /srv/shared/out /root/to && echo 1 >/srv/shared/out/log'
    launch -H node02:1 -n 1 -- /bin/true
    expect_status 0
    id=$(sed -n 's/^train: task \([a-z0-9]*\): .*/\1/p' "$work/err")
    local before
    before=$(on head 'stat -c %i /srv/shared/out /srv/shared/out/log')
    train_on_head task get "$id" /srv/shared/out /srv/shared --force
    expect_status 64
    expect_err "^train: '/srv/shared/out' is the one on that host"
    train_on_head task get "$id" /srv/shared/out/log /srv/shared/out --force
    expect_status 64
    expect_equal "what is there" "$before" "$(on head 'stat -c %i /srv/shared/out /srv/shared/out/log')"
    train_on_head task get "$id" /srv/shared/out /root/to --force
    expect_status 0
    expect_equal "a copy" 1 "$(on head 'cat /root/to/out/log; rm -r /srv/shared/out')"
}

# A file that has no end, on a host that is cut.
is_cut() {
    on head 'rm -rf /root/to && mkdir /root/to'
    launch -H node02:1 -n 1 -- /bin/sh -c 'cd /root; rm -rf out; mkdir out; truncate -s 200G out/large'
    expect_status 0
    id=$(sed -n 's/^train: task \([a-z0-9]*\): .*/\1/p' "$work/err")
    start_on_head "$train" task get "$id" /root/out /root/to
    within 20 "it has begun" something_is_half_done /root/to
    "$cluster" cut node02
    await_launch 60
    expect_status 76
    expect_err "host 'node02': no sign of life for 30 s$"
    expect_err '^  nothing of what has come is kept$'
    expect_equal "what is there" "" "$(on head 'ls -A /root/to')"
    eventually 40 nobody_sends || note_failure "the host sends to nobody for ever"
    "$cluster" heal node02
    train_on_head task get "$id" /root/out /root/to --rank 1
    expect_status 66
    "$cluster" crash node02
    train_on_head task get "$id" /root/out /root/to
    expect_status 76
    grep -q 'what has come' "$work/err" && note_failure "nothing has come, and it is spoken of"
    expect_equal "what is there" "" "$(on head 'ls -A /root/to')"
}

test_case "a folder of another host comes as it is, of the rank that was asked for" comes_from_there
test_case "what both hosts have is not written over itself" replaces_nothing_by_itself
soak_case "nothing is left of what came from a host that is cut, here or there" is_cut
finish
