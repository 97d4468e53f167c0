// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/short_run.hpp"

#include <signal.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "tests/catch.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/waiting.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

// Far beyond what a busy machine takes.
constexpr milliseconds ample = 600s;

Result<std::string> run_shell(const std::string& line, milliseconds limit = ample) {
  return run_shortly({.program = "/bin/sh",
                      .arguments = {"sh", "-c", line},
                      .environment = {"PATH=/usr/bin:/bin", "WORD=said"}},
                     limit);
}

std::string why(const Result<std::string>& result) {
  return result ? "" : result.error().diagnostics.front().message;
}

}  // namespace

TEST_CASE("what a program prints is taken when it has ended well, with its environment") {
  const auto said = run_shell("echo $WORD; echo aside >&2");
  REQUIRE(said);
  CHECK(*said == "said\n");
}

TEST_CASE("a program that fails is told of with its code and its last words") {
  CHECK(why(run_shell("exit 3")) == "it ended with code 3");
  CHECK(why(run_shell("echo first >&2; echo 'no such thing' >&2; exit 2")) ==
        "it ended with code 2: no such thing");
  CHECK(why(run_shell("kill -9 $$")) == "it was ended by signal 9");
}

TEST_CASE("a program that is not there is said not to be") {
  const auto said = run_shortly(
      {.program = "/nowhere/program", .arguments = {"program"}, .environment = {}}, ample);
  REQUIRE_FALSE(said);
  CHECK(said.error().error_class == ErrorClass::missing);
}

TEST_CASE("endless output is cut and held up by nobody") {
  const auto said = run_shell("head -c 10000000 /dev/zero");
  REQUIRE(said);
  CHECK(said->size() == 64u << 10);
}

TEST_CASE("what has not ended at the limit is ended, with its children") {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "pid").string();
  // It says its child's number first, so that there is one by the time of the limit or none to end.
  CHECK(why(run_shell("sleep 4711 & echo $! >" + file + "; wait", 500ms)) ==
        "it has not ended within 500 ms");
  int child = 0;
  std::ifstream(file) >> child;
  if (child > 0) CHECK(eventually([&] { return ::kill(child, 0) != 0 && errno == ESRCH; }));
}
