// SPDX-License-Identifier: Apache-2.0
#include "backends/observe/usage_meter.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>

#include "backends/observe/usage_watch.hpp"
#include "backends/process/process_tree.hpp"
#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"
#include "tests/support/loop_until.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t mib = 1u << 20;
constexpr std::uint64_t touched = 64 * mib;
// As the kernel counts, in ticks, and with what a process takes to begin.
constexpr milliseconds slack = 60ms;

nanoseconds own_cpu() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

void burn(nanoseconds time) {
  const nanoseconds end = own_cpu() + time;
  while (own_cpu() < end) {
  }
}

void touch_memory() {
  auto* memory = static_cast<char*>(::mmap(nullptr, touched, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
  if (memory == MAP_FAILED) ::_exit(1);
}

/// A process of a session of its own that does something, says so, and then waits to be told to go
/// on. What it has started dies with the test.
class Rank {
 public:
  explicit Rank(const std::function<void(const Rank& self)>& what)
      : cpu_(static_cast<std::atomic<std::int64_t>*>(::mmap(
            nullptr, sizeof *cpu_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    REQUIRE(cpu_ != MAP_FAILED);
    REQUIRE(::pipe(said_) == 0);
    REQUIRE(::pipe(told_) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ > 0) return;
    ::setsid();
    what(*this);
    say();
    listen();
    ::_exit(0);
  }
  ~Rank() {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    (void)wait_for_child(pid_);
    for (const int end : {said_[0], said_[1], told_[0], told_[1]}) ::close(end);
    ::munmap(cpu_, sizeof *cpu_);
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  int pid() const { return pid_; }
  void await() const {
    char byte = 0;
    REQUIRE(::read(said_[0], &byte, 1) == 1);
  }
  void go_on() const { REQUIRE(::write(told_[1], "x", 1) == 1); }
  /// What it had used by itself when it said something last.
  nanoseconds cpu() const { return nanoseconds(*cpu_); }
  // In the process.
  void say() const {
    *cpu_ = own_cpu().count();
    if (::write(said_[1], "x", 1) != 1) ::_exit(1);
  }
  void listen() const {
    char byte = 0;
    if (::read(told_[0], &byte, 1) != 1) ::_exit(1);
  }

 private:
  std::atomic<std::int64_t>* cpu_;  ///< shared with the process
  int pid_ = -1;
  int said_[2] = {-1, -1};
  int told_[2] = {-1, -1};
};

RankUsage only_one(const std::vector<UsageOfRank>& used) {
  REQUIRE(used.size() == 1);
  return used.front().usage;
}
int only_one(const std::vector<int>& pids) {
  REQUIRE(pids.size() == 1);
  return pids.front();
}

}  // namespace

TEST_CASE("a rank that burns 0.3 s and touches 64 MiB has used so much") {
  const std::uint64_t before = status_of(::getpid())->memory;
  const Rank rank([](const Rank&) {
    burn(300ms);
    touch_memory();
  });
  rank.await();
  UsageMeter meter;
  const auto used = meter.look({{rank.pid(), 3}});
  REQUIRE(used.size() == 1);
  CHECK(used.front().rank == 3);
  const RankUsage usage = used.front().usage;
  CHECK(usage.cpu >= 300ms - slack);
  CHECK(usage.cpu >= rank.cpu() - slack);
  CHECK(usage.cpu <= rank.cpu() + slack);
  REQUIRE(usage.memory);
  CHECK(*usage.memory >= touched);
  CHECK(*usage.memory < touched + before + 16 * mib);
  CHECK(usage.memory_peak == *usage.memory);
  CHECK(meter.look({{rank.pid(), 3}}).front().usage.cpu >= usage.cpu);
  CHECK(meter.look({{1'000'000'000, 3}}).empty());
}

TEST_CASE("what is measured costs nothing for processes that are none of the ranks'") {
  if (!are_children_listed()) SKIP_CASE("the kernel does not list children");
  REQUIRE(all_processes().size() > 2);
  // Below a process that has no other children: this one has what other tests have left.
  const pid_t parent = ::fork();
  if (parent == 0) {
    std::size_t most = 0;
    {
      const Rank rank([](const Rank&) {
        if (::fork() == 0)
          while (true) ::pause();
      });
      rank.await();
      UsageMeter meter;
      for (int look = 0; look < 2; ++look) {
        if (meter.look({{rank.pid(), 0}}).size() != 1) ::_exit(99);
        most = std::max(most, meter.processes_read());
      }
    }
    ::_exit(static_cast<int>(std::min<std::size_t>(most, 98)));
  }
  CHECK(wait_for_child(parent).code == 2);
}

TEST_CASE("what a rank has started counts with it, also when that has left it, and has ended") {
  REQUIRE(become_subreaper());
  const Rank rank([&](const Rank& self) {
    if (::fork() == 0) {
      if (::fork() == 0) {
        ::setsid();
        burn(200ms);
        touch_memory();
        self.say();
      }
      while (true) ::pause();
    }
    const pid_t waited_for = ::fork();
    if (waited_for == 0) {
      burn(100ms);
      ::_exit(0);
    }
    (void)wait_for_child(waited_for);
    self.say();
    self.listen();
    burn(100ms);
  });
  rank.await();
  rank.await();
  UsageMeter meter;
  const RankUsage first = only_one(meter.look({{rank.pid(), 0}}));
  CHECK(first.cpu >= 300ms - slack);
  CHECK(*first.memory >= touched);

  const int parent = only_one(children_of(rank.pid()));
  const int leaver = only_one(children_of(parent));
  ::kill(parent, SIGKILL);
  REQUIRE(eventually([&] { return parent_of(leaver) == ::getpid(); }));
  const RankUsage second = only_one(meter.look({{rank.pid(), 0}}));
  CHECK(second.cpu >= first.cpu);
  CHECK(*second.memory >= touched);

  ::kill(leaver, SIGKILL);
  (void)wait_for_child(leaver);
  rank.go_on();
  rank.await();
  const RankUsage third = only_one(meter.look({{rank.pid(), 0}}));
  CHECK(third.cpu >= second.cpu + 100ms - slack);
  CHECK(*third.memory <= *second.memory - touched);  // its own may be more than that
  CHECK(third.memory_peak >= touched);
}

TEST_CASE("a cgroup of a rank alone has the last word on its CPU time") {
  const TemporaryDirectory cgroup;
  (void)cgroup.write("cpu.stat", "usage_usec 7000123\nuser_usec 7000000\n");
  const Rank rank([](const Rank&) {});
  rank.await();
  UsageMeter meter;
  meter.count_cgroup(cgroup.path());
  CHECK(only_one(meter.look({{rank.pid(), 0}})).cpu == 7'000ms);
  (void)cgroup.write("cpu.stat", "");
  CHECK(only_one(meter.look({{rank.pid(), 0}})).cpu == 7'000ms);
}

TEST_CASE("a rank is measured while it runs, and at its end what says more counts") {
  Loop loop;
  std::vector<UsageOfRank> measured;
  UsageWatch watch(loop, [&](std::vector<UsageOfRank> ranks) { measured = std::move(ranks); });
  {
    const Rank rank([](const Rank&) { touch_memory(); });
    rank.await();
    watch.watch(3, rank.pid());
    CHECK(loop_until(loop, [&] { return !measured.empty(); }));
    CHECK(measured.size() == 1);
  }
  const auto used = watch.end(3, {.code = 0, .cpu = 5s, .largest_memory = 1});
  REQUIRE(used);
  CHECK(used->cpu == 5s);
  CHECK(used->memory_peak >= touched);
  CHECK_FALSE(used->memory);
  CHECK(watch.end(4, {.code = 0, .cpu = 5ms, .largest_memory = 7}) == RankUsage{5ms, {}, 7});
  CHECK_FALSE(watch.end(4, {.signal = SIGKILL}));
}
