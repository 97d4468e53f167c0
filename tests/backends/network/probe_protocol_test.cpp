// SPDX-License-Identifier: Apache-2.0
#include "backends/network/probe_protocol.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "backends/posix/descriptor.hpp"
#include "tests/catch.hpp"

using namespace train;

namespace {

const std::string token(32, 'a');
const std::string header = probe_header(ProbePart::question, token);

// A non-blocking connection whose buffers hold a few packets.
struct Connection {
  Connection() {
    int fds[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
    near.reset(fds[0]);
    far.reset(fds[1]);
    constexpr int small = 8 << 10;
    REQUIRE(::setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
  }

  Descriptor near;
  Descriptor far;
};

}  // namespace

TEST_CASE("headers have one size and differ in what they are and in their token") {
  CHECK(header == "train-probe-1 " + token + std::string(18, ' '));
  CHECK(probe_header(ProbePart::answer, token) == "train-reply-1 " + token + std::string(18, ' '));
  CHECK(header.size() == probe_header_size);
  CHECK(is_probe_token(token));
  for (const std::string& other : {std::string(), std::string(31, 'a'), std::string(33, 'a'),
                                   std::string(32, 'A'), std::string(32, ' ')})
    CHECK_FALSE(is_probe_token(other));
}

TEST_CASE("a part arrives in pieces, and nothing is taken of what follows") {
  const Connection connection;
  ProbeSender sender(header);
  ProbeReceiver receiver(header);
  int waits = 0;
  ProbeProgress sent = ProbeProgress::waits;
  ProbeProgress received = ProbeProgress::waits;
  while (received == ProbeProgress::waits) {
    if (sent == ProbeProgress::waits) {
      sent = sender.send_some(connection.near.get());
      waits += sent == ProbeProgress::waits ? 1 : 0;
      if (sent == ProbeProgress::complete) REQUIRE(::write(connection.near.get(), "end", 3) == 3);
    }
    received = receiver.receive_some(connection.far.get());
    REQUIRE(receiver.has_header());  // it came first, by itself
  }
  CHECK(sent == ProbeProgress::complete);
  CHECK(received == ProbeProgress::complete);
  CHECK(waits > 1);
  char rest[8] = {};
  CHECK(::read(connection.far.get(), rest, sizeof rest) == 3);
}

TEST_CASE("nothing has come of a connection on which nothing happens") {
  const Connection connection;
  ProbeReceiver receiver(header);
  CHECK(receiver.receive_some(connection.far.get()) == ProbeProgress::waits);
  CHECK_FALSE(receiver.has_header());
}

TEST_CASE("a wrong beginning is foreign at once, and a wrong token at its end") {
  const Connection connection;
  ProbeReceiver receiver(header);
  const auto hears = [&](std::string_view bytes) {
    REQUIRE(::write(connection.near.get(), bytes.data(), bytes.size()) > 0);
    return receiver.receive_some(connection.far.get());
  };
  SECTION("a wrong beginning") {
    CHECK(hears("train") == ProbeProgress::waits);
    CHECK(hears("s") == ProbeProgress::foreign);
  }
  SECTION("a wrong token") {
    CHECK(hears(header.substr(0, probe_magic_size) + "b") == ProbeProgress::waits);
    CHECK(hears(std::string(48, 'b')) == ProbeProgress::waits);
    CHECK_FALSE(receiver.has_header());
    CHECK(hears("b") == ProbeProgress::foreign);
  }
}

TEST_CASE("a connection that the other side has ended is foreign") {
  Connection connection;
  ProbeSender sender(header);
  ProbeReceiver receiver(header);
  connection.far.reset();
  CHECK(sender.send_some(connection.near.get()) == ProbeProgress::foreign);
  CHECK(receiver.receive_some(connection.near.get()) == ProbeProgress::foreign);
}
