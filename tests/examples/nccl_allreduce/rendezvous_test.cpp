// SPDX-License-Identifier: Apache-2.0
#include "examples/nccl_allreduce/rendezvous.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <optional>
#include <vector>

#include "tests/catch.hpp"
#include "tests/support/waiting.hpp"

namespace nccl_allreduce {
namespace {

using namespace std::chrono_literals;
using train::testing::becomes_readable;
using train::testing::eventually;

// Nothing here is to take that long; what must fail by time has a limit of its own.
constexpr std::chrono::milliseconds long_enough = 10min;
constexpr std::chrono::milliseconds soon = 300ms;

/// A port that is held as train's agent holds it: bound, and nobody listens.
class HeldPort {
 public:
  HeldPort() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;
    ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    socklen_t size = sizeof address_;
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(fd_, reinterpret_cast<sockaddr*>(&address_), sizeof address_) == 0);
    REQUIRE(::getsockname(fd_, reinterpret_cast<sockaddr*>(&address_), &size) == 0);
  }
  ~HeldPort() { ::close(fd_); }
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;

  int fd() const { return fd_; }
  int number() const { return ntohs(address_.sin_port); }
  const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }

 private:
  int fd_;
  sockaddr_in address_{};
};

Meeting meeting_at(const HeldPort& port, int rank, int world_size) {
  return {"127.0.0.1", port.number(), rank, world_size, digest_of("job"), 22809, long_enough};
}

Token some_token() {
  Token token{};
  for (std::size_t i = 0; i < token.size(); ++i) token[i] = static_cast<char>(i * 7);
  return token;
}

std::future<Result<Token>> fetching(const Meeting& meeting) {
  return std::async(std::launch::async, [meeting] { return fetch(meeting); });
}

std::future<Status> handing_out(const Meeting& meeting) {
  return std::async(std::launch::async, [meeting] { return hand_out(meeting, some_token()); });
}

