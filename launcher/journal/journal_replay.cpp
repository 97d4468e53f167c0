// SPDX-License-Identifier: Apache-2.0
// Rebuilds the state of a task from its journal: the Task object takes the same events again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "launcher/journal/journal_entry.hpp"

namespace train {

namespace {

// More than three stop requests have no further effect.
constexpr std::size_t most_stops = 3;
// Stands for an instant of another boot: some moment of the past.
constexpr std::chrono::hours long_ago{24 * 365};
// Upper limit of the time between two boots.
constexpr milliseconds longest_ago = 100 * long_ago;

class Replayer {
 public:
  Replayer(const Task::Rules& rules, Instant now, const std::string& boot_id,
           std::optional<milliseconds> wall)
      : rules_(rules), now_(now), boot_id_(boot_id), wall_(wall) {
    replay_.trials.emplace(0, TrialReplay{Task(rules_)});
  }

  Result<Replay> read(const std::vector<JournalEntry>& entries) {
    for (const JournalEntry& entry : entries) {
      is_of_this_boot_ = entry.boot_id == boot_id_;
      at_ = is_of_this_boot_ ? entry.at : now_;
      written_ = entry.wall;
      number_ = entry.trial;
      if (replay_.over) complain("something follows the end");
      if (replay_.epoch == 0 && !is<journal_record::Supervised>(entry.record))
        complain("it has no supervisor");
      select(entry);
      if (complaint_.empty())
        std::visit([this](const auto& record) { take(record); }, entry.record);
      if (!complaint_.empty())
        return fail(ErrorClass::no_input, "the journal of the task is damaged: " + complaint_);
    }
    if (replay_.epoch == 0) return fail(ErrorClass::no_input, "the journal of the task is empty");
    return std::move(replay_);
  }

 private:
  template <class Record>
  static bool is(const JournalRecord& record) {
    return std::holds_alternative<Record>(record);
  }
  void complain(std::string what) {
    if (complaint_.empty()) complaint_ = std::move(what);
  }
  // Selects the trial that the entry is about.
  void select(const JournalEntry& entry) {
    const auto found = replay_.trials.find(entry.trial);
    if (found != replay_.trials.end()) {
      trial_ = &found->second;
    } else if (is<journal_record::AttemptBegun>(entry.record)) {
      trial_ = &replay_.trials.emplace(entry.trial, TrialReplay{Task(rules_)}).first->second;
    } else {
      complain(fmt::format("trial {} was never begun", entry.trial));
    }
  }
  bool is_running() const {
    const AttemptState last = trial_->task.attempts().back();
    return last == AttemptState::running || last == AttemptState::failing;
  }
  void require_running(const char* what) {
    if (!is_running() || trial_->attempt != trial_->task.attempt())
      complain(fmt::format("{}, and no attempt runs", what));
  }

  void take(const journal_record::Supervised& record) {
    if (record.epoch <= replay_.epoch)
      return complain(fmt::format("supervisor {} follows {}", record.epoch, replay_.epoch));
    replay_.epoch = record.epoch;
  }

  // An attempt that an earlier supervisor has prepared may be begun again. A trial of several that
  // has ended before its ranks were told to start is begun again elsewhere, with the next attempt.
  void take(const journal_record::AttemptBegun& record) {
    const Task& before = trial_->task;
    if (before.over() && !before.started_at() && record.attempt == before.attempt() + 1)
      *trial_ = TrialReplay{Task(rules_, record.attempt)};
    if (record.attempt != trial_->task.attempt() || trial_->task.over() || trial_->go)
      return complain(fmt::format("attempt {} begins out of turn", record.attempt));
    trial_->task.on(task_event::Begin{}, at_);
    trial_->attempt = record.attempt;
    trial_->place = record.place;
    if (record.place)
      for (const HostPlace& host : record.place->hosts) replay_.hosts.insert(host.host);
  }

  void take(const journal_record::RanksStarted& record) {
    require_running("ranks start");
    const AttemptId of{number_, trial_->attempt};
    if (record.go.of != of)
      return complain(fmt::format("ranks start in attempt {}", record.go.of.attempt));
    if (trial_->go) return complain("ranks start twice in an attempt");
    trial_->task.on(task_event::RanksStarting{}, start());
    trial_->go = record.go;
    if (is_of_this_boot_) trial_->started_at = at_;
  }

  // On the clock of this boot. The wall clocks of the two boots may differ.
  Instant start() const {
    if (is_of_this_boot_ || !written_ || !wall_) return at_;
    return now_ - std::clamp(*wall_ - *written_, milliseconds(0), longest_ago);
  }

  void take(const journal_record::AttemptFailing& record) {
    require_running("an attempt fails");
    trial_->task.on(task_event::AttemptFailing{}, at_);
    if (!record.first || trial_->failure) return;
    trial_->failure = record.first;
    if (!is_of_this_boot_) trial_->failure->at = sometime(now_ - long_ago, now_);
  }

  void take(const journal_record::AttemptHopeless&) {
    require_running("an attempt is hopeless");
    trial_->is_hopeless = true;
  }

