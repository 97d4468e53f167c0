// SPDX-License-Identifier: Apache-2.0
#include "config_schema/allocation/slurm_end.hpp"

#include "config_schema/text/text.hpp"

namespace train {

namespace {

// The value of `KEY=VALUE` in a line of such words; empty: it is not there.
std::string_view value_of(std::string_view line, std::string_view key) {
  for (std::string_view word : split(line, ' ')) {
    word = trim(word);
    if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=')
      return word.substr(key.size() + 1);
  }
  return {};
}

}  // namespace

std::optional<int> slurm_code_of(std::string_view job) {
  const std::string_view state = value_of(job, "JobState");
  if (state != "COMPLETED" && state != "FAILED" && state != "COMPLETING") return std::nullopt;
  const std::string_view code = value_of(job, "ExitCode");  // CODE:SIGNAL
  const std::size_t colon = code.find(':');
  if (colon == code.npos || code.substr(colon) != ":0") return std::nullopt;
  return whole_number(code.substr(0, colon), 0, 255);
}

std::optional<int> slurm_restarts_of(std::string_view job) {
  constexpr int most_restarts = 1'000'000;
  return whole_number(value_of(job, "Restarts"), 0, most_restarts);
}

bool may_be_requeued(std::string_view job) { return value_of(job, "Requeue") == "1"; }

std::string slurm_end_of(std::string_view job, int restarts) {
  const std::string_view state = value_of(job, "JobState");
  const std::string_view reason = value_of(job, "Reason");
  const std::string_view preempted = value_of(job, "PreemptTime");
  if (state == "PREEMPTED" || (!preempted.empty() && preempted != "None"))
    return "a job of higher priority takes its place";
  if (slurm_restarts_of(job).value_or(0) > restarts) return "it goes back into the queue";
  if (state == "TIMEOUT" || reason == "TimeLimit") return "its limit of time is over";
  if (state == "NODE_FAIL" || reason == "NodeDown") return "a node of it has failed";
  if (state == "OUT_OF_MEMORY") return "it used more memory than it asked for";
  if (state == "CANCELLED" || (state == "COMPLETING" && reason == "None"))
    return "it was cancelled";
  return {};
}

}  // namespace train
