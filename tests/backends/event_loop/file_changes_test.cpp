// SPDX-License-Identifier: Apache-2.0
#include "backends/event_loop/file_changes.hpp"

#include <fstream>

#include "tests/catch.hpp"
#include "tests/support/loop_until.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;
using namespace train::testing;

namespace {

struct Written {
  void append(const std::string& name) {
    std::ofstream(directory.path() + name, std::ios::app) << "x";
  }
  std::unique_ptr<Subscription> watch(const std::string& name, int& count) {
    return changes.when_written(directory.path() + name, [&count] { ++count; });
  }

  TemporaryDirectory directory;
  Loop loop;
  FileChanges changes{loop};
};

}  // namespace

TEST_CASE("whoever watches a file is told that it was written to, until it does not want to be") {
  Written written;
  for (const char* name : {"/a", "/b"}) written.append(name);
  int of_a = 0;
  int again_of_a = 0;
  int of_b = 0;
  auto first = written.watch("/a", of_a);
  const auto second = written.watch("/a", again_of_a);
  const auto other = written.watch("/b", of_b);
  written.append("/a");
  CHECK(loop_until(written.loop, [&] { return of_a == 1 && again_of_a == 1; }));
  CHECK(of_b == 0);
  first.reset();
  written.append("/a");
  written.append("/b");
  CHECK(loop_until(written.loop, [&] { return again_of_a == 2 && of_b == 1; }));
  CHECK(of_a == 1);
}

TEST_CASE("a watch may go while it is told") {
  Written written;
  written.append("/a");
  int told = 0;
  std::unique_ptr<Subscription> one;
  std::unique_ptr<Subscription> two;
  one = written.changes.when_written(written.directory.path() + "/a", [&] {
    ++told;
    one.reset();
    two.reset();
  });
  two = written.changes.when_written(written.directory.path() + "/a", [&] { ++told; });
  written.append("/a");
  CHECK(loop_until(written.loop, [&] { return told > 0; }));
  int last = 0;
  const auto third = written.watch("/a", last);
  written.append("/a");
  CHECK(loop_until(written.loop, [&] { return last == 1; }));
  CHECK(told == 1);
}

TEST_CASE("there is nothing to be told of a file that is not there") {
  Written written;
  int told = 0;
  CHECK_FALSE(written.watch("/none", told));
}
