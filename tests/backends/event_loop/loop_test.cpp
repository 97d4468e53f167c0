// SPDX-License-Identifier: Apache-2.0
#include "backends/event_loop/loop.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.hpp"
#include "tests/support/loop_until.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

struct SocketPair {
  SocketPair() { REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0); }
  ~SocketPair() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;

  int ends[2] = {-1, -1};
};

// As long as it lives, this process can open no further descriptor.
class NoMoreDescriptors {
 public:
  NoMoreDescriptors() {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const int next = ::dup(0);
    REQUIRE(next >= 0);
    ::close(next);
    const rlimit limit{static_cast<rlim_t>(next), before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  }
  ~NoMoreDescriptors() { (void)::setrlimit(RLIMIT_NOFILE, &before_); }
  NoMoreDescriptors(const NoMoreDescriptors&) = delete;
  NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;

 private:
  rlimit before_{};
};

char take(int fd) {
  char byte = 0;
  return ::read(fd, &byte, 1) == 1 ? byte : '\0';
}

}  // namespace

TEST_CASE("timers fire in the order of their delays, and once") {
  // Again where it took so long to make them that another order would have been right.
  CHECK(eventually([] {
    Loop loop;
    std::string order;
    const Instant began = boot_time();
    const auto third = loop.after(15ms, [&] { loop.stop(); });
    const auto second = loop.after(5ms, [&] { order += 'b'; });
    const auto first = loop.after(0ms, [&] { order += 'a'; });
    const bool is_known = boot_time() - began < 5ms;  // waits: else it is tried again
    REQUIRE(run_until_stopped(loop));
    if (is_known) CHECK(order == "ab");
    return is_known;
  }));
}

TEST_CASE("a timer that was given up does not fire") {
  Loop loop;
  bool has_fired = false;
  std::unique_ptr<Subscription> doomed;
  std::unique_ptr<Subscription> killer;
  SECTION("before the loop runs") {
    doomed = loop.after(1ms, [&] { has_fired = true; });
    doomed.reset();
  }
  SECTION("in the callback before it") {  // which was made first: its time is never the later one
    killer = loop.after(0ms, [&] { doomed.reset(); });
    doomed = loop.after(1ms, [&] { has_fired = true; });
  }
  run_for(loop, 20ms);
  CHECK(doomed == nullptr);
  CHECK_FALSE(has_fired);
}

TEST_CASE("time stands still inside a callback and goes on between them") {
  Loop loop;
  Instant inside{};
  const Instant start = loop.now();
  const auto timer = loop.after(5ms, [&] {
    inside = loop.now();
    std::this_thread::yield();
    CHECK(loop.now() == inside);
    loop.stop();
  });
  REQUIRE(run_until_stopped(loop));
  CHECK(inside >= start + 5ms);
}

TEST_CASE("a descriptor is reported whenever it can be read") {
  Loop loop;
  SocketPair pair;
  std::string received;
  const auto readable = loop.when_readable(pair.ends[0], [&] {
    received += take(pair.ends[0]);
    if (received.size() == 3) loop.stop();
  });
  REQUIRE(::write(pair.ends[1], "ab", 2) == 2);  // one byte is taken per call
  loop.post([&] { REQUIRE(::write(pair.ends[1], "c", 1) == 1); });
  REQUIRE(run_until_stopped(loop));
  CHECK(received == "abc");
}

TEST_CASE("the end of a stream is reported as readable") {
  Loop loop;
  SocketPair pair;
  ::shutdown(pair.ends[1], SHUT_WR);
  const auto readable = loop.when_readable(pair.ends[0], [&] { loop.stop(); });
  CHECK(run_until_stopped(loop));
}

TEST_CASE("one descriptor can be watched for reading and for writing at once") {
  Loop loop;
  SocketPair pair;
  std::string events;
  std::unique_ptr<Subscription> writable;
  const auto readable = loop.when_readable(pair.ends[0], [&] {
    events += take(pair.ends[0]);
    if (events.size() == 3) return loop.stop();
    writable = loop.when_writable(pair.ends[0], [&] {
      events += 'w';
      writable.reset();
      REQUIRE(::write(pair.ends[1], "s", 1) == 1);
    });
  });
  loop.post([&] { REQUIRE(::write(pair.ends[1], "r", 1) == 1); });
  REQUIRE(run_until_stopped(loop));
  CHECK(events == "rws");
}

