// SPDX-License-Identifier: Apache-2.0
#include "config_schema/allocation/slurm_queue.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("jobs are read as squeue lists them") {
  const auto jobs = read_slurm_queue(
      "12|RUNNING|2026-11-29T10:00:00|node01|node[01-02]|None\n"
      "13|PENDING|N/A|n/a|(null)|ReqNodeNotAvail, UnavailableNodes:node08|x\n"
      "14|COMPLETING|2026-11-29T10:00:00\n\n");
  REQUIRE(jobs.size() == 2);
  const QueuedJob& running = jobs.at("12");
  CHECK(running.is_running());
  CHECK_FALSE(running.is_over());
  CHECK(running.batch_host == "node01");
  CHECK(running.nodes == "node[01-02]");
  CHECK(running.reason.empty());
  const QueuedJob& pending = jobs.at("13");
  CHECK(pending.is_pending());
  CHECK(pending.start.empty());
  CHECK(pending.batch_host.empty());
  CHECK(pending.nodes.empty());
  CHECK(pending.reason == "ReqNodeNotAvail, UnavailableNodes:node08|x");
}

TEST_CASE("it is said why a job waits, and whether its turn ever comes") {
  QueuedJob job{.state = "PENDING",
                .start = "2026-11-29T14:05:00",
                .batch_host = {},
                .nodes = {},
                .reason = "Priority"};
  CHECK(words_on_waiting(job) ==
        "it waits for its turn (Priority), about until 2026-11-29T14:05:00");
  job.reason = "Dependency";
  job.start.clear();
  CHECK(words_on_waiting(job) == "it waits: Dependency");
  CHECK(why_it_never_starts("Priority").empty());
  CHECK(why_it_never_starts("JobHeldUser").empty());
  CHECK(why_it_never_starts("PartitionTimeLimit") ==
        "it asks for more time than its partition gives");
}
