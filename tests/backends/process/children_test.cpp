// SPDX-License-Identifier: Apache-2.0
#include "backends/process/children.hpp"

#include <signal.h>
#include <unistd.h>

#include <chrono>

#include "backends/posix/connected_process.hpp"
#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"
#include "tests/support/loop_until.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

ConnectedProcess shell_child(const std::string& script) {
  auto process = start_connected({"/bin/sh", {"sh", "-c", script}, {"PATH=/usr/bin:/bin"}});
  REQUIRE(process);
  return std::move(*process);
}

}  // namespace

TEST_CASE("how a child ended is told once, from the loop") {
  Loop loop;
  Children children(loop, Children::Rest::ends);
  std::vector<ExitStatus> ends;
  auto process = shell_child("exit 3");
  children.add(process.pid, std::move(process.pidfd),
               [&](const ExitStatus& end) { ends.push_back(end); });
  CHECK(loop_until(loop, [&] { return !ends.empty(); }));
  REQUIRE(ends.size() == 1);
  CHECK(ends[0].code == 3);
  CHECK_FALSE(has_child());
}

TEST_CASE("a child that is forgotten is collected without a word") {
  Loop loop;
  Children children(loop, Children::Rest::goes_on);
  auto process = shell_child("exit 3");
  children.add(process.pid, std::move(process.pidfd), [](const ExitStatus&) { FAIL("it told"); });
  children.forget(process.pid);
  CHECK(loop_until(loop, [] { return !has_child(); }));
}

TEST_CASE("a child that somebody else has collected ended in a way that nobody knows") {
  Loop loop;
  Children children(loop, Children::Rest::goes_on);
  std::optional<ExitStatus> ended;
  auto process = shell_child("exit 3");
  REQUIRE(wait_for_child(process.pid).code == 3);
  children.add(process.pid, std::move(process.pidfd), [&](const ExitStatus& end) { ended = end; });
  CHECK(loop_until(loop, [&] { return ended.has_value(); }));
  REQUIRE(ended);
  CHECK_FALSE(ended->code);
  CHECK_FALSE(ended->signal);
}

TEST_CASE("a child that is dismissed is asked to end, and then killed") {
  Loop loop;
  Children children(loop, Children::Rest::ends);
  auto process = shell_child("trap '' TERM; echo ready; while :; do sleep 0.01; done");
  REQUIRE(eventually([&] {
    char byte = 0;
    return ::read(process.stream.get(), &byte, 1) == 1;
  }));
  children.add(process.pid, std::move(process.pidfd), [](const ExitStatus&) { FAIL("it told"); });
  children.dismiss(process.pid, 0s);
  CHECK(loop_until(loop, [] { return !has_child(); }));
}

TEST_CASE("children live on after their keeper, or end with it") {
  const bool goes_on = GENERATE(true, false);
  Loop loop;
  auto process = shell_child("exec sleep 60");
  {
    Children children(loop, goes_on ? Children::Rest::goes_on : Children::Rest::ends);
    children.add(process.pid, std::move(process.pidfd), {});
  }
  CHECK(is_running(process.pid) == goes_on);
  CHECK(has_child() == goes_on);
  if (!goes_on) return;
  REQUIRE(::kill(process.pid, SIGKILL) == 0);
  CHECK(wait_for_child(process.pid).signal == SIGKILL);
}
