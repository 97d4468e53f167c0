#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh Debian 12 to a trained model: installs what is missing (as root or with sudo), builds
# `train`, and trains the digits example on this machine with 4 ranks. Safe to repeat.
set -eu
cd "$(dirname "$0")/.."

step() { printf '\n=== %s\n' "$*"; }

step "1/3 install what is missing"
tests/install_packages build examples

step "2/3 build train (build/release)"
[ -f build/release/build.ninja ] || cmake --preset release
cmake --build --preset release --target train

step "3/3 train on scanned digits: 4 ranks on this machine"
echo '$ train launch examples/digits/experiment.yaml'
build/release/cli/train launch examples/digits/experiment.yaml

step "done: every rank has the same test accuracy. The program is build/release/cli/train; next:"
cat <<'NEXT'
  train task list --all                                               what ran, and how it ended
  train plan examples/digits/experiment.yaml                          where the ranks would go
  train launch examples/digits/experiment.yaml --hostfile HOSTS.yaml  the same on hosts of yours
NEXT
