// SPDX-License-Identifier: Apache-2.0
#include "backends/process/agent_record.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "backends/event_loop/loop.hpp"
#include "backends/posix/proc.hpp"
#include "tests/backends/process/testing.hpp"
#include "tests/catch.hpp"

using namespace train;
using namespace train::testing;

TEST_CASE("a record is read as it was written") {
  AgentRecord record = record_of_this_process();
  record.cgroup = "/sys/fs/cgroup/train-abc-0-7";
  record.ranks = {
      {12, 345, {678, 679}, 0}, {13, 346, {}, 70'000}, {14, 347, {680}}, {15, 348, {681}, 3, 12}};
  CHECK(record.agent == ::getpid());
  CHECK(record.agent_start > 0);
  CHECK_FALSE(record.boot_id.empty());
  CHECK(record.pid_namespace.starts_with("pid:["));
  CHECK(parse_agent_record(to_text(record)) == record);
}

TEST_CASE("what makes no sense in a record, or was cut off, is left out") {
  const AgentRecord record = parse_agent_record(
      "boot b\nrank\nrank x 1\nrank 7\nrank -7 1\nrank 0 4\nrank 99999999999999999999 1\n\n"
      "agent what\nrank 8 9 garbage #7\nfurther words\nrank 8 9 #x\nrank 8 9 #-2\nrank 10 11");
  CHECK(record.boot_id == "b");
  CHECK(record.agent == 0);
  REQUIRE(record.ranks.size() == 3);
  for (const AgentRecord::Rank& rank : record.ranks) CHECK(rank == AgentRecord::Rank{8, 9, {}});
}

TEST_CASE("an agent writes its ranks into its lock file") {
  const TemporaryDirectory base;
  const auto directory = HostDirectory::open(base.path());
  REQUIRE(directory);
  const std::string path = base.write("t-0.lock", "", 0600);
  AgentRecorder recorder;
  REQUIRE(recorder.begin(*directory, "t-0", RankCgroups::none));
  CHECK(!recorder.make_cgroup_of({}));
  auto pipe = make_pipe();
  REQUIRE(pipe);
  recorder.add({::getpid(), -1, pipe->read_end.get(), -1, boot_time()}, 3, 7);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const AgentRecord record = read_agent_record(file.get());
  AgentRecord expected = record_of_this_process();
  expected.ranks = record.ranks;
  CHECK(record == expected);
  REQUIRE(record.ranks.size() == 1);
  CHECK(record.ranks.front().pid == ::getpid());
  CHECK(record.ranks.front().started_by >= record.agent_start);
  CHECK(record.ranks.front().started_by <= clock_ticks(boot_time()));
  CHECK(record.ranks.front().pipes.size() == 1);
  CHECK(record.ranks.front().number == 7);
  CHECK(record.ranks.front().trial == 3);
}

TEST_CASE("an agent without a lock file records nothing, one behind a link refuses") {
  const TemporaryDirectory base;
  const auto directory = HostDirectory::open(base.path());
  REQUIRE(directory);
  AgentRecorder recorder;
  CHECK(recorder.begin(*directory, "t-0", RankCgroups::where_possible));
  CHECK(!recorder.make_cgroup_of({}));
  const std::string target = base.write("target", "", 0600);
  REQUIRE(::symlink(target.c_str(), (base.path() + "/t-1.lock").c_str()) == 0);
  CHECK_FALSE(recorder.begin(*directory, "t-1", RankCgroups::none));
}
