// SPDX-License-Identifier: Apache-2.0
#include "backends/observe/core_file.hpp"

#include <fmt/format.h>
#include <signal.h>

#include "backends/posix/files.hpp"
#include "tests/backends/agent/agent_under_test.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"

using namespace train;
using namespace train::testing;

TEST_CASE("a core is where the pattern leads to, if there is such a file") {
  const TemporaryDirectory directory;
  const DumpedProcess process{4711, SIGSEGV, directory.path()};
  const auto place = [&](const std::string& pattern, bool uses_pid = false) {
    return place_of_core(process, pattern, uses_pid);
  };
  const auto quoted = [&](const std::string& name) {
    return "'" + directory.path() + "/" + name + "'";
  };
  CHECK(place("core") == "not found; core_pattern there is 'core', and it was started in '" +
                             directory.path() + "'");
  (void)directory.write("core", "");
  (void)directory.write("core.4711", "");
  (void)directory.write("c-python3-4711-11-170000", "");
  (void)directory.write("c-python3-4712-11-170001", "");
  (void)directory.write("50%-4711", "");
  CHECK(place("core") == quoted("core"));
  CHECK(place("core", true) == quoted("core.4711"));
  CHECK(place("") == quoted("core"));
  CHECK(place("core.%p", true) == quoted("core.4711"));
  CHECK(place("c-%e-%p-%s-%t") == quoted("c-python3-4711-11-170000"));
  CHECK(place(directory.path() + "/c-%e-%p-%s-%t") == quoted("c-python3-4711-11-170000"));
  CHECK(place("50%%-%p%") == quoted("50%-4711"));
  CHECK(place("[cx]ore").starts_with("not found"));
  CHECK(place("/nowhere/at/all/core").starts_with("not found"));
}

TEST_CASE("a core that a program got is asked for there") {
  const DumpedProcess process{4711, SIGSEGV, "/"};
  CHECK(place_of_core(process, "|/usr/lib/systemd/systemd-coredump %P %u %g %s %t %c %h", false) ==
        "systemd has it; on that host: coredumpctl info 4711");
  CHECK(place_of_core(process, "| /usr/share/apport/apport -p%p", false) ==
        "the kernel gave it to '/usr/share/apport/apport'");
  CHECK(place_of_core(process, "|", false) == "the kernel gave it to ''");
  CHECK(place_of_core(process, "@@/run/cores.sock", false) ==
        "the kernel gave it to the socket '/run/cores.sock'");
}

TEST_CASE("the core of a rank is named, and none where it left none") {
  const std::string pattern = first_line_of("/proc/sys/kernel/core_pattern");
  if (pattern.starts_with('|') || pattern.find('/') != pattern.npos)
    SKIP_CASE("cores do not come into working directories here");
  AgentUnderTest agent;
  agent.start({"ulimit -c unlimited; kill -ABRT $$", "ulimit -c 0; kill -ABRT $$"});
  for (int i = 0; i < 2; ++i) {
    const auto end = agent.next<message::RankEnded>();
    CHECK(end.dumped_core == (end.rank == 0));
    if (end.rank == 0)
      CHECK(end.core.starts_with("'" + agent.directory().path() + "/"));
    else
      CHECK(end.core.empty());
  }
}
