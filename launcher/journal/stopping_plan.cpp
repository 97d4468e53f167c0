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

}  // namespace

Result<Plan> stopping_plan(const TaskRecord& task, const std::vector<Host>& hosts,
                           const std::vector<JournalEntry>& journal) {
  Plan plan;
  plan.experiment = experiment_of(task, journal);
  Trial& trial = plan.trial;
  trial.world_size = task.world_size;
  std::map<std::string, int> places;
  for (const Host& host : hosts) {
    places.emplace(host.name, static_cast<int>(trial.hosts.size()));
    trial.hosts.emplace_back().host = host;
  }
  for (const RankRecord& record : task.ranks) {
    const auto place = places.find(record.host);
    if (place == places.end())
      return fail(ErrorClass::no_input,
                  fmt::format("its rank {} is on '{}', which is none of its hosts", record.rank,
                              record.host));
    PlannedHost& host = trial.hosts[static_cast<std::size_t>(place->second)];
    if (host.rank_count++ == 0) host.first_rank = record.rank;
    PlannedRank& rank = trial.ranks.emplace_back();
    rank.rank = record.rank;
    rank.host = place->second;
  }
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