  void take(const journal_record::AttemptOver& record) {
    require_running("an attempt ends");
    if (!complaint_.empty()) return;
    trial_->task.on(task_event::AttemptOver{record.end}, at_);
    if (trial_->task.over()) return complain("another attempt is to follow the last one");
    replay_.left_out.insert(replay_.left_out.end(), record.left_out.begin(), record.left_out.end());
    trial_->go.reset();
    trial_->started_at.reset();
    trial_->failure.reset();
    trial_->is_hopeless = false;
    const bool is_search = !replay_.decisions.empty();
    if (record.end.is_moved && is_search) trial_->place.reset();
  }

  // A trial that only waits for another attempt ends with a stop, and that end is recorded before
  // this.
  void take(const journal_record::StopRequested& record) {
    for (auto& [number, trial] : replay_.trials) {
      if (trial.task.over()) continue;
      trial.task.on(task_event::StopRequested{record.signal}, at_);
      if (trial.task.over()) return complain("the user's wish was the end, and it was not told");
    }
    if (replay_.stop_signals.empty() && is_of_this_boot_) replay_.stopped_at = at_;
    if (replay_.stop_signals.size() < most_stops) replay_.stop_signals.push_back(record.signal);
  }

  void take(const journal_record::SearchDecided& record) {
    replay_.decisions.insert(replay_.decisions.end(), record.decisions.begin(),
                             record.decisions.end());
  }

  template <class Over>
  void end(TrialReplay& trial, const Over& record) {
    if (record.end)
      trial.task.on(task_event::AttemptOver{*record.end}, at_);
    else
      trial.task.on(task_event::StopRequested{record.signal.value_or(0)}, at_);
    if (!trial.task.over()) complain("an end that is none");
  }

  void take(const journal_record::TrialOver& record) {
    if (trial_->task.over()) return complain(fmt::format("trial {} ends twice", number_));
    // A stop of this trial alone is recorded nowhere else.
    if (record.why == Sequel::stopped && record.end)
      trial_->task.on(task_event::StopRequested{trial_stop}, at_);
    end(*trial_, record);
    trial_->over = record;
  }

  // The end of a task is the end of the last trial that is not over.
  void take(const journal_record::TaskOver& record) {
    TrialReplay* last = nullptr;
    for (auto& [number, trial] : replay_.trials) {
      if (trial.task.over()) continue;
      if (last != nullptr) return complain("the task ends before its trials");
      last = &trial;
    }
    if (last != nullptr) end(*last, record);
    replay_.over = record;
  }

  const Task::Rules rules_;
  Instant now_;
  const std::string& boot_id_;
  std::optional<milliseconds> wall_;  ///< the present time
  Replay replay_;
  TrialReplay* trial_ = nullptr;
  int number_ = 0;  ///< of the selected trial
  Instant at_{0};
  std::optional<milliseconds> written_ = {};  ///< when the entry was written, by the wall clock
  bool is_of_this_boot_ = true;
  std::string complaint_;
};

}  // namespace

Result<Replay> replay(const std::vector<JournalEntry>& entries, const Task::Rules& rules,
                      Instant now, const std::string& boot_id, std::optional<milliseconds> wall) {
  return Replayer(rules, now, boot_id, wall).read(entries);
}

std::vector<std::pair<int, JournalRecord>> ends_without_hosts(const Replay& replay) {
  std::set<std::int64_t> stopped;
  for (const SearchDecision& each : replay.decisions)
    if (each.verdict == SearchVerdict::stop) stopped.insert(each.trial);
  AttemptEnd end;
  end.any_started = end.is_moved = true;
  std::vector<std::pair<int, JournalRecord>> ends;
  for (const auto& [number, trial] : replay.trials) {
    const AttemptState state = trial.task.attempts().back();
    const bool is_open = state == AttemptState::running || state == AttemptState::failing;
    if (trial.attempt < 0 || trial.task.over()) continue;
    if (!stopped.contains(number)) {
      if (is_open) ends.emplace_back(number, journal_record::AttemptOver{end});
    } else if (is_open) {
      ends.emplace_back(number, journal_record::TrialOver{Sequel::stopped, end, {}});
    } else {
      ends.emplace_back(number, journal_record::TrialOver{Sequel::stopped, {}, trial_stop});
    }
  }
  return ends;
}

std::string snapshot_of(const Replay& replay) {
  std::string text = fmt::format("epoch {}", replay.epoch);
  for (const auto& [number, trial] : replay.trials) {
    text += fmt::format(" trial {} {} attempt {}", number, trial.task.snapshot(), trial.attempt);
    if (trial.go) text += " go " + encode_message(*trial.go);
    if (trial.started_at) text += fmt::format(" at {}", trial.started_at->count());
    if (trial.failure)
      text += fmt::format(" failure {} {} {}", trial.failure->at.at.count(), trial.failure->host,
                          in_one_line(trial.failure->error));
    if (trial.is_hopeless) text += " hopeless";
    if (trial.place) text += fmt::format(" on {}", fmt::join(host_names(*trial.place), ","));
  }
  for (const SearchDecision& each : replay.decisions) text += " decided " + json_of(each).dump();
  if (replay.stopped_at) text += fmt::format(" stopped at {}", replay.stopped_at->count());
  for (const int signal : replay.stop_signals) text += fmt::format(" stop {}", signal);
  if (replay.over) text += " over " + encode_entry({JournalRecord(*replay.over), Instant(0), {}});
  return text;
}

}  // namespace train
