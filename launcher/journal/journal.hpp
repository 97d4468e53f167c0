// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/plan/trial_place.hpp"
#include "launcher/ports/clock.hpp"
#include "launcher/run/outcome.hpp"
#include "launcher/search/search_decision.hpp"
#include "launcher/task/task.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// What a task has decided, as its journal has it.
namespace journal_record {
/// A supervisor begins; 1: the launch itself. Each that follows has a higher one.
struct Supervised {
  std::uint64_t epoch = 1;
  bool operator==(const Supervised&) const = default;
};
/// The hosts are prepared for this attempt.
struct AttemptBegun {
  int attempt = 0;
  std::optional<TrialPlace> place = {};  ///< of one trial of several
  bool operator==(const AttemptBegun&) const = default;
};
/// Every host is about to be sent this Go, and may have to be sent it again.
struct RanksStarted {
  message::Go go;
  /// When the machine of this entry was booted, by its wall clock, after the Unix epoch, in what
  /// earlier versions have written: it gives the entries of that boot their times.
  std::optional<milliseconds> booted = {};
  bool operator==(const RanksStarted&) const = default;
};
/// Something has failed in the attempt: it is being stopped.
struct AttemptFailing {
  std::optional<Failure> first;  ///< what is known to have; nothing: the user wants the end
};
/// A log policy has found that the attempt that runs is not worth another one.
struct AttemptHopeless {
  bool operator==(const AttemptHopeless&) const = default;
};
/// The attempt is over, and another one follows.
struct AttemptOver {
  AttemptEnd end;
  bool operator==(const AttemptOver&) const = default;
};
/// The user wants everything to end, or the time of the task is over (`runtime_over`); it goes on
/// until it has.
struct StopRequested {
  int signal = 0;
  bool operator==(const StopRequested&) const = default;
};
/// No attempt follows of this trial, while the task goes on. The only record of what brought that
/// about, as in TaskOver.
struct TrialOver {
  Sequel why = Sequel::succeeded;
  std::optional<AttemptEnd> end = {};  ///< of its last attempt, when that is the trial's end
  std::optional<int> signal = {};      ///< else what has ended the wait for another one
  bool operator==(const TrialOver&) const = default;
};
/// What the search has decided by one event: nothing of it is acted on before.
struct SearchDecided {
  std::vector<SearchDecision> decisions;
  bool operator==(const SearchDecided&) const = default;
};
/// Nothing follows. The last record, and the only one of what brought the end about: that is not
/// acted on before this is written.
struct TaskOver {
  Sequel why = Sequel::succeeded;
  /// Of the last attempt of the last trial, when its end is the task's.
  std::optional<AttemptEnd> end = {};
  std::optional<int> signal = {};  ///< else what has ended the wait for another one
  bool operator==(const TaskOver&) const = default;
};
}  // namespace journal_record

using JournalRecord = std::variant<journal_record::Supervised, journal_record::AttemptBegun,
                                   journal_record::RanksStarted, journal_record::AttemptFailing,
                                   journal_record::AttemptHopeless, journal_record::AttemptOver,
                                   journal_record::TrialOver, journal_record::SearchDecided,
                                   journal_record::StopRequested, journal_record::TaskOver>;

/// Whether a record is about one trial, and not about the task as a whole.
bool is_of_trial(const JournalRecord& record);

struct JournalEntry {
  JournalRecord record;
  Instant at{0};        ///< the launcher's clock
  std::string boot_id;  ///< of its machine: instants of different boots cannot be compared
  /// The same by the wall clock of the machine, after the Unix epoch; nothing: not known, as in
  /// what earlier versions have written.
  std::optional<milliseconds> wall = {};
  int trial = 0;  ///< that it is about, where it is about one
};

/// What an entry may take, in bytes, and how many of them are read of a task: many times what a
/// task with all its restarts writes.
constexpr std::size_t longest_journal_entry = (16u << 20) + (64u << 10);
constexpr std::size_t most_journal_entries = 100'000;

/// One line of JSON, without the newline.
std::string encode_entry(const JournalEntry& entry);
/// What is no whole entry of this version is an error of class `no_input`.
Result<JournalEntry> decode_entry(std::string_view line);
/// All entries of a journal; the error of the first that is none.
Result<std::vector<JournalEntry>> decode_journal(const std::vector<std::string>& lines);

/// What a journal comes to for one trial.
struct TrialReplay {
  Task task;
  int attempt = -1;                                    ///< the last one that was begun; -1: none
  std::optional<TrialPlace> place = {};                ///< of that, of one trial of several
  std::optional<journal_record::TrialOver> over = {};  ///< of one trial of several
  // Of this attempt:
  std::optional<message::Go> go = {};      ///< its ranks may have been started, with this
  std::optional<Instant> started_at = {};  ///< when; nothing where it was another boot
  std::optional<Failure> failure = {};     ///< the first that was known
  bool is_hopeless = false;                ///< a log policy says so
};

/// What a journal comes to.
struct Replay {
  std::map<int, TrialReplay> trials;  ///< by number: the first, and all others that were begun
  std::uint64_t epoch = 0;            ///< of the last supervisor
  std::set<std::string> hosts = {};   ///< on which trials of several were begun
  std::vector<SearchDecision> decisions = {};  ///< of the search, oldest first
  std::vector<int> stop_signals = {};          ///< by which the end was asked for; at most 3
  std::optional<Instant> stopped_at = {};  ///< the first time; nothing where it was another boot
  std::optional<journal_record::TaskOver> over = {};  ///< how the task has ended

  /// All there is of a task of one trial.
  TrialReplay& first() { return trials.at(0); }
  const TrialReplay& first() const { return trials.at(0); }
};

/// The state of a task whose journal this is, as of `now`, on a machine with this `boot_id`: what
/// was written on another boot counts as written now, but for the first start of the ranks, where
/// the entry has a time of the wall clock and that is known of `now` (`wall`). An error of class
/// `no_input` when no task with these rules can have written it.
Result<Replay> replay(const std::vector<JournalEntry>& entries, const Task::Rules& rules,
                      Instant now, const std::string& boot_id,
                      std::optional<milliseconds> wall = {});

/// All that matters of a replay, as text: two that differ in anything differ in that.
std::string snapshot_of(const Replay& replay);

}  // namespace train
