// SPDX-License-Identifier: Apache-2.0
#include "launcher/journal/search_record.hpp"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "launcher/search/metric_value.hpp"
#include "launcher/search/trial_report.hpp"

namespace train {

namespace {

using nlohmann::ordered_json;

std::optional<UnixMillis> time_of(const JournalEntry& entry) {
  return entry.wall ? std::optional<UnixMillis>(entry.wall->count()) : std::nullopt;
}

// Reads the attempts of each trial from the journal.
class AttemptReader {
 public:
  explicit AttemptReader(SearchRecord& search) : search_(search) {}

  void read(const JournalEntry& entry) {
    if (std::holds_alternative<journal_record::TaskOver>(entry.record)) return end_all(entry);
    if (!is_of_trial(entry.record)) return;
    const auto number = static_cast<std::size_t>(entry.trial);
    if (number >= search_.trials.size()) return;
    trial_ = &search_.trials[number];
    at_ = time_of(entry);
    std::visit([this](const auto& record) { take(record); }, entry.record);
  }
  /// Trials that have ended, and why.
  const std::map<std::int64_t, Sequel>& ended() const { return ended_; }

 private:
  // An attempt that an earlier supervisor has prepared may be begun again: it is the same attempt.
  void take(const journal_record::AttemptBegun& record) {
    auto& attempts = trial_->attempts;
    if (!attempts.empty() && attempts.back().number == record.attempt) attempts.pop_back();
    attempts.push_back({record.attempt,
                        record.place ? host_names(*record.place) : std::vector<std::string>(),
                        at_});
    ended_.erase(trial_->trial);  // it is begun again
  }
  void take(const journal_record::RanksStarted&) {
    if (!trial_->attempts.empty()) trial_->attempts.back().ranks_started = at_;
  }
  void take(const journal_record::AttemptFailing& record) {
    if (!trial_->attempts.empty() && record.first)
      trial_->attempts.back().cause = record.first->error.diagnostics.front().message;
  }
  void take(const journal_record::AttemptOver& record) { end(record.end); }
  void take(const journal_record::TrialOver& record) {
    end(record.end);
    ended_[trial_->trial] = record.why;
  }
  template <class Other>
  void take(const Other&) {}

  // The last trials end with the task.
  void end_all(const JournalEntry& entry) {
    at_ = time_of(entry);
    for (TrialRecord& trial : search_.trials) {
      trial_ = &trial;
      end(std::nullopt);
    }
  }

  void end(const std::optional<AttemptEnd>& how) {
    if (trial_->attempts.empty() || trial_->attempts.back().ended) return;
    TrialAttempt& attempt = trial_->attempts.back();
    attempt.ended = at_;
    if (!how) return;
    if (how->succeeded || how->exit_code != 0) attempt.exit_code = how->exit_code;
    if (how->succeeded) attempt.cause.clear();
  }

