// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/unsent_output.hpp"

#include <signal.h>

#include <cerrno>
#include <string>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "tests/catch.hpp"

using namespace train;

TEST_CASE("what a reader does not take waits for it, and comes whole and in order") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  make_nonblocking(pipe->write_end.get());
  make_nonblocking(pipe->read_end.get());
  UnsentOutput output(pipe->write_end.get());
  std::string all;
  std::string read;
  std::string piece(10'007, ' ');
  std::string buffer(30'011, ' ');
  for (int round = 0; round < 100; ++round) {
    piece.assign(piece.size(), static_cast<char>('a' + round % 26));
    output.add(piece);
    all += piece;
    REQUIRE(output.send_some());
    CHECK(output.size() <= all.size());
    if (round % 4 != 3) continue;
    const ssize_t count = read_some(pipe->read_end.get(), buffer.data(), buffer.size());
    REQUIRE(count > 0);
    read.append(buffer.data(), static_cast<std::size_t>(count));
  }
  CHECK_FALSE(output.is_empty());
  while (true) {
    REQUIRE(output.send_some());
    const ssize_t count = read_some(pipe->read_end.get(), buffer.data(), buffer.size());
    if (count < 0 && is_passing(errno)) break;
    REQUIRE(count > 0);
    read.append(buffer.data(), static_cast<std::size_t>(count));
  }
  CHECK(output.is_empty());
  CHECK(read == all);
}

TEST_CASE("output that nobody reads is told") {
  ::signal(SIGPIPE, SIG_IGN);
  auto pipe = make_pipe();
  REQUIRE(pipe);
  UnsentOutput output(pipe->write_end.get());
  CHECK(output.send_some());
  pipe->read_end.reset();
  output.add("who is there?");
  CHECK_FALSE(output.send_some());
}
