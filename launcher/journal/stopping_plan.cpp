// SPDX-License-Identifier: Apache-2.0
#include "launcher/journal/stopping_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace train {

namespace {

// The restart limit is only implied by the journal: this many attempts were followed by another
// one.
int restarts_in(const std::vector<JournalEntry>& journal) {
  return static_cast<int>(
      std::count_if(journal.begin(), journal.end(), [](const JournalEntry& entry) {
        return std::holds_alternative<journal_record::AttemptOver>(entry.record);
      }));
}

ExperimentConfig experiment_of(const TaskRecord& task, const std::vector<JournalEntry>& journal) {
  ExperimentConfig experiment;
  experiment.name = task.name;
  experiment.workers = task.world_size;
  experiment.max_restarts = restarts_in(journal);
  experiment.log_limit = task.log_limit;
  experiment.stop_notice = milliseconds(task.stop_notice_ms);
  experiment.stop_grace = milliseconds(task.stop_grace_ms);
  const milliseconds outlives(task.outlives_ms);
  experiment.launcher_wait = outlives >= for_ever ? for_ever : brief_launcher_wait;
  // A window longer than the agents' own only means a longer wait for proof that ranks have ended.
  if (outlives < for_ever) experiment.reconnect_window = outlives;
  return experiment;
}

// The record may not have the move of the last attempt yet.
std::vector<std::string> hosts_of_ranks(const TaskRecord& task,
                                        const std::vector<JournalEntry>& journal) {
  std::vector<std::string> hosts;
  for (const RankRecord& rank : task.ranks)
    if (!rank.host.empty()) hosts.push_back(rank.host);
  for (const JournalEntry& entry : journal) {
    const auto* begun = std::get_if<journal_record::AttemptBegun>(&entry.record);
    if (begun == nullptr || !begun->place) continue;
    hosts.clear();
    for (const HostPlace& place : begun->place->hosts)
      hosts.insert(hosts.end(), place.slots.size(), place.host);
  }
  return hosts;
}

}  // namespace

Result<Plan> stopping_plan(const TaskRecord& task, const std::vector<Host>& hosts,
                           const std::vector<JournalEntry>& journal) {
  Plan plan;
  plan.experiment = experiment_of(task, journal);
  Trial& trial = plan.trial;
  std::map<std::string, int> nodes;
  for (const std::string& name : hosts_of_ranks(task, journal)) {
    const auto number = static_cast<int>(trial.ranks.size());
    const auto known = std::find_if(hosts.begin(), hosts.end(),
                                    [&](const Host& host) { return host.name == name; });
    if (known == hosts.end())
      return fail(ErrorClass::no_input,
                  fmt::format("its rank {} is on '{}', which is none of its hosts", number, name));
    const auto [node, is_new] = nodes.emplace(name, static_cast<int>(trial.hosts.size()));
    if (is_new) {
      trial.hosts.emplace_back().host = *known;
      trial.hosts.back().first_rank = number;
    }
    ++trial.hosts[static_cast<std::size_t>(node->second)].rank_count;
    PlannedRank& rank = trial.ranks.emplace_back();
    rank.rank = number;
    rank.host = node->second;
  }
  trial.world_size = static_cast<int>(trial.ranks.size());
  return plan;
}

std::vector<JournalEntry> stopping_journal(const TaskRecord& task, std::uint64_t epoch) {
  AttemptEnd failed;
  failed.any_started = true;
  failed.exit_code = 1;
  std::vector<JournalEntry> journal;
  const auto write = [&](JournalRecord record) {
    journal.push_back({std::move(record), Instant(0), {}});
  };
  write(journal_record::Supervised{epoch});
  for (int attempt = 0; attempt <= task.restarts; ++attempt) {
    if (attempt > 0) write(journal_record::AttemptOver{failed});
    write(journal_record::AttemptBegun{attempt});
  }
  return journal;
}

}  // namespace train
