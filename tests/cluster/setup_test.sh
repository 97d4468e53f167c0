#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Setup of other hosts, and secrets for ranks there.   setup_test.sh path/to/train
# shellcheck disable=SC2016 # programs for the ranks are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 2 --slots 2
use_train "${1:-}"

each_host_is_set_up() {
    rm -f "$shared/made"
    launch -H 'node[01-02]:2' -n 4 --set 'setup=uname -n >>/srv/shared/made' -- /bin/sh -c 'grep -c "^$(uname -n)$" /srv/shared/made'
    expect_status 0
    expect_equal "hosts that were set up" $'node01\nnode02' "$(sort "$shared/made")"
    expect_equal "ranks that found it done" 4 "$(grep -c '^\[[0-3]\] 1$' "$work/out")"
}

one_host_cannot_be_set_up() {
    launch -H 'node[01-02]:2' -n 4 --set "setup='test \$(uname -n) = node01 || { echo no such disk >&2; exit 9; }'" -- /bin/sh -c 'sleep 4713'
    expect_status 9
    expect_err "^train: rank [23] on 'node02'"
    expect_err "^  it reported: 'setup' of the experiment has failed: exit code 9$"
    expect_err "no such disk"
}

secrets_stay_secret() {
    local host
    rm -f "$shared"/runs.* "$shared/go"
    on head 'umask 077 && echo s3cret-of-the-test >token'
    launch_start -H 'node[01-02]:1' -n 2 --secret TOKEN=@token -- /bin/sh -c \
        '[ ${#TOKEN} = 18 ] || exit 3; touch "/srv/shared/runs.$RANK"; until [ -e /srv/shared/go ]; do sleep 0.05; done'
    eventually 60 test -e "$shared/runs.0"
    eventually 60 test -e "$shared/runs.1"
    for host in node01 node02; do
        on "$host" 'cat /proc/[0-9]*/cmdline 2>/dev/null' | grep -qa s3cret-of && note_failure "a command line of $host has it"
        on "$host" 'grep -rl s3cret-of /root /run /tmp /var/tmp 2>/dev/null' && note_failure "a file of $host has it"
    done
    touch "$shared/go"
    await_launch 60
    expect_status 0
}

test_case "each host is set up once, before its ranks" each_host_is_set_up
test_case "a host that cannot be set up is named" one_host_cannot_be_set_up
test_case "hosts have a secret in no command line and in no file" secrets_stay_secret
finish
