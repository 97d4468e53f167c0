// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_session/arrival_limits.hpp"

#include <errno.h>

#include <string>

#include "backends/ssh_session/byte_stream.hpp"
#include "tests/catch.hpp"

using namespace train;

namespace {

// A peer that sends one letter for ever, and takes nothing.
class Endless final : public ByteStream {
 public:
  explicit Endless(std::string begin) : begin_(std::move(begin)) {}
  int fd() const override { return -1; }

 private:
  ssize_t read_some(char* buffer, std::size_t size) override {
    for (std::size_t i = 0; i < size; ++i) buffer[i] = at_ < begin_.size() ? begin_[at_++] : 'x';
    return static_cast<ssize_t>(size);
  }
  ssize_t write_some(const char*, std::size_t) override { return -EAGAIN; }

  std::string begin_;
  std::size_t at_ = 0;
};

// How much of a stream comes before it ends or pauses.
std::size_t drain(ByteStream& stream, std::size_t piece) {
  std::string buffer(piece, '\0');
  std::size_t sum = 0;
  ssize_t count = 0;
  while ((count = stream.receive(buffer.data(), piece)) > 0) sum += static_cast<std::size_t>(count);
  return sum;
}

}  // namespace

TEST_CASE("a peer that floods before its greeting is cut off, with and without lines") {
  const std::size_t piece = GENERATE(1, 200, 16384);
  const std::string begin = GENERATE(as<std::string>(), "", "hello\nSSH\n", "xSSH-2.0-y\n");
  Endless peer(begin);
  const std::size_t most = ArrivalLimits::most_greeting;
  CHECK(drain(peer, piece) <= most);
  CHECK(peer.ended());
  CHECK(peer.excess() == Excess::greeting);
  CHECK(peer.greeting().size() == 200);
}

TEST_CASE("lines before the greeting are allowed, and a flood after it is one before the login") {
  const std::size_t piece = GENERATE(1, 3, 16384);
  Endless peer(std::string(60'000, 'w') + "\nSSH-2.0-x\r\n");
  std::size_t sum = drain(peer, piece);
  if (!peer.ended()) sum += (peer.begin_turn(), drain(peer, piece));
  CHECK(peer.excess() == Excess::before_login);
  CHECK(sum <= ArrivalLimits::most_before_login);
}

TEST_CASE("after the login a turn is bounded, and only what is of no use is counted") {
  Endless peer("SSH-2.0-x\n");
  char first[10];
  REQUIRE(peer.receive(first, sizeof first) == sizeof first);
  peer.log_in();
  std::size_t sum = 0;
  SECTION("all of it is of use") {
    for (int turn = 0; turn < 100; ++turn) {
      peer.begin_turn();
      const std::size_t count = drain(peer, 32768);
      CHECK(count == ArrivalLimits::most_in_a_turn);
      CHECK(peer.is_turn_over());
      peer.use(count / 64);
    }
    CHECK_FALSE(peer.ended());
  }
  SECTION("none of it is") {
    for (int turn = 0; turn < 100 && !peer.ended(); ++turn) {
      peer.begin_turn();
      sum += drain(peer, 32768);
    }
    CHECK(peer.excess() == Excess::idle);
    CHECK(sum <= ArrivalLimits::most_idle);
  }
}

TEST_CASE("a peer that reads nothing of the answers that it asks for is cut off") {
  Endless peer("");
  const std::string answer(100'000, 'a');
  for (int i = 0; i < 100; ++i) {
    peer.queue(answer.data(), answer.size());
    peer.flush();
  }
  CHECK(peer.excess() == Excess::unread);
  CHECK(peer.pending() == 0);
}
