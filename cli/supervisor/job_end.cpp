// SPDX-License-Identifier: Apache-2.0
#include "cli/supervisor/job_end.hpp"

#include <fmt/format.h>

#include <climits>

#include "backends/command/slurm_query.hpp"
#include "cli/surroundings/environment.hpp"
#include "config_schema/allocation/slurm_allocation.hpp"
#include "config_schema/allocation/slurm_end.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

// Slurm kills what is left of a job 30 s after its signal (KillWait).
constexpr milliseconds answer_limit{2'000};

// The id of the job of Slurm; empty: there is none.
std::string id_of_job(const std::vector<Host>& hosts) {
  if (std::string own = variable("SLURM_JOB_ID"); whole_number(own, 1, INT_MAX)) return own;
  for (const Host& host : hosts)
    if (std::string id = slurm_job_of(host); !id.empty()) return id;
  return {};
}

int earlier_restarts() {
  return whole_number(variable("SLURM_RESTART_COUNT"), 0, INT_MAX).value_or(0);
}

}  // namespace

std::string words_on_end_of_job(const std::vector<Host>& hosts, bool was_warned) {
  const std::string id = id_of_job(hosts);
  if (id.empty()) return {};
  if (was_warned) return fmt::format("Slurm warns that the time of job {} is nearly over", id);
  const auto job = ask_slurm_for_job(id, answer_limit);
  if (!job) return {};
  const std::string why = slurm_end_of(*job, earlier_restarts());
  return why.empty() ? why : fmt::format("Slurm ends job {}: {}", id, why);
}

bool goes_back_into_queue(bool was_warned, int most) {
  constexpr milliseconds patience{8'000};  // many jobs may be preempted at once
  const auto job = ask_slurm_for_job(variable("SLURM_JOB_ID"), patience);
  if (!job) return false;
  if (was_warned) return may_be_requeued(*job) && earlier_restarts() < most;
  return slurm_restarts_of(*job).value_or(0) > earlier_restarts();
}

Result<void> go_back_into_queue() {
  constexpr milliseconds limit{10'000};
  const auto told = ask_slurm({"scontrol", "requeue", variable("SLURM_JOB_ID")}, limit);
  if (!told) return tl::make_unexpected(told.error());
  return {};
}

}  // namespace train
