#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The folder for checkpoints: one for all hosts, found to be so before anything starts.
#   checkpoint_test.sh path/to/train
# shellcheck disable=SC2016 # programs for hosts and ranks are in single quotes
. "$(dirname "$0")/lib.sh"

use_cluster 3 --slots 2
use_train "${1:-}"

on_three=(-H 'node[01-03]:1' -n 3)
# storage PATH: the flags.
storage() { echo "checkpoint_storage={type: directory, container_path: $1}"; }

# Each rank leaves its name in attempt 0, and finds those of all in attempt 1.
cat >"$shared/saves" <<'BASH'
cd "$TRAIN_CHECKPOINT_DIR" || exit 2
if [ "$TRAIN_RESTART_COUNT" = 0 ]; then
    touch "saved-$RANK"
    until [ -e saved-0 ] && [ -e saved-1 ] && [ -e saved-2 ]; do sleep 0.05; done
    exit 7
fi
echo "in $PWD: $(echo saved-*)"
BASH

one_folder_for_all_attempts() {
    launch "${on_three[@]}" --set "$(storage /srv/shared/models)" --set restart_delay=0s \
        -- /bin/bash /srv/shared/saves
    expect_status 0
    local id
    id=$(sed -n 's/^train: task \([a-z0-9]*\): .*/\1/p' "$work/err")
    for rank in 0 1 2; do
        expect_out "^\[$rank\] in /srv/shared/models/$id/0: saved-0 saved-1 saved-2$"
    done
    expect_err '^train: restart 1 of 5 '
}

folders_that_differ() {
    launch "${on_three[@]}" --set "$(storage /var/tmp/models)" -- /bin/sh -c 'echo started'
    expect_status 72
    expect_no_out started
    expect_err 'the folder for checkpoints is not one that all hosts share: there is one on node0'
    expect_err '^  mount the same file system there on every host'
    expect_idle 2 "${nodes[@]}"
}

# No word of sharing where there is nobody to share with.
one_host_alone() {
    launch -H node01:2 -n 2 --set "$(storage /var/tmp/models)" -- /bin/sh -c 'test -w "$TRAIN_CHECKPOINT_DIR"'
    expect_status 0
}

folder_that_cannot_be() {
    on node02 'rm -rf /var/tmp/blocked && touch /var/tmp/blocked'
    launch "${on_three[@]}" --set "$(storage /var/tmp/blocked)" -- /bin/sh -c 'echo started'
    expect_status 72
    expect_no_out started
    expect_err "node02.*the folder for checkpoints '/var/tmp/blocked/[a-z0-9]*/0' cannot be made: not a directory"
}

test_case "all ranks find one folder, and find it again in the next attempt" one_folder_for_all_attempts
test_case "folders that are not the same are refused before anything starts" folders_that_differ
test_case "ranks of one host need nothing shared" one_host_alone
test_case "a folder that cannot be made is named with its host" folder_that_cannot_be
finish
