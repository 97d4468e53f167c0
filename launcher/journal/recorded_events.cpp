// SPDX-License-Identifier: Apache-2.0
#include "launcher/journal/recorded_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "config_schema/text/text.hpp"
#include "launcher/run/outcome.hpp"

namespace train {

namespace {

using What = RecordedEvent::What;

std::string words_of(Sequel why) {
  switch (why) {
    case Sequel::restart:
      break;
    case Sequel::succeeded:
      return "succeeded";
    case Sequel::stopped:
      return "stopped";
    case Sequel::never_started:
      return "failed, and no rank was ever started";
    case Sequel::invalid_hyperparameters:
      return "failed, and not restarted: its hyperparameters make no sense";
    case Sequel::hopeless:
      return "failed, and not restarted: a log policy says that it would fail again";
    case Sequel::unrecorded:
      return "failed, and not restarted: its journal cannot be written";
    case Sequel::processes_left:
      return "failed, and not restarted: processes of it are left";
    case Sequel::no_restarts_left:
      return "failed";
    case Sequel::no_progress:
      return "failed, and not restarted: attempts in a row came to nothing (max_no_progress)";
    case Sequel::same_cause:
      return "failed, and not restarted: for the same cause as before (stop_on_same_cause)";
  }
  return "ended";
}

std::vector<std::string> words_of(const std::string& hosts) {
  const auto words = split(hosts, ',');
  return {words.begin(), words.end()};
}

std::string ranks_text(int count) { return fmt::format("{} rank{}", count, count == 1 ? "" : "s"); }

class EventBuilder {
 public:
  EventBuilder(const TaskRecord& task, const std::vector<JournalEntry>& journal)
      : task_(task), journal_(journal) {
    places_[trial_] = words_of(task.hosts);
    ranks_ = most_ranks(task);
  }

  std::vector<RecordedEvent> build() {
    events_.push_back({.what = What::created, .at = task_.created, .words = "launched"});
    for (const JournalEntry& entry : journal_) {
      if (is_of_trial(entry.record)) choose(entry.trial);
      RecordedEvent event =
          std::visit([this](const auto& record) { return this->of(record); }, entry.record);
      if (entry.wall && !is_recorded_end(event)) event.at = entry.wall->count();
      events_.push_back(std::move(event));
    }
    add_end();
    return std::move(events_);
  }

 private:
  // The record has the same event.
  bool is_recorded_end(const RecordedEvent& event) const {
    return event.what == What::task_over && is_final(task_.state);
  }

  // Further entries are about this trial.
  void choose(int trial) {
    attempts_[trial_] = attempt_;
    trial_ = trial;
    attempt_ = attempts_[trial];
  }

  RecordedEvent of(const journal_record::Supervised& record) const {
    return {.what = What::supervised,
            .words = record.epoch == 1 ? "its launcher begins" : "another launcher takes it over"};
  }
  RecordedEvent of(const journal_record::AttemptBegun& record) {
    attempt_ = record.attempt;
    RecordedEvent event{.what = What::attempt_begun,
                        .attempt = attempt_,
                        .words = fmt::format("attempt {}: its hosts are prepared", record.attempt)};
    const auto recorded =
        std::find_if(task_.attempts.begin(), task_.attempts.end(),
                     [&](const AttemptRecord& each) { return each.number == record.attempt; });
    const bool is_recorded = recorded != task_.attempts.end();
    if (is_recorded) event.at = recorded->started;
    if (record.place) ranks_ = ranks_of(*record.place);
    places_[trial_] = record.place ? host_names(*record.place)
                                   : words_of(is_recorded ? recorded->hosts : task_.hosts);
    return event;
  }
  RecordedEvent of(const journal_record::RanksStarted&) const {
    return {.what = What::ranks_started,
            .attempt = attempt_,
            .words =
                fmt::format("{} {} told to start", ranks_text(ranks_), ranks_ == 1 ? "is" : "are")};
  }
  RecordedEvent of(const journal_record::AttemptFailing& record) {
    RecordedEvent event{.what = What::attempt_failing, .attempt = attempt_};
    if (!record.first) {
      event.words = "the ranks are stopped";
      return event;
    }
    const Failure& first = *record.first;
    event.rank = first.rank;
    const std::vector<std::string>& hosts = places_[trial_];
    if (first.host >= 0 && static_cast<std::size_t>(first.host) < hosts.size())
      event.host = hosts[static_cast<std::size_t>(first.host)];
    event.words = first.error.diagnostics.front().message;
    return event;
  }
  RecordedEvent of(const journal_record::AttemptHopeless&) const {
    return {.what = What::attempt_hopeless,
            .attempt = attempt_,
            .words = "a log policy says that another attempt would fail again"};
  }
  RecordedEvent of(const journal_record::AttemptOver& record) const {
    const char* const where = record.end.is_moved ? " elsewhere" : "";
    std::string words =
        fmt::format("attempt {} is over, and another one follows{}", attempt_.value_or(0), where);
    for (const LeftOutHost& host : record.left_out) words += "; " + left_out_text(host);
    return {.what = What::attempt_over, .attempt = attempt_, .words = std::move(words)};
  }
  RecordedEvent of(const journal_record::TrialOver& record) const {
    RecordedEvent event{.what = What::trial_over, .attempt = attempt_};
    event.words = fmt::format("trial {} is over: {}", trial_, words_of(record.why));
    return event;
  }
  static RecordedEvent of(const journal_record::SearchDecided& record) {
    RecordedEvent event{.what = What::search_decided};
    for (const SearchDecision& each : record.decisions)
      event.words += (event.words.empty() ? "" : "; ") + describe(each);
    return event;
  }
  RecordedEvent of(const journal_record::StopRequested& record) {
    if (!signal_) signal_ = record.signal;
    return {.what = What::stop_requested,
            .attempt = attempt_,
            .words = record.signal == runtime_over
                         ? std::string(runtime_over_text)
                         : "stop requested by " + signal_name(record.signal)};
  }
  RecordedEvent of(const journal_record::TaskOver& record) {
    has_end_ = true;
    RecordedEvent event{
        .what = What::task_over, .attempt = attempt_, .words = words_of(record.why)};
    const std::optional<int> signal = record.signal ? record.signal : signal_;
    if (record.why == Sequel::stopped && signal) event.words = stop_text(*signal);
    if (is_final(task_.state)) event.at = task_.ended;
    return event;
  }

  // If the launcher died, or could not write the end, the end is only in the record.
  void add_end() {
    if (has_end_ || !is_final(task_.state)) return;
    events_.push_back({.what = What::task_over,
                       .at = task_.ended,
                       .attempt = attempt_,
                       .words = std::string(to_string(task_.state))});
  }

  const TaskRecord& task_;
  const std::vector<JournalEntry>& journal_;
  std::map<int, std::vector<std::string>> places_;  ///< by trial: its hosts, by node rank
  std::vector<RecordedEvent> events_;
  int trial_ = 0;
  int ranks_ = 0;                               ///< of the last attempt
  std::optional<int> attempt_;                  ///< of that trial
  std::map<int, std::optional<int>> attempts_;  ///< of the other trials
  std::optional<int> signal_;                   ///< of the first stop request
  bool has_end_ = false;
};

}  // namespace

std::vector<RecordedEvent> recorded_events(const TaskRecord& task,
                                           const std::vector<JournalEntry>& journal) {
  return EventBuilder(task, journal).build();
}

}  // namespace train
