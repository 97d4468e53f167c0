// SPDX-License-Identifier: Apache-2.0
#include "config_schema/allocation/slurm_queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "config_schema/allocation/slurm_fields.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

// Slurm writes these for what is not there.
std::string without_placeholder(std::string_view text) {
  return text == "N/A" || text == "(null)" || text == "n/a" || text == "None" ? std::string()
                                                                              : std::string(text);
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 12> never{{
    {"PartitionTimeLimit", "it asks for more time than its partition gives"},
    {"PartitionConfig", "its partition does not have what it asks for"},
    {"BadConstraints", "no nodes have all that it asks for"},
    {"AccountNotAllowed", "its account may not use the partition"},
    {"InvalidAccount", "there is no such account"},
    {"InvalidQOS", "there is no such quality of service"},
    {"QOSNotAllowed", "its quality of service may not use the partition"},
    {"DependencyNeverSatisfied", "what it depends on cannot come about any more"},
    {"QOSMaxWallDurationPerJobLimit", "its quality of service gives less time"},
    {"QOSMaxNodePerJobLimit", "its quality of service gives a job fewer nodes"},
    {"AssocMaxWallDurationPerJobLimit", "its account gives less time"},
    {"AssocMaxNodePerJobLimit", "its account gives a job fewer nodes"},
}};

}  // namespace

std::map<std::string, QueuedJob> read_slurm_queue(std::string_view squeue) {
  std::map<std::string, QueuedJob> jobs;
  for (const std::string_view line : split(squeue, '\n')) {
    const auto fields = slurm_fields<6>(line);
    if (!fields || fields->front().empty()) continue;
    const auto& [id, state, start, batch_host, nodes, reason] = *fields;
    jobs.emplace(std::string(id), QueuedJob{.state = std::string(state),
                                            .start = without_placeholder(start),
                                            .batch_host = without_placeholder(batch_host),
                                            .nodes = without_placeholder(nodes),
                                            .reason = without_placeholder(reason)});
  }
  return jobs;
}

bool QueuedJob::is_over() const {
  constexpr std::array<std::string_view, 11> last{
      "BOOT_FAIL", "CANCELLED", "COMPLETED", "COMPLETING",    "DEADLINE", "FAILED",
      "NODE_FAIL", "PREEMPTED", "REVOKED",   "OUT_OF_MEMORY", "TIMEOUT"};
  return std::find(last.begin(), last.end(), state) != last.end();
}

std::string_view why_it_never_starts(std::string_view reason) {
  const auto* const found = std::find_if(never.begin(), never.end(),
                                         [&](const auto& each) { return each.first == reason; });
  return found == never.end() ? std::string_view() : found->second;
}

std::string words_on_waiting(const QueuedJob& job) {
  std::string words = "it waits";
  if (job.reason == "Priority")
    words += " for its turn (Priority)";
  else if (job.reason == "Resources")
    words += " for nodes that others use (Resources)";
  else if (!job.reason.empty())
    words += fmt::format(": {}", job.reason);
  else
    words += " to be looked at by Slurm";
  if (!job.start.empty()) words += fmt::format(", about until {}", job.start);
  return words;
}

}  // namespace train
