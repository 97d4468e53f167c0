#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The layers test must be able to fail: one fault at a time, each has to be found.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
failures=0

# fault FILE LINE: with that line in that file the layers test must fail and name the file.
fault() {
  mkdir -p "$tree"/{config_schema,launcher,backends/ssh,backends/store,backends/event_loop,cli,tests}
  mkdir -p "$tree/$(dirname "$1")"
  printf '%s\n' "$2" >"$tree/$1"
  local said
  if said=$(bash "$here/layers_test.sh" "$tree") || [[ $said != *"$1:"* && $said != *"${1%/*}: is no room"* ]]; then
    printf 'not found: %s in %s\n%s\n' "$2" "$1" "$said"
    failures=$((failures + 1))
  fi
  rm "$tree/$1"
}

fault config_schema/a.cpp '#include "launcher/plan/plan.hpp"'
fault launcher/a.hpp '#include "backends/ssh/session.hpp"'
fault backends/ssh/a.cpp '#include "cli/main.hpp"'
fault backends/ssh/a.cpp '#  include "backends/store/store.hpp"'
fault config_schema/a.cpp '#include <fstream>'
fault config_schema/a.cpp '#include <iostream>'
fault launcher/run/a.cpp '#include <filesystem>'
fault launcher/run/a.cpp '#include <sys/socket.h>'
fault launcher/a.cpp '#include <unistd.h>'
fault launcher/a.cpp 'auto now = std::chrono::steady_clock::now();'
fault launcher/a.cpp 'const char* home = std::getenv("HOME");'
fault backends/ssh/a.hpp '#include <asio/ip/tcp.hpp>'
fault launcher/a.hpp '#include <nlohmann/json.hpp>'
fault config_schema/a.hpp '#include <yaml-cpp/yaml.h>'
fault config_schema/a.cpp '#include <yaml-cpp/yaml.h>'
fault backends/openssh/a.cpp '#include "backends/ssh/ssh_transport.hpp"'
fault backends/link/a.cpp '#include "backends/ssh/ssh_transport.hpp"'
fault cli/a.cpp '#include "../launcher/plan.hpp"'
fault config_schema/text/a.cpp '#include "config_schema/yaml/yaml_node.hpp"'
fault config_schema/yaml/a.cpp '#include "config_schema/config_check.hpp"'
fault launcher/plan/a.hpp '#include "launcher/formats/formats.hpp"'
fault launcher/wire/a.cpp '#include "launcher/run/run.hpp"'
fault cli/show/a.cpp '#include "cli/commands/flags.hpp"'
fault cli/main.hpp '#include "cli/supervisor/supervisor.hpp"'
fault launcher/cellar/a.cpp '#include "config_schema/text/text.hpp"'
mkdir -p "$tree/cli/show"
for i in {1..25}; do : >"$tree/cli/show/file_$i.cpp"; done
if ! said=$(bash "$here/layers_test.sh" "$tree"); then
  printf 'complained for nothing: %s\n' "$said"
  failures=$((failures + 1))
fi
: >"$tree/cli/show/file_26.cpp"
if said=$(bash "$here/layers_test.sh" "$tree") || [[ $said != *"cli/show: has 26 sources"* ]]; then
  printf 'not found: a folder of 26 files\n%s\n' "$said"
  failures=$((failures + 1))
fi
rm -r "$tree/cli/show"

# What is allowed is not complained about.
mkdir -p "$tree"/{config_schema,launcher,backends/{ssh,event_loop},cli,tests}
printf '#include "launcher/plan/plan.hpp"\n#include "backends/event_loop/loop.hpp"\n#include <thread>\n' \
  >"$tree/backends/ssh/a.cpp"
printf '#include <chrono>\n#include "config_schema/text/error.hpp"\n' >"$tree/launcher/a.hpp"
if ! said=$(bash "$here/layers_test.sh" "$tree"); then
  printf 'complained for nothing: %s\n' "$said"
  failures=$((failures + 1))
fi

[ "$failures" -eq 0 ] && printf 'every fault was found\n'
exit $((failures > 0))
