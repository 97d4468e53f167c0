// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config_schema/search/search_config.hpp"
#include "launcher/journal/journal.hpp"
#include "launcher/record/task_record.hpp"
#include "launcher/search/search.hpp"

namespace train {

/// One attempt of a trial, as far as the journal has it.
struct TrialAttempt {
  int number = 0;
  std::vector<std::string> hosts = {};  ///< in rank order
  std::optional<UnixMillis> started = {};
  std::optional<UnixMillis> ended = {};  ///< nothing: it may run
  std::optional<int> exit_code = {};  ///< of the rank that failed first, or 0; nothing: no rank's
  std::string cause = {};             ///< what failed first; empty: nothing

  bool operator==(const TrialAttempt&) const = default;
};

/// A line of what a trial has reported.
struct KeptReport {
  std::optional<double> step = {};  ///< nothing: it has none, or the metric is missing
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
  std::vector<KeptReport> reports = {};  ///< that count, oldest first
  std::optional<BestReport> best = {};   ///< of those
};

/// What a search has come to.
struct SearchRecord {
  SearchConfig config;
  std::vector<TrialRecord> trials;  ///< by number
  std::vector<SearchDecision> decisions;
};

/// The trials of a search whose journal this is, without their reports; `is_over`: the task has
/// ended. Class `no_input` where the journal is not of such a search.
Result<SearchRecord> search_record(const SearchConfig& config,
                                   const std::vector<JournalEntry>& journal, bool is_over);

/// Adds what the trials have reported, and finds the best of those reports that counted: none
/// behind the one by which a trial was told to stop does. `reports_of` returns what those ranks of
/// a trial have reported whose reports count, a line each as `metrics_of_line` has them.
void add_reports(SearchRecord& search,
                 const std::function<std::vector<std::string>(const TrialRecord&)>& reports_of);

/// Where a rank of a trial is.
struct TrialRank {
  std::string host;
  bool has_ended = false;  ///< the trial, as far as the journal has it

  bool operator==(const TrialRank&) const = default;
};

/// In the last attempt of the trial; nothing where that has not begun, or has no such rank.
std::optional<TrialRank> trial_rank_of(const std::vector<JournalEntry>& journal, std::int64_t trial,
                                       int rank);

/// The best of all trials that are not invalid.
std::optional<BestReport> best_of(const SearchRecord& search);

/// `{"search": {...}, "trials": [...]}` of `task show --json`.
std::string search_to_json(const SearchRecord& search);

}  // namespace train