/// Somebody who connects to rank 0 and is no rank.
class Stranger {
 public:
  explicit Stranger(const HeldPort& port) {
    REQUIRE(eventually([&] {
      if (fd_ >= 0) ::close(fd_);
      fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      return ::connect(fd_, port.address(), sizeof(sockaddr_in)) == 0;
    }));
  }
  Stranger(Stranger&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Stranger() {
    if (fd_ >= 0) ::close(fd_);
  }

  void say(const std::string& bytes) const {
    CHECK(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(bytes.size()));
  }
  /// Rank 0 hangs up, without a word.
  bool is_hung_up_on() const {
    char byte = 0;
    return becomes_readable(fd_) && ::recv(fd_, &byte, 1, MSG_DONTWAIT) <= 0;
  }

 private:
  int fd_ = -1;
};

/// The hello of a rank of the meetings here, as the protocol has it.
std::string hello(int rank, int world_size, std::uint64_t job = digest_of("job")) {
  std::string frame = "TRNCCL1?";
  const auto add = [&](std::uint64_t number, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
      frame += static_cast<char>(number >> shift & 0xff);
  };
  add(job, 8);
  add(static_cast<std::uint32_t>(world_size), 4);
  add(static_cast<std::uint32_t>(rank), 4);
  add(22809, 4);
  return frame;
}

void expect_token(std::future<Result<Token>>& rank) {
  auto token = rank.get();
  INFO((token ? "" : token.failure().message));
  REQUIRE(token);
  CHECK(*token == some_token());
}

void expect_done(std::future<Status>& rank_0) {
  const auto handed = rank_0.get();
  INFO((handed ? "" : handed.failure().message));
  CHECK(handed);
}

template <typename T>
std::string failure_of(std::future<Result<T>>& rank) {
  const auto result = rank.get();
  REQUIRE_FALSE(result);
  return result.failure().message;
}

using Catch::Contains;

TEST_CASE("all ranks get the token, whoever is there first") {
  const HeldPort port;
  std::vector<std::future<Result<Token>>> others;
  for (int rank = 1; rank < 5; ++rank) others.push_back(fetching(meeting_at(port, rank, 9)));
  auto rank_0 = handing_out(meeting_at(port, 0, 9));
  for (int rank = 5; rank < 9; ++rank) others.push_back(fetching(meeting_at(port, rank, 9)));
  expect_done(rank_0);
  for (auto& rank : others) expect_token(rank);
}

TEST_CASE("one rank meets nobody") {
  CHECK(hand_out({"", 0, 0, 1, 0, 0, long_enough}, some_token()));
}

TEST_CASE("rank 0 may be told by name, and at an address that is not of its machine") {
  const HeldPort port;
  auto by_name = meeting_at(port, 0, 2);
  by_name.address = GENERATE("localhost", "192.0.2.1");
  auto rank_0 = handing_out(by_name);
  auto rank_1 = fetching(meeting_at(port, 1, 2));
  expect_done(rank_0);
  expect_token(rank_1);
}

TEST_CASE("strangers who say nothing, garbage or half a hello keep nobody waiting") {
  const HeldPort port;
  auto rank_0 = handing_out(meeting_at(port, 0, 3));
  const Stranger silent(port);
  const Stranger browser(port);
  const Stranger slow(port);
  const Stranger gone(port);
  browser.say("GET / HTTP/1.1\r\nHost: rank0\r\n\r\n");
  slow.say("TRNCCL1?half");
  { const Stranger short_visit(port); }
  CHECK(browser.is_hung_up_on());
  auto rank_1 = fetching(meeting_at(port, 1, 3));
  auto rank_2 = fetching(meeting_at(port, 2, 3));
  expect_done(rank_0);
  expect_token(rank_1);
  expect_token(rank_2);
}

TEST_CASE("more strangers than rank 0 keeps make room for ranks") {
  const HeldPort port;
  auto rank_0 = handing_out(meeting_at(port, 0, 2));
  std::vector<Stranger> strangers;
  for (int i = 0; i < 100; ++i) strangers.emplace_back(port);
  CHECK(strangers.front().is_hung_up_on());
  auto rank_1 = fetching(meeting_at(port, 1, 2));
  expect_done(rank_0);
  expect_token(rank_1);
}

// Also before rank 0 has looked at its end, which only some of the times happens.
TEST_CASE("a rank that hangs up before all are there may come again") {
  (void)GENERATE(range(0, 20));
  const HeldPort port;
  auto rank_0 = handing_out(meeting_at(port, 0, 3));
  {
    const Stranger first(port);
    first.say(hello(1, 3));
  }
  auto again = fetching(meeting_at(port, 1, 3));
  auto rank_2 = fetching(meeting_at(port, 2, 3));
  expect_done(rank_0);
  expect_token(again);
  expect_token(rank_2);
}

// Rank 0 finds the hello of a rank that has gone together with that of the last one.
TEST_CASE("a rank that hangs up just before the last one comes may come again") {
  const HeldPort port;
  auto limited = meeting_at(port, 1, 3);
  limited.limit = train::testing::patience(1s);
  const pid_t rank_0 = ::fork();
  if (rank_0 == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::_exit(hand_out(meeting_at(port, 0, 3), some_token()) ? 0 : 1);
  }
  REQUIRE(rank_0 > 0);
  int status = 0;
  std::optional<Stranger> first(port);  // it listens
  ::kill(rank_0, SIGSTOP);
  CHECK(::waitpid(rank_0, &status, WUNTRACED) == rank_0);
  first->say(hello(1, 3));
  first.reset();
  const Stranger last(port);
  last.say(hello(2, 3));
  ::kill(rank_0, SIGCONT);
  auto again = fetching(limited);
  expect_token(again);
  CHECK(::waitpid(rank_0, &status, 0) == rank_0);
  CHECK(status == 0);
}

TEST_CASE("ranks that never come are named, to rank 0 and to those that came", "[waits]") {
  const HeldPort port;
  auto limited = meeting_at(port, 0, 8);
  limited.limit = train::testing::patience(1s);
  auto rank_3 = fetching(meeting_at(port, 3, 8));
  auto rank_0 = handing_out(limited);
  const std::string why = failure_of(rank_0);
  CHECK_THAT(why, Contains("not all ranks have come to rank 0 at 127.0.0.1:" +
                           std::to_string(port.number())));
  CHECK_THAT(why, Contains("; missing: 1-2, 4-7 (6 of 8); "));
  CHECK_THAT(failure_of(rank_3), Contains(" refuses: " + why));
}

TEST_CASE("a second process of the same rank is refused, and the first one stays") {
  const HeldPort port;
  auto rank_0 = handing_out(meeting_at(port, 0, 3));
  auto one = fetching(meeting_at(port, 1, 3));
  auto other = fetching(meeting_at(port, 1, 3));
  REQUIRE(eventually([&] {
    return one.wait_for(0s) == std::future_status::ready ||
           other.wait_for(0s) == std::future_status::ready;
  }));
  const bool one_is_refused = one.wait_for(0s) == std::future_status::ready;
  CHECK_THAT(failure_of(one_is_refused ? one : other),
             Contains("two processes say that they are rank 1, at 127.0.0.1 and at 127.0.0.1: "
                      "start each rank once"));
  auto rank_2 = fetching(meeting_at(port, 2, 3));
  expect_done(rank_0);
  expect_token(one_is_refused ? other : one);
  expect_token(rank_2);
}

TEST_CASE("ranks that do not belong together are refused with the reason") {
  const HeldPort port;
  auto rank_0 = handing_out(meeting_at(port, 0, 2));
  auto larger = fetching(meeting_at(port, 1, 3));
  CHECK_THAT(
      failure_of(larger),
      Contains("rank 1 at 127.0.0.1 says that there are 3 ranks, and rank 0 that there are 2"));
  auto too_high = fetching(meeting_at(port, 2, 2));
  CHECK_THAT(failure_of(too_high), Contains("rank 2 at 127.0.0.1 is not of 1 to 1"));
  auto second_0 = fetching(meeting_at(port, 0, 2));
  CHECK_THAT(failure_of(second_0), Contains("rank 0 at 127.0.0.1 is not of 1 to 1"));
  auto foreign = meeting_at(port, 1, 2);
  foreign.job = digest_of("another");
  auto of_another_job = fetching(foreign);
  CHECK_THAT(failure_of(of_another_job),
             Contains("is of another task, or has other flags than rank 0"));
  auto old = meeting_at(port, 1, 2);
  old.nccl_version = 21805;
  auto with_old_nccl = fetching(old);
  CHECK_THAT(failure_of(with_old_nccl), Contains("has NCCL 21805, and rank 0 22809"));
  auto right = fetching(meeting_at(port, 1, 2));
  expect_done(rank_0);
  expect_token(right);
}

TEST_CASE("what refused ranks say is part of why others are missing", "[waits]") {
  const HeldPort port;
  auto limited = meeting_at(port, 0, 2);
  limited.limit = train::testing::patience(1s);
  auto rank_0 = handing_out(limited);
  auto larger = fetching(meeting_at(port, 1, 3));
  CHECK_THAT(failure_of(larger), Contains("give all the same WORLD_SIZE"));
  CHECK_THAT(failure_of(rank_0), Contains("missing: 1 (1 of 2)") &&
                                     Contains("; refused last: rank 1 at 127.0.0.1 says"));
}

TEST_CASE("a port where another program listens is no rank 0") {
  const HeldPort port;
  REQUIRE(::listen(port.fd(), 8) == 0);
  auto rank_1 = fetching(meeting_at(port, 1, 2));
  const int visitor = ::accept(port.fd(), nullptr, nullptr);
  const std::string answer = GENERATE(std::string("SSH-2.0-OpenSSH\r\n"),
                                      std::string("TRNCCL1!\0\0\0\0\xff\xff\xff\xff", 16),
                                      std::string("TRNCCL1!\0\0\0\0\0\0\0\3abc", 19));
  CHECK(::send(visitor, answer.data(), answer.size(), MSG_NOSIGNAL) ==
        static_cast<ssize_t>(answer.size()));
  CHECK_THAT(failure_of(rank_1),
             Contains("what listens at 127.0.0.1:" + std::to_string(port.number())) &&
                 Contains("is not rank 0 of this program: choose a port that is free"));
  ::close(visitor);
}

TEST_CASE("a refusal is printed without what a terminal would obey") {
  const HeldPort port;
  REQUIRE(::listen(port.fd(), 8) == 0);
  auto rank_1 = fetching(meeting_at(port, 1, 2));
  const int visitor = ::accept(port.fd(), nullptr, nullptr);
  const std::string answer("TRNCCL1!\0\0\0\1\0\0\0\5\x1b[2Jx", 21);
  CHECK(::send(visitor, answer.data(), answer.size(), MSG_NOSIGNAL) ==
        static_cast<ssize_t>(answer.size()));
  CHECK_THAT(failure_of(rank_1), Catch::EndsWith(" refuses: ?[2Jx"));
  ::close(visitor);
}

TEST_CASE("rank 0 cannot listen where another one does") {
  const HeldPort port;
  REQUIRE(::listen(port.fd(), 8) == 0);
  auto rank_0 = handing_out(meeting_at(port, 0, 2));
  CHECK_THAT(failure_of(rank_0),
             Contains("cannot listen at 127.0.0.1:" + std::to_string(port.number())) &&
                 Contains("Address already in use"));
}

TEST_CASE("a rank whose rank 0 is not there, or never answers, ends with what it saw", "[waits]") {
  const HeldPort port;
  auto limited = meeting_at(port, 1, 2);
  limited.limit = soon;
  auto alone = fetching(limited);
  const HeldPort silent;
  REQUIRE(::listen(silent.fd(), 8) == 0);
  limited.port = silent.number();
  auto unanswered = fetching(limited);
  CHECK_THAT(failure_of(alone),
             Contains("rank 0 at 127.0.0.1:" + std::to_string(port.number())) &&
                 Contains("could not be met within 5.3 s: Connection refused; see whether"));
  CHECK_THAT(failure_of(unanswered),
             Contains("could not be met within 5.3 s: it has not answered; see whether"));
}

}  // namespace
}  // namespace nccl_allreduce