TEST_CASE("a subscription may be destroyed in its own callback") {
  Loop loop;
  SocketPair pair;
  int calls = 0;
  REQUIRE(::write(pair.ends[1], "x", 1) == 1);  // never taken: readable for ever
  std::unique_ptr<Subscription> subscription;
  SECTION("a descriptor's") {
    subscription = loop.when_readable(pair.ends[0], [&] {
      ++calls;
      subscription.reset();
    });
  }
  SECTION("a timer's") {
    subscription = loop.after(0ms, [&] {
      ++calls;
      subscription.reset();
    });
  }
  SECTION("a signal's") {
    subscription = loop.on_signals({SIGUSR1}, [&](int) {
      ++calls;
      subscription.reset();
    });
    ::raise(SIGUSR1);
  }
  REQUIRE(loop_until(loop, [&] { return calls > 0; }));
  run_for(loop, 20ms);
  CHECK(calls == 1);
}

TEST_CASE("a subscription may be replaced on the same descriptor inside its callback") {
  Loop loop;
  SocketPair pair;
  REQUIRE(::write(pair.ends[1], "x", 1) == 1);
  int calls = 0;
  std::unique_ptr<Subscription> subscription;
  subscription = loop.when_readable(pair.ends[0], [&] {
    ++calls;
    subscription.reset();
    subscription = loop.when_readable(pair.ends[0], [&] {
      ++calls;
      loop.stop();
    });
  });
  REQUIRE(run_until_stopped(loop));
  CHECK(calls == 2);
}

TEST_CASE("a destroyed subscription leaves its descriptor open") {
  SocketPair pair;
  Loop loop;
  loop.when_readable(pair.ends[0], [] {}).reset();
  CHECK(::write(pair.ends[0], "x", 1) == 1);
}

TEST_CASE("a neighbour destroyed by an earlier callback of the same wake-up is not called") {
  Loop loop;
  SocketPair one;
  SocketPair two;
  REQUIRE(::write(one.ends[1], "x", 1) == 1);
  REQUIRE(::write(two.ends[1], "x", 1) == 1);
  int calls = 0;
  std::unique_ptr<Subscription> first;
  std::unique_ptr<Subscription> second;
  const auto end_both = [&] {
    ++calls;
    first.reset();
    second.reset();
  };
  first = loop.when_readable(one.ends[0], end_both);
  second = loop.when_readable(two.ends[0], end_both);
  REQUIRE(loop_until(loop, [&] { return calls > 0; }));
  run_for(loop, 20ms);
  CHECK(calls == 1);
}

// An event may be on its way for the descriptor that had the number before.
TEST_CASE("a descriptor is not told to be ready because one of the same number was") {
  Loop loop;
  SocketPair one;
  SocketPair two;
  SocketPair quiet;
  REQUIRE(::write(one.ends[1], "x", 1) == 1);
  REQUIRE(::write(two.ends[1], "x", 1) == 1);
  int calls = 0;
  std::unique_ptr<Subscription> first;
  std::unique_ptr<Subscription> second;
  std::unique_ptr<Subscription> later;
  // Whichever comes first, the number of the other becomes another descriptor.
  const auto replace = [&](int other) {
    first.reset();
    second.reset();
    REQUIRE(::dup2(quiet.ends[0], other) == other);
    later = loop.when_readable(other, [&] { ++calls; });
  };
  first = loop.when_readable(one.ends[0], [&] { replace(two.ends[0]); });
  second = loop.when_readable(two.ends[0], [&] { replace(one.ends[0]); });
  REQUIRE(loop_until(loop, [&] { return later != nullptr; }));
  run_for(loop, 50ms);
  CHECK(calls == 0);
  REQUIRE(::write(quiet.ends[1], "x", 1) == 1);
  CHECK(loop_until(loop, [&] { return calls > 0; }));
}

TEST_CASE("work can be posted from another thread") {
  Loop loop;
  constexpr int posts = 1000;
  int calls = 0;
  std::thread other([&] {
    for (int i = 0; i < posts; ++i)
      loop.post([&] {
        if (++calls == posts) loop.stop();
      });
  });
  CHECK(run_until_stopped(loop));
  other.join();
  CHECK(calls == posts);
}

