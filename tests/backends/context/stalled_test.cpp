// SPDX-License-Identifier: Apache-2.0
// File systems that do not answer, and users who may start no thread more.
#include <sys/resource.h>
#include <sys/wait.h>

#include <optional>

#include "backends/context/context_packer.hpp"
#include "backends/context/host_contexts.hpp"
#include "tests/backends/context/stalled_folder.hpp"
#include "tests/backends/context/tree.hpp"
#include "tests/skip.hpp"
#include "tests/support/loop_until.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

// Runs `work` as a user who may have no thread but this one; its exit code.
int at_the_limit_of_processes(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit none{1, 1};
    // Root has no such limit.
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(102);
    if (::setrlimit(RLIMIT_NPROC, &none) != 0) ::_exit(103);
    ::_exit(work());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

TEST_CASE("a host's caches on a file system that does not answer hold up neither loop nor end") {
  StalledFolder stalled;
  if (!stalled.is_there()) SKIP_CASE("only root can mount, and only where there is FUSE");
  Loop loop;
  std::optional<HostContexts> contexts;
  contexts.emplace(loop, std::vector{stalled.path() + "/cache"}, "abcd2345-0");
  SECTION("a context that is looked for") {
    contexts->find({std::string(64, 'a'), 1000}, {[](auto) {}, [](auto) {}, [](auto) {}});
  }
  SECTION("what is removed because it is old") {
    contexts->keep();
    contexts->tidy();
  }
  run_for(loop, 50ms);
  contexts.reset();
  SUCCEED("both came to an end although the file system never answers");
}

TEST_CASE("a context on a file system that does not answer does not hold up the end") {
  StalledFolder stalled;
  if (!stalled.is_there()) SKIP_CASE("only root can mount, and only where there is FUSE");
  Loop loop;
  std::optional<ContextPacker> packer;
  packer.emplace(
      loop, reads_directory(stalled.path()),
      ContextPacker::Events{[](const auto&) { FAIL(); }, [](const auto&) { FAIL(); }, [] {}});
  run_for(loop, 50ms);
  packer.reset();
  SUCCEED("it came to an end although the file system never answers");
}

TEST_CASE("a clean-up for which there can be no thread is skipped") {
  CHECK(at_the_limit_of_processes([] {
          Loop loop;
          HostContexts contexts(loop, {"/nowhere"}, "abcd2345-0");
          contexts.keep();
          contexts.tidy();
          run_for(loop, 10ms);
          return 0;
        }) == 0);
}

TEST_CASE("a context for which there can be no thread fails in words") {
  CHECK(at_the_limit_of_processes([] {
          Loop loop;
          int code = 1;
          HostContexts contexts(loop, {"/nowhere"}, "abcd2345-0");
          contexts.find(
              {std::string(64, 'a'), 1000},
              {[](auto) {}, [](auto) {},
               [&](const Error& why) { code = why.error_class == ErrorClass::host ? 0 : 2; }});
          (void)loop_until(loop, [&] { return code != 1; });
          return code;
        }) == 0);
  CHECK(at_the_limit_of_processes([] {
          Loop loop;
          int code = 1;
          ContextPacker packer(
              loop, reads_directory("/nowhere"),
              {[](const auto&) {},
               [&](const Error& why) { code = why.error_class == ErrorClass::host ? 0 : 2; },
               [] {}});
          (void)loop_until(loop, [&] { return code != 1; });
          return code;
        }) == 0);
}
