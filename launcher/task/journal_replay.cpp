// SPDX-License-Identifier: Apache-2.0
// From what a journal has to the state of its task: the task itself takes the events once more.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launcher/task/journal.hpp"

namespace train {

namespace {

// More than three requests say nothing new.
constexpr std::size_t most_stops = 3;
// For an instant of another boot: some moment of the past.
constexpr std::chrono::hours long_ago{24 * 365};
// Further apart no two boots are.
constexpr milliseconds longest_ago = 100 * long_ago;

class Replayer {
 public:
  Replayer(const Task::Rules& rules, Instant now, const std::string& boot_id,
           std::optional<milliseconds> booted)
      : now_(now), boot_id_(boot_id), booted_(booted), replay_{Task(rules)} {}

  Result<Replay> read(const std::vector<JournalEntry>& entries) {
    for (const JournalEntry& entry : entries) {
      is_of_this_boot_ = entry.boot_id == boot_id_;
      at_ = is_of_this_boot_ ? entry.at : now_;
      written_at_ = entry.at;
      if (replay_.over) complain("something follows the end");
      if (replay_.epoch == 0 && !is<journal_record::Supervised>(entry.record))
        complain("it has no supervisor");
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
  bool is_running() const {
    const AttemptState last = replay_.task.attempts().back();
    return last == AttemptState::running || last == AttemptState::failing;
  }
  void require_running(const char* what) {
    if (!is_running() || replay_.attempt != replay_.task.attempt())
      complain(fmt::format("{}, and no attempt runs", what));
  }

  void take(const journal_record::Supervised& record) {
    if (record.epoch <= replay_.epoch)
      return complain(fmt::format("supervisor {} follows {}", record.epoch, replay_.epoch));
    replay_.epoch = record.epoch;
  }

  // One that was prepared by a supervisor that has ended may be begun again.
  void take(const journal_record::AttemptBegun& record) {
    if (record.attempt != replay_.task.attempt() || replay_.task.over() || replay_.go)
      return complain(fmt::format("attempt {} begins out of turn", record.attempt));
    replay_.task.on(task_event::Begin{}, at_);
    replay_.attempt = record.attempt;
  }

  void take(const journal_record::RanksStarted& record) {
    require_running("ranks start");
    if (record.go.of.attempt != replay_.attempt)
      return complain(fmt::format("ranks start in attempt {}", record.go.of.attempt));
    if (replay_.go) return complain("ranks start twice in an attempt");
    replay_.task.on(task_event::RanksStarting{}, start_of(record));
    replay_.go = record.go;
    if (is_of_this_boot_) replay_.started_at = at_;
  }

  // On the clock of this boot. The wall clocks of the two may have been set differently.
  Instant start_of(const journal_record::RanksStarted& record) const {
    if (is_of_this_boot_ || !record.booted || !booted_) return at_;
    const milliseconds later = *record.booted - *booted_;
    return std::min(written_at_ + std::clamp(later, -longest_ago, longest_ago), now_);
  }

  void take(const journal_record::AttemptFailing& record) {
    require_running("an attempt fails");
    replay_.task.on(task_event::AttemptFailing{}, at_);
    if (!record.first || replay_.failure) return;
    replay_.failure = record.first;
    if (!is_of_this_boot_) replay_.failure->at = sometime(now_ - long_ago, now_);
  }

  void take(const journal_record::AttemptHopeless&) {
    require_running("an attempt is hopeless");
    replay_.is_hopeless = true;
  }

  void take(const journal_record::AttemptOver& record) {
    require_running("an attempt ends");
    if (!complaint_.empty()) return;
    replay_.task.on(task_event::AttemptOver{record.end}, at_);
    if (replay_.task.over()) return complain("another attempt is to follow the last one");
    replay_.go.reset();
    replay_.started_at.reset();
    replay_.failure.reset();
    replay_.is_hopeless = false;
  }

  void take(const journal_record::StopRequested& record) {
    replay_.task.on(task_event::StopRequested{record.signal}, at_);
    if (replay_.task.over()) return complain("the user's wish was the end, and it was not told");
    if (replay_.stop_signals.empty() && is_of_this_boot_) replay_.stopped_at = at_;
    if (replay_.stop_signals.size() < most_stops) replay_.stop_signals.push_back(record.signal);
  }

  void take(const journal_record::TaskOver& record) {
    if (record.end)
      replay_.task.on(task_event::AttemptOver{*record.end}, at_);
    else
      replay_.task.on(task_event::StopRequested{record.signal.value_or(0)}, at_);
    if (!replay_.task.over()) return complain("an end that is none");
    replay_.over = record;
  }

  Instant now_;
  const std::string& boot_id_;
  std::optional<milliseconds> booted_;
  Replay replay_;
  Instant at_{0};
  Instant written_at_{0};  ///< by the clock of its boot
  bool is_of_this_boot_ = true;
  std::string complaint_;
};

}  // namespace

Result<Replay> replay(const std::vector<JournalEntry>& entries, const Task::Rules& rules,
                      Instant now, const std::string& boot_id, std::optional<milliseconds> booted) {
  return Replayer(rules, now, boot_id, booted).read(entries);
}

std::string snapshot_of(const Replay& replay) {
  std::string text =
      fmt::format("{} epoch {} attempt {}", replay.task.snapshot(), replay.epoch, replay.attempt);
  if (replay.go) text += " go " + encode_message(*replay.go);
  if (replay.started_at) text += fmt::format(" at {}", replay.started_at->count());
  if (replay.failure)
    text += fmt::format(" failure {} {} {}", replay.failure->at.at.count(), replay.failure->host,
                        in_one_line(replay.failure->error));
  if (replay.is_hopeless) text += " hopeless";
  if (replay.stopped_at) text += fmt::format(" stopped at {}", replay.stopped_at->count());
  for (const int signal : replay.stop_signals) text += fmt::format(" stop {}", signal);
  if (replay.over) text += " over " + encode_entry({JournalRecord(*replay.over), Instant(0), {}});
  return text;
}

}  // namespace train
