// SPDX-License-Identifier: Apache-2.0
#include "backends/agent/supervisor_connection.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"
#include "tests/support/loop_until.hpp"

using namespace train;
using namespace train::testing;

namespace {

// A connection, the launcher's end of it, and what came of it.
struct Ends {
  Ends() {
    int fds[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    launcher = Descriptor(fds[0]);
    connection = std::make_unique<SupervisorConnection>(
        loop, Descriptor(fds[1]),
        SupervisorConnection::Events{[this](const Frame& frame) {
                                       frames.emplace_back(frame.payload);
                                       return frame.payload != "strange";
                                     },
                                     [this] { ++closed; }});
  }

  // Until the connection is closed; false when it is not.
  bool run() {
    return loop_until(loop, [&] { return closed > 0; }) && closed == 1;
  }

  Loop loop;
  Descriptor launcher;
  std::unique_ptr<SupervisorConnection> connection;
  std::vector<std::string> frames;
  int closed = 0;
};

std::string control(const std::string& payload) {
  return encode_frame(FrameKind::control, payload);
}

}  // namespace

TEST_CASE("what is sent to a launcher that has gone goes nowhere") {
  Ends ends;
  ends.connection->send(std::string(8'000'000, 'x'));  // more than the socket takes
  ends.launcher.reset();
  // The first finds out; the others must not trip over what the first has dropped.
  for (int i = 0; i < 3; ++i) ends.connection->send("x");
  CHECK(ends.closed == 0);  // never from inside `send`
  CHECK(ends.run());
  ends.connection->send("x");
}

TEST_CASE("frames before the end of the stream arrive before the end is told") {
  Ends ends;
  write_all(ends.launcher.get(), control("one") + control("two"));
  ends.launcher.reset();
  CHECK(ends.run());
  CHECK(ends.frames == std::vector<std::string>{"one", "two"});
}

TEST_CASE("a frame that no launcher sends ends the connection, and those behind it are not read") {
  Ends ends;
  write_all(ends.launcher.get(), control("one") + control("strange") + control("two"));
  CHECK(ends.run());
  CHECK(ends.frames == std::vector<std::string>{"one", "strange"});
  CHECK(read_all(ends.launcher.get()).empty());
}

TEST_CASE("bytes that are no frame end the connection") {
  Ends ends;
  write_all(ends.launcher.get(), "GET / HTTP/1.1\r\n\r\n");
  CHECK(ends.run());
  CHECK(ends.frames.empty());
}

TEST_CASE("a launcher that reads slowly gets everything in order") {
  Ends ends;
  std::string sent;
  for (int i = 0; i < 200; ++i) {
    const std::string piece(50'000, static_cast<char>('a' + i % 26));
    sent += piece;
    ends.connection->send(piece);
  }
  std::string received;
  const auto reading = ends.loop.when_readable(ends.launcher.get(), [&] {
    char buffer[10'000];
    const ssize_t count = ::recv(ends.launcher.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (count > 0) received.append(buffer, static_cast<size_t>(count));
  });
  CHECK(loop_until(ends.loop, [&] { return received.size() >= sent.size(); }));
  CHECK((received == sent));
}
