// SPDX-License-Identifier: Apache-2.0
#include "backends/fitness/measure_allreduce.hpp"

#include <optional>
#include <thread>

#include "backends/posix/files.hpp"
#include "launcher/fitness/allreduce_groups.hpp"
#include "tests/catch.hpp"
#include "tests/contains.hpp"
#include "tests/support/waiting.hpp"
#include "tests/temporary_directory.hpp"

using namespace train;
using namespace train::testing;
using namespace std::chrono_literals;

namespace {

constexpr AllReducePatience ample{600s, 600s, 600s};

const std::string& program_bytes() {
  static const std::string bytes = read_small_file(TRAIN_DEVICES_PROGRAM, std::size_t{1} << 20);
  REQUIRE_FALSE(bytes.empty());
  return bytes;
}

using Measured = Result<std::vector<AllReduceGroup>>;

/// Ranks of a task, two on each host, each in a thread.
class Ranks {
 public:
  explicit Ranks(int hosts) {
    const int port = port_of(listen_on_all(0));  // nobody listens there then
    for (int rank = 0; rank < 2 * hosts; ++rank) {
      AllReduceMember member;
      member.meeting = {rank, 2 * hosts, "127.0.0.1", port, "abcd2345"};
      member.host = rank / 2;
      member.device = rank % 2;
      member.library = FAKE_NCCL_LIBRARY;
      member.largest = 4'096;
      member.environment = {std::string("LD_LIBRARY_PATH=") + FAKE_CUDA_FOLDER,
                            "FAKE_NCCL_FOLDER=" + folder_.path()};
      members.push_back(std::move(member));
    }
  }
  // What rank 0 gets.
  Measured measure(const AllReducePatience& patience = ample) const {
    std::vector<std::optional<Measured>> results(members.size());
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < members.size(); ++i)
        threads.emplace_back(
            [&, i] { results[i] = measure_allreduce({program_bytes()}, members[i], patience); });
    }
    for (std::size_t i = 1; i < results.size(); ++i) CHECK(results[i]->has_value());
    return std::move(*results.front());
  }

  std::vector<AllReduceMember> members;

 private:
  TemporaryDirectory folder_;
};

std::string words(const Measured& measured) {
  REQUIRE_FALSE(measured);
  CHECK(measured.error().error_class == ErrorClass::host);
  return measured.error().diagnostics.front().message;
}

std::vector<std::vector<int>> members_of(const std::vector<AllReduceGroup>& groups) {
  std::vector<std::vector<int>> members;
  for (const AllReduceGroup& group : groups) members.push_back(group.members);
  return members;
}

}  // namespace

TEST_CASE("ranks measure inside hosts, and over all of two hosts") {
  const auto groups = Ranks(2).measure();
  INFO((groups ? "" : render(groups.error())));
  REQUIRE(groups);
  using Members = std::vector<std::vector<int>>;
  CHECK(members_of(*groups) == Members{{0, 1}, {2, 3}, {0, 1, 2, 3}});
  for (const AllReduceGroup& group : *groups) {
    CHECK(group.troubles.empty());
    CHECK(group.report.ranks.size() == group.members.size());
    for (const AllReduceRank& rank : group.report.ranks) CHECK(rank.wrong == 0);
  }
}

TEST_CASE("a rank that cannot measure is told, and the host is left out") {
  Ranks ranks(2);
  ranks.members[3].library = "/nowhere/libnccl.so.2";
  const auto groups = ranks.measure();
  REQUIRE(groups);
  using Members = std::vector<std::vector<int>>;
  CHECK(members_of(*groups) == Members{{0, 1}, {2, 3}});
  CHECK(groups->front().troubles.empty());
  REQUIRE((*groups)[1].troubles.size() == 1);
  CHECK(contains((*groups)[1].troubles.at(1), "/nowhere/libnccl.so.2"));
}

TEST_CASE("rank 0 that cannot measure has the others measure all the same") {
  Ranks ranks(2);
  ranks.members[0].library = "/nowhere/libnccl.so.2";
  const auto groups = ranks.measure();
  REQUIRE(groups);
  CHECK((*groups)[0].troubles.contains(0));
  CHECK((*groups)[1].troubles.empty());
}

TEST_CASE("a rank that fails while others wait for it is told, and so are these") {
  Ranks ranks(2);
  ranks.members[2].environment.emplace_back("FAKE_NCCL_FAIL=ncclCommInitRank=2");
  // The other one of its host waits for it until the limit, since the stand-in does not hear of
  // lost ranks; the limit is drawn out until the failure comes before it.
  AllReducePatience patience = ample;
  std::string told;
  for (patience.size = 1s; told.empty() && patience.size < 600s; patience.size *= 2) {
    const auto groups = ranks.measure(patience);
    REQUIRE(groups);
    REQUIRE((*groups)[1].troubles.contains(0));
    const std::string& words = (*groups)[1].troubles.at(0);
    if (!contains(words, "got no further within")) told = words;
  }
  CHECK(contains(told, "cannot join the other ranks"));
}

TEST_CASE("a rank that goes or is not understood is named") {
  Ranks ranks(1);
  for (const std::string line : {"", "nothing that a rank says\n", "id abc\n"}) {
    std::optional<Measured> leader;
    {
      std::jthread first(
          [&] { leader = measure_allreduce({program_bytes()}, ranks.members[0], ample); });
      const Deadline end = std::chrono::steady_clock::now() + 600s;
      const int port = ranks.members[0].meeting.port;
      std::optional<TimedSocket> socket;
      REQUIRE(eventually([&] {
        auto tried = TimedSocket::connect("127.0.0.1", port, end);
        if (tried) socket.emplace(std::move(*tried));
        return socket.has_value();
      }));
      REQUIRE(socket->send("hello abcd2345 1 0\n", end));
      const auto start = socket->line(end);
      REQUIRE(start);
      CHECK(*start == "start 1 2");
      if (!line.empty()) REQUIRE(socket->send(line, end));
    }
    CHECK(words(*leader).starts_with(line.empty() ? "rank 1: "
                                                  : "rank 1 says what is not understood"));
  }
}