  SearchRecord& search_;
  TrialRecord* trial_ = nullptr;
  std::optional<UnixMillis> at_;
  std::map<std::int64_t, Sequel> ended_;
};

// The search counts a trial as ended as soon as it was told to stop. A trial that it counts as
// failed was killed by the user if it was stopped or never began.
TrialState state_of(const TrialRecord& trial, TrialState decided,
                    const std::map<std::int64_t, Sequel>& ended, bool is_over) {
  const auto end = ended.find(trial.trial);
  const bool has_ended = is_over || end != ended.end();
  const bool is_decided = decided != TrialState::running && decided != TrialState::waiting;
  if (is_decided && !has_ended && !trial.attempts.empty()) return TrialState::stopping;
  const bool was_stopped = end != ended.end() && end->second == Sequel::stopped;
  if (decided == TrialState::failed && (was_stopped || trial.attempts.empty()))
    return TrialState::killed;
  if (is_decided) return decided;
  if (has_ended) return TrialState::stopped;
  return trial.attempts.empty() ? TrialState::waiting : TrialState::running;
}

bool is_report_of(const SearchDecision& decision, const KeptReport& report) {
  const bool are_both_nan = std::isnan(decision.metric) && std::isnan(report.metric);
  return *report.step == decision.step && (are_both_nan || report.metric == decision.metric);
}

void add_reports_of(const SearchConfig& config, TrialRecord& trial,
                    const std::vector<std::string>& lines, const SearchDecision* stop) {
  bool still_counts = true;
  std::int64_t count = 0;
  for (const std::string& line : lines) {
    const TrialReport read = read_trial_report(nlohmann::json::parse(line, nullptr, false),
                                               {config.metric, config.time_metric}, ++count);
    KeptReport& kept = trial.reports.emplace_back(KeptReport{{}, 0, line});
    if (!read.decides()) continue;
    kept.step = read.step;
    kept.metric = *read.metric;
    if (!still_counts) continue;
    still_counts = stop == nullptr || !is_report_of(*stop, kept);
    if (std::isnan(kept.metric)) continue;
    if (!trial.best || is_better(config.settings, kept.metric, trial.best->metric))
      trial.best = {trial.trial, *kept.step, kept.metric};
  }
}

template <class Value>
ordered_json or_null(const std::optional<Value>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json json_of(const TrialAttempt& attempt) {
  return {{"number", attempt.number},
          {"hosts", attempt.hosts},
          {"started_ms", or_null(attempt.started)},
          {"ended_ms", or_null(attempt.ended)},
          {"exit_code", or_null(attempt.exit_code)},
          {"cause", attempt.cause.empty() ? ordered_json(nullptr) : ordered_json(attempt.cause)}};
}

ordered_json json_of_best(const std::optional<BestReport>& best) {
  if (!best) return nullptr;
  return {{"trial", best->trial},
          {"step", json_of_step(best->step)},
          {"metric", json_of_metric(best->metric)}};
}

ordered_json json_of(const TrialRecord& trial) {
  ordered_json value{{"id", trial.trial},
                     {"bracket", trial.bracket},
                     {"state", trial_states().row(trial.state).name},
                     {"hyperparameters", ordered_json::parse(trial.hyperparameters_json)},
                     {"seed", trial.seed},
                     {"best", json_of_best(trial.best)},
                     {"reports", ordered_json::array()},
                     {"attempts", ordered_json::array()}};
  for (const KeptReport& report : trial.reports)
    value["reports"].push_back(
        {{"step", report.step ? ordered_json(json_of_step(*report.step)) : ordered_json(nullptr)},
         {"metrics", ordered_json::parse(report.json)}});
  for (const TrialAttempt& attempt : trial.attempts) value["attempts"].push_back(json_of(attempt));
  return value;
}

}  // namespace

Result<SearchRecord> search_record(const SearchConfig& config,
                                   const std::vector<JournalEntry>& journal, bool is_over) {
  SearchRecord record{config, {}, {}};
  for (const JournalEntry& entry : journal)
    if (const auto* decided = std::get_if<journal_record::SearchDecided>(&entry.record))
      record.decisions.insert(record.decisions.end(), decided->decisions.begin(),
                              decided->decisions.end());
  const SearchSpace space(config.space);
  const auto search = Search::replayed(space, config.settings, record.decisions);
  if (!search) return tl::make_unexpected(search.error());
  auto sampler = TrialSampler::of(space, config.settings);
  if (!sampler) return tl::make_unexpected(sampler.error());
  for (std::int64_t number = 0; number < search->trials(); ++number) {
    TrialSample sample = sampler->next();
    record.trials.push_back({number, search->bracket(number), search->state(number),
                             std::move(sample.hyperparameters_json), sample.seed});
  }
  AttemptReader reader(record);
  for (const JournalEntry& entry : journal) reader.read(entry);
  for (TrialRecord& trial : record.trials)
    trial.state = state_of(trial, trial.state, reader.ended(), is_over);
  return record;
}

void add_reports(SearchRecord& search,
                 const std::function<std::vector<std::string>(const TrialRecord&)>& reports_of) {
  std::map<std::int64_t, const SearchDecision*> stops;
  for (const SearchDecision& each : search.decisions)
    if (each.verdict == SearchVerdict::stop) stops[each.trial] = &each;
  for (TrialRecord& trial : search.trials) {
    const auto stop = stops.find(trial.trial);
    add_reports_of(search.config, trial, reports_of(trial),
                   stop == stops.end() ? nullptr : stop->second);
  }
}

std::optional<TrialRank> trial_rank_of(const std::vector<JournalEntry>& journal, std::int64_t trial,
                                       int rank) {
  std::optional<TrialPlace> place;
  bool has_ended = false;
  for (const JournalEntry& entry : journal) {
    if (!is_of_trial(entry.record) || entry.trial != trial) continue;
    if (const auto* begun = std::get_if<journal_record::AttemptBegun>(&entry.record)) {
      place = begun->place;
      has_ended = false;
    }
    if (std::holds_alternative<journal_record::TrialOver>(entry.record)) has_ended = true;
  }
  if (!place) return std::nullopt;
  for (const HostPlace& host : place->hosts) {
    const int ranks = static_cast<int>(host.slots.size());
    if (rank < ranks) return TrialRank{host.host, has_ended};
    rank -= ranks;
  }
  return std::nullopt;
}

std::optional<BestReport> best_of(const SearchRecord& search) {
  std::optional<BestReport> best;
  for (const TrialRecord& trial : search.trials)
    if (trial.best && trial.state != TrialState::invalid)
      if (!best || is_better(search.config.settings, trial.best->metric, best->metric))
        best = trial.best;
  return best;
}

std::string search_to_json(const SearchRecord& search) {
  const SearchConfig& config = search.config;
  ordered_json about{{"method", to_string(config.settings.method)},
                     {"metric", config.metric},
                     {"smaller_is_better", config.settings.smaller_is_better},
                     {"seed", config.settings.seed},
                     {"best", json_of_best(best_of(search))},
                     {"decisions", ordered_json::array()}};
  for (const SearchDecision& each : search.decisions)
    about["decisions"].push_back(ordered_json(json_of(each)));
  ordered_json document{{"search", std::move(about)}, {"trials", ordered_json::array()}};
  for (const TrialRecord& trial : search.trials) document["trials"].push_back(json_of(trial));
  return document.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace train
