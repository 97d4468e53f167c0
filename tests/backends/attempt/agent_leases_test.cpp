// SPDX-License-Identifier: Apache-2.0
#include "backends/attempt/agent_leases.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "backends/visits/host_inspection.hpp"
#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;

namespace {

using Kind = LeaseKey::Kind;

LeaseHolder process_on(std::vector<int> gpus, const std::string& task = "") {
  LeaseHolder user{.task = {}, .name = task};
  user.pid = 4711;
  user.uid = ::getuid();
  user.command = "python3 other.py";
  for (const int gpu : gpus) user.leases.push_back({{Kind::cuda, gpu, {}}, lease_units});
  return user;
}

// A host with GPUs, some of which processes use.
struct Bench {
  TemporaryDirectory folder;
  std::vector<LeaseHolder> users = {};
  AgentMeans means = [this] {
    AgentMeans made;
    made.lease_folder = folder.path();
    made.gpu_users = [this] { return users; };
    return made;
  }();

  void make_files_older_by(int seconds) const {
    for (const auto& file : std::filesystem::directory_iterator(folder.path()))
      std::filesystem::last_write_time(file,
                                       file.last_write_time() - std::chrono::seconds(seconds));
  }

  message::Prepare wants(const std::vector<int>& gpus, const std::string& task = "abcd2345") const {
    message::Prepare prepare;
    prepare.task_id = task;
    for (const int gpu : gpus)
      prepare.leases.wants.push_back({{Kind::cuda, gpu, {}}, lease_units, lease_units});
    return prepare;
  }
};

}  // namespace

TEST_CASE("where nothing can be held there is nothing to keep or to let go") {
  AgentMeans means;
  means.lease_folder = "/nonexistent/leases";
  AgentLeases leases("abcd2345-0", means);
  message::Prepare prepare;
  prepare.task_id = "abcd2345";
  prepare.leases.wants = {{{LeaseKey::Kind::place, 0, {}}, lease_units, lease_units}};
  CHECK_FALSE(leases.take(prepare, {}));
  leases.touch();
  leases.confirm(0);
  leases.drop(0);
  leases.drop_all();
}

TEST_CASE("a GPU that somebody else computes on is not taken, and nothing beside it is") {
  Bench bench;
  bench.users = {process_on({1, 2})};
  AgentLeases leases("abcd2345-0", bench.means);
  const auto taken = leases.take(bench.wants({0, 1}), {});
  REQUIRE(taken);
  REQUIRE(taken->size() == 1);
  CHECK(taken->front().pid == 4711);
  CHECK(taken->front().command == "python3 other.py");
  CHECK_FALSE(taken->front().user.empty());
  CHECK(taken->front().leases ==
        std::vector<LeaseHolder::Held>{{{Kind::cuda, 1, {}}, lease_units}});
  AgentLeases others("wxyz2345-0", bench.means);
  CHECK(others.take(bench.wants({0}, "wxyz2345"), {})->empty());

  bench.users.clear();
  CHECK(leases.retry_take(0)->size() == 1);  // wxyz2345
  others.drop(0);
  CHECK(leases.retry_take(0)->empty());
}

TEST_CASE("a GPU that somebody else computes on is taken by who allows that") {
  Bench bench;
  bench.users = {process_on({0})};
  AgentLeases leases("abcd2345-0", bench.means);
  message::Prepare prepare = bench.wants({0});
  CHECK(leases.take(prepare, {})->size() == 1);
  prepare.leases.allow_busy = true;
  CHECK(leases.take(prepare, {})->empty());
}

TEST_CASE("what a task holds it keeps, whoever comes beside it") {
  Bench bench;
  AgentLeases leases("abcd2345-0", bench.means);
  message::Prepare prepare = bench.wants({0});
  CHECK(leases.take(prepare, {})->empty());
  bench.users = {process_on({0})};
  prepare.of.attempt = 1;
  CHECK(leases.take(prepare, {})->empty());
  leases.drop(0);
  CHECK(leases.take(prepare, {})->size() == 1);
}

TEST_CASE("processes of tasks that hold slots of the host are nobody else") {
  Bench bench;
  AgentLeases holder("wxyz2345-0", bench.means);
  CHECK(holder.take(bench.wants({3}, "wxyz2345"), {})->empty());
  // Its programs have opened a GPU more than they use; the others are a task's that holds nothing.
  bench.users = {process_on({0, 3}, "wxyz2345"), process_on({1}, "abcd2345"),
                 process_on({2}, "gone2345")};
  AgentLeases leases("abcd2345-0", bench.means);
  CHECK(leases.take(bench.wants({0, 1}), {})->empty());
  leases.drop(0);
  const auto refused = leases.take(bench.wants({0, 1, 2}), {});
  REQUIRE(refused->size() == 1);
  CHECK(refused->front().name == "gone2345");

  const HostReport report = inspect_host(bench.means);
  REQUIRE(report.holders.size() == 3);
  CHECK(report.holders[0].task == "wxyz2345");
  CHECK(report.holders[1].name == "abcd2345");
  CHECK(report.holders[2].name == "gone2345");
}

