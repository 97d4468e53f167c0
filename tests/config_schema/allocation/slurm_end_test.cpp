// SPDX-License-Identifier: Apache-2.0
#include "config_schema/allocation/slurm_end.hpp"

#include <fmt/format.h>

#include "tests/catch.hpp"

using namespace train;

namespace {

std::string job(std::string_view state, std::string_view reason, int restarts = 0,
                std::string_view preempted = "") {
  return fmt::format(
      "JobId=12 JobName=job.sh UserId=root(0) JobState={} Reason={} Dependency=(null) Requeue=1 "
      "Restarts={} BatchFlag=1 ExitCode=0:0 {} SuspendTime=None Partition=p\n",
      state, reason, restarts, preempted);
}

}  // namespace

TEST_CASE("Slurm's reasons for ending a job are told apart") {
  const std::string limit = "its limit of time is over";
  CHECK(slurm_end_of(job("COMPLETING", "TimeLimit"), 0) == limit);
  CHECK(slurm_end_of(job("TIMEOUT", "TimeLimit"), 0) == limit);
  CHECK(slurm_end_of(job("COMPLETING", "None"), 0) == "it was cancelled");
  CHECK(slurm_end_of(job("CANCELLED", "None"), 0) == "it was cancelled");
  CHECK(slurm_end_of(job("COMPLETING", "NodeDown"), 0) == "a node of it has failed");
  CHECK(slurm_end_of(job("OUT_OF_MEMORY", "OutOfMemory"), 0).find("memory") != std::string::npos);
  // One such job ended as TIMEOUT.
  CHECK(slurm_end_of(job("TIMEOUT", "TimeLimit", 0, "PreemptTime=2026-01-01T10:00:00"), 0) ==
        "a job of higher priority takes its place");
  CHECK(slurm_end_of(job("COMPLETING", "None", 0, "PreemptTime=None"), 0) == "it was cancelled");
}

TEST_CASE("a job that goes back into the queue counts its restarts") {
  CHECK(slurm_end_of(job("COMPLETING", "None", 1), 0) == "it goes back into the queue");
  CHECK(slurm_end_of(job("PENDING", "BeginTime", 2), 1) == "it goes back into the queue");
  CHECK(slurm_end_of(job("COMPLETING", "None", 1), 1) == "it was cancelled");
}

TEST_CASE("Slurm says how often a job was in the queue again, and whether it may be") {
  CHECK(slurm_restarts_of(job("RUNNING", "None", 3)) == 3);
  CHECK_FALSE(slurm_restarts_of("slurm_load_jobs error: Invalid job id specified"));
  CHECK(may_be_requeued(job("RUNNING", "None")));
  CHECK_FALSE(may_be_requeued("JobId=12 Requeue=0 Restarts=0"));
}

TEST_CASE("a job that runs is not ended") {
  CHECK(slurm_end_of(job("RUNNING", "None", 1), 1).empty());
  CHECK(slurm_end_of("slurm_load_jobs error: Invalid job id specified", 0).empty());
  CHECK(slurm_end_of("", 0).empty());
}
