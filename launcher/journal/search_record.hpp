// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config_schema/search/search_config.hpp"
#include "launcher/journal/journal_entry.hpp"
#include "launcher/record/task_record.hpp"
#include "launcher/search/search.hpp"

namespace train {

/// One attempt of a trial, as far as the journal records it.
struct TrialAttempt {
  int number = 0;
  std::vector<std::string> hosts = {};  ///< in rank order
  std::optional<UnixMillis> started = {};
  std::optional<UnixMillis> ended = {};  ///< nothing: it may still run
  std::optional<int> exit_code = {};  ///< of the first failed rank, or 0; nothing: no rank has one
  std::string cause = {};             ///< the first failure; empty: none
  /// When its ranks were about to be told to start; nothing: they were not, or it is not known.
  std::optional<UnixMillis> ranks_started = {};

  bool operator==(const TrialAttempt&) const = default;
};

/// One line that a trial has reported.
struct KeptReport {
  std::optional<double> step = {};  ///< nothing: the step or the metric is missing
  double metric = 0;
  std::string json = {};  ///< an object on one line

  bool operator==(const KeptReport&) const = default;
};

/// One trial of a search.
struct TrialRecord {
  std::int64_t trial = 0;
  int bracket = 0;
  TrialState state = TrialState::waiting;
  std::string hyperparameters_json = {};
  std::uint32_t seed = 0;
  std::vector<TrialAttempt> attempts = {};
  std::vector<KeptReport> reports = {};  ///< of ranks whose reports count, oldest first
  std::optional<BestReport> best = {};   ///< the best of them
};

/// The state of a search, for people.
struct SearchRecord {
  SearchConfig config;
  std::vector<TrialRecord> trials;  ///< by number
  std::vector<SearchDecision> decisions;
};

/// The trials of a search from its journal, without their reports; `is_over`: the task has ended.
/// Class `no_input` if the journal does not belong to this search.
Result<SearchRecord> search_record(const SearchConfig& config,
                                   const std::vector<JournalEntry>& journal, bool is_over);

/// Adds the reports of the trials, and finds the best of those that counted: reports after the one
/// that made the search stop a trial do not count. `reports_of` returns the reports of those ranks
/// of a trial whose reports count, one line each as from `metrics_of_line`.
void add_reports(SearchRecord& search,
                 const std::function<std::vector<std::string>(const TrialRecord&)>& reports_of);

/// The host of a rank of a trial.
struct TrialRank {
  std::string host;
  bool has_ended = false;  ///< the trial has ended, as far as the journal records it

  bool operator==(const TrialRank&) const = default;
};

/// In the last attempt of the trial; nothing if the trial has not begun, or has no such rank.
std::optional<TrialRank> trial_rank_of(const std::vector<JournalEntry>& journal, std::int64_t trial,
                                       int rank);

/// The best report of all trials that are not invalid.
std::optional<BestReport> best_of(const SearchRecord& search);

/// `{"search": {...}, "trials": [...]}` of `task show --json`.
std::string search_to_json(const SearchRecord& search);

}  // namespace train