TEST_CASE("signals are told by number") {
  Loop loop;
  std::vector<int> numbers;
  const auto signals = loop.on_signals({SIGUSR1, SIGUSR2}, [&](int number) {
    numbers.push_back(number);
    if (numbers.size() == 1) ::raise(SIGUSR2);
    if (numbers.size() == 2) loop.stop();
  });
  loop.post([] { ::raise(SIGUSR1); });
  REQUIRE(run_until_stopped(loop));
  CHECK(numbers == std::vector<int>{SIGUSR1, SIGUSR2});
}

TEST_CASE("a signal that nobody subscribes to any more has its default effect") {
  const pid_t child = ::fork();
  if (child == 0) {
    Loop loop;
    auto signals = loop.on_signals({SIGUSR1}, [](int) {});
    signals.reset();  // and the loop does not run again
    ::raise(SIGUSR1);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGUSR1);
}

TEST_CASE("a stopped loop can run again") {
  Loop loop;
  loop.post([&] { loop.stop(); });
  REQUIRE(run_until_stopped(loop));
  bool is_called = false;
  loop.post([&] {
    is_called = true;
    loop.stop();
  });
  REQUIRE(run_until_stopped(loop));
  CHECK(is_called);
}

TEST_CASE("a part of a loop runs with it, and what was posted to one that is gone does not come") {
  Loop loop;
  std::string called;
  auto part = std::make_unique<Loop>(loop);
  loop.post([&] { called += "whole "; });
  part->post([&] {
    called += "part ";
    part->post([&] { called += "never "; });
    part->stop();
  });
  REQUIRE(run_until_stopped(*part));
  const auto timer = part->after(1ms, [&] {
    called += "timer ";
    loop.stop();
  });
  part.reset();
  REQUIRE(run_until_stopped(loop));
  CHECK(called == "whole part timer ");
}

TEST_CASE("what a callback throws comes out of the loop, and its subscription lives on") {
  Loop loop;
  const SocketPair pair;
  std::string taken;
  const auto watch = loop.when_readable(pair.ends[0], [&] {
    taken += take(pair.ends[0]);
    if (taken == "a") throw std::runtime_error("thrown");
    loop.stop();
  });
  REQUIRE(::write(pair.ends[1], "ab", 2) == 2);
  CHECK_THROWS_WITH(run_until_stopped(loop), "thrown");
  REQUIRE(run_until_stopped(loop));
  CHECK(taken == "ab");
}

TEST_CASE("a descriptor is watched both ways although no other can be opened") {
  Loop loop;
  SocketPair pair;
  std::string events;
  const NoMoreDescriptors none_left;
  REQUIRE(::dup(0) < 0);
  std::unique_ptr<Subscription> writable;
  const auto readable = loop.when_readable(pair.ends[0], [&] {
    events += take(pair.ends[0]);
    writable = loop.when_writable(pair.ends[0], [&] {
      events += 'w';
      loop.stop();
    });
  });
  const auto signals = loop.on_signals({SIGUSR1}, [&](int) {
    events += 's';
    REQUIRE(::write(pair.ends[1], "r", 1) == 1);
  });
  loop.post([] { ::raise(SIGUSR1); });
  REQUIRE(run_until_stopped(loop));
  CHECK(events == "srw");
}

TEST_CASE("all who watch a descriptor are called, and those who stay go on being called") {
  Loop loop;
  SocketPair pair;
  std::string events;
  REQUIRE(::write(pair.ends[1], "x", 1) == 1);  // never taken: readable for ever
  auto first = loop.when_readable(pair.ends[0], [&] { events += '1'; });
  const auto second = loop.when_readable(pair.ends[0], [&] {
    events += '2';
    first.reset();
    if (events.size() >= 4) loop.stop();
  });
  REQUIRE(run_until_stopped(loop));
  CHECK(events == "1222");
}

TEST_CASE("a descriptor that was watched in vain leaves no trace when its number is used again") {
  Loop loop;
  int calls = 0;
  SocketPair kept;
  const int number = kept.ends[0];
  for (int i = 0; i < 3; ++i) {
    auto readable = loop.when_readable(number, [&] { ++calls; });
    auto writable = loop.when_writable(number, [&] { ++calls; });
    readable.reset();
    writable.reset();
    SocketPair other;
    REQUIRE(::dup2(other.ends[0], number) == number);
  }
  run_for(loop, 20ms);
  CHECK(calls == 0);
}