TEST_CASE("what a trial has let go for good another one holds, and takes again") {
  Bench bench;
  AgentLeases leases("abcd2345-0", bench.means);
  message::Prepare prepare = bench.wants({0});
  REQUIRE(leases.take(prepare, {})->empty());
  leases.end(0);
  CHECK(inspect_host(bench.means).holders.empty());
  CHECK(leases.retry_take(0)->empty());  // it wants nothing any more
  CHECK(inspect_host(bench.means).holders.empty());
  prepare.of = {1, 0};
  REQUIRE(leases.take(prepare, {})->empty());
  CHECK(inspect_host(bench.means).holders.size() == 1);
}

TEST_CASE("any number of trials after each other hold what their guard holds as well") {
  Bench bench;
  int ends[2] = {-1, -1};
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  const Descriptor end(ends[0]);
  const Descriptor guards(ends[1]);
  bench.means.guard = {end.get(), guards.get()};
  message::Prepare prepare = bench.wants({0});
  prepare.of = {1'000, 0};
  {
    AgentLeases leases("abcd2345-0", bench.means);
    REQUIRE(leases.take(prepare, {})->empty());
    for (int trial = 0; trial < 400; ++trial) {
      prepare = bench.wants({1});
      prepare.of = {trial, 0};
      const auto taken = leases.take(prepare, {});
      CAPTURE(trial);
      REQUIRE(taken);
      REQUIRE(taken->empty());
      leases.end(trial);
    }
  }
  AgentLeases others("wxyz2345-0", bench.means);
  CHECK(others.take(bench.wants({0}, "wxyz2345"), {})->size() == 1);
  CHECK(others.take(bench.wants({1}, "wxyz2345"), {})->empty());
}

TEST_CASE("of the GPUs that a trial holds as a whole it is known which the task has used before") {
  Bench bench;
  bench.means.name_gpus = [] { return GpuNames{{"GPU-a", "GPU-b", "GPU-c"}, {}, {}}; };
  AgentLeases leases("abcd2345-0", bench.means);
  message::Prepare prepare = bench.wants({0, 2});
  prepare.leases.wants.push_back({{Kind::cuda, 1, {}}, lease_units / 2, lease_units});
  prepare.leases.wants.push_back({{Kind::place, 3, {}}, lease_units, lease_units});
  REQUIRE(leases.take(prepare, {})->empty());
  CHECK(leases.whole_gpus_of(0, true) == std::vector<std::string>{"GPU-a", "GPU-c"});
  CHECK(leases.whole_gpus_of(0, false).empty());
  CHECK(leases.whole_gpus_of(1, true).empty());

  leases.confirm(0);
  CHECK(leases.whole_gpus_of(0, false) == std::vector<std::string>{"GPU-a", "GPU-c"});
  leases.end(0);
  message::Prepare next = bench.wants({1, 2});
  next.of.trial = 1;
  REQUIRE(leases.take(next, {})->empty());
  CHECK(leases.whole_gpus_of(1, true) == std::vector<std::string>{"GPU-b", "GPU-c"});
  CHECK(leases.whole_gpus_of(1, false) == std::vector<std::string>{"GPU-b", "GPU-c"});
  CHECK(leases.whole_gpus_of(0, true).empty());
}

TEST_CASE("a GPU on which another task ran a moment ago counts as used, and one never taken not") {
  Bench bench;
  bench.means.name_gpus = [] { return GpuNames{{"GPU-a", "GPU-b", "GPU-c"}, {}, {}}; };
  AgentLeases before("abcd2345-0", bench.means);
  REQUIRE(before.take(bench.wants({0, 1}), {})->empty());
  before.confirm(0);
  before.end(0);
  AgentLeases next("wxyz2345-0", bench.means);
  REQUIRE(next.take(bench.wants({0, 2}, "wxyz2345"), {})->empty());
  CHECK(next.whole_gpus_of(0, false) == std::vector<std::string>{"GPU-a"});

  // Leases whose ranks never started do not count.
  next.end(0);
  AgentLeases third("third234-0", bench.means);
  REQUIRE(third.take(bench.wants({2}, "third234"), {})->empty());
  CHECK(third.whole_gpus_of(0, false).empty());
}

TEST_CASE("a GPU that was last used long ago does not count as used") {
  Bench bench;
  bench.means.name_gpus = [] { return GpuNames{{"GPU-a"}, {}, {}}; };
  AgentLeases before("abcd2345-0", bench.means);
  REQUIRE(before.take(bench.wants({0}), {})->empty());
  before.confirm(0);
  before.end(0);
  bench.make_files_older_by(61);
  AgentLeases next("wxyz2345-0", bench.means);
  REQUIRE(next.take(bench.wants({0}, "wxyz2345"), {})->empty());
  CHECK(next.whole_gpus_of(0, false).empty());
}
