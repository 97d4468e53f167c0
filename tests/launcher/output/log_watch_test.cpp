// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/log_watch.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

OutputChunk printed(int rank, const std::string& bytes, OutputStream stream = OutputStream::out) {
  OutputChunk chunk;
  chunk.rank = rank;
  chunk.stream = stream;
  chunk.bytes = bytes;
  return chunk;
}

LogWatch watch_for(const std::vector<std::string>& patterns) {
  std::vector<LogPolicy> policies(patterns.size());
  for (std::size_t i = 0; i < patterns.size(); ++i) policies[i].pattern = patterns[i];
  return LogWatch(policies);
}

using Matches = std::vector<PolicyMatch>;

}  // namespace

TEST_CASE("lines of all ranks are looked at, and the first match of each policy counts") {
  LogWatch watch = watch_for({"out of memory", "ECC"});
  CHECK(watch.look(printed(0, "all is well\n")).empty());
  CHECK(watch.look(printed(3, "CUDA out of memory, and ECC\n")) ==
        Matches{{0, 3, "CUDA out of memory, and ECC"}, {1, 3, "CUDA out of memory, and ECC"}});
  CHECK(watch.look(printed(1, "out of memory\nECC\n")).empty());
}

TEST_CASE("a line that comes in pieces is looked at when it is whole, each stream for itself") {
  LogWatch watch = watch_for({"^out of memory$"});
  CHECK(watch.look(printed(0, "out of ")).empty());
  CHECK(watch.look(printed(0, "something else\n", OutputStream::err)).empty());
  CHECK(watch.look(printed(1, "memory\n")).empty());
  CHECK(watch.look(printed(0, "memory\nmore")) == Matches{{0, 0, "out of memory"}});
}

TEST_CASE("what stands behind the last newline counts at the end, and another attempt is new") {
  LogWatch watch = watch_for({"oom"});
  CHECK(watch.look(printed(2, "oom")).empty());
  CHECK(watch.end() == Matches{{0, 2, "oom"}});
  CHECK(watch.end().empty());
  CHECK(watch.look(printed(2, "oom\n")) == Matches{{0, 2, "oom"}});
}

TEST_CASE("a gap ends the lines of its rank") {
  LogWatch watch = watch_for({"^out of memory$", "^memory$"});
  CHECK(watch.look(printed(0, "out of ")).empty());
  CHECK(watch.look(printed(0, "memory", OutputStream::err)).empty());
  OutputChunk gap = printed(0, "");
  gap.dropped = 7;
  CHECK(watch.look(gap) == Matches{{1, 0, "memory"}});
  CHECK(watch.look(printed(0, "memory\n")).empty());
}

TEST_CASE("of a policy with a known match no other counts, in that attempt") {
  LogWatch watch = watch_for({"oom", "ECC"});
  watch.know(0);
  CHECK(watch.look(printed(0, "oom and ECC\n")) == Matches{{1, 0, "oom and ECC"}});
  CHECK(watch.end().empty());
  CHECK(watch.look(printed(0, "oom\n")) == Matches{{0, 0, "oom"}});
}

TEST_CASE("of a long line the begin is kept, and a longer one is looked at in pieces") {
  LogWatch watch = watch_for({"x$"});
  const std::string line = std::string(LineSplitter::longest_line - 1, 'a') + "x";
  const Matches matches = watch.look(printed(0, line + "tail\n"));
  REQUIRE(matches.size() == 1);
  CHECK(matches[0].line == std::string(longest_match, 'a'));
}

TEST_CASE("without policies nothing is kept") {
  LogWatch watch = watch_for({});
  CHECK(watch.look(printed(0, "oom\nrest")).empty());
  CHECK(watch.end().empty());
}
