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

/// The decisions of a task, as its journal records them.
/// A host that the task does not use any more, because its ranks have failed first too often, or a
/// log policy says so.
struct LeftOutHost {
  std::string host;
  std::string why;
  bool operator==(const LeftOutHost&) const = default;
};
/// For a person.
std::string left_out_text(const LeftOutHost& host);

namespace journal_record {
/// A supervisor begins; epoch 1 is the launch itself. Each later supervisor has a higher epoch.
struct Supervised {
  std::uint64_t epoch = 1;
  bool operator==(const Supervised&) const = default;
};
/// The hosts are prepared for this attempt.
struct AttemptBegun {
  int attempt = 0;
  std::optional<TrialPlace> place = {};  ///< if the task has several trials
  bool operator==(const AttemptBegun&) const = default;
};
/// Every host is about to be sent this Go, and it may have to be repeated.
struct RanksStarted {
  message::Go go;
  bool operator==(const RanksStarted&) const = default;
};
/// Something has failed in the attempt: it is being stopped.
struct AttemptFailing {
  std::optional<Failure> first;  ///< the first known failure; nothing: a user's stop
};
/// A log policy has found that another attempt would fail again.
struct AttemptHopeless {
  bool operator==(const AttemptHopeless&) const = default;
};
/// The attempt is over, and another one follows.
struct AttemptOver {
  AttemptEnd end;
  std::vector<LeftOutHost> left_out = {};  ///< hosts that it used and the next ones will not
  bool operator==(const AttemptOver&) const = default;
};
/// The user stops the task, or its time is over (`runtime_over`). The task goes on until everything
/// has ended.
struct StopRequested {
  int signal = 0;
  bool operator==(const StopRequested&) const = default;
};
/// No attempt of this trial follows, while the task goes on. The reason is recorded only here, as
/// in TaskOver.
struct TrialOver {
  Sequel why = Sequel::succeeded;
  std::optional<AttemptEnd> end = {};  ///< of its last attempt, if that ends the trial
  /// Otherwise: the signal that ended the wait for another attempt.
  std::optional<int> signal = {};
  bool operator==(const TrialOver&) const = default;
};
/// The decisions of the search on one event; none of them is carried out before this is written.
struct SearchDecided {
  std::vector<SearchDecision> decisions;
  bool operator==(const SearchDecided&) const = default;
};
/// Nothing follows. This is the last record, and the only one of the reason; nothing is done about
/// the end before it is written.
struct TaskOver {
  Sequel why = Sequel::succeeded;
  /// The end of the last attempt of the last trial, if that ends the task.
  std::optional<AttemptEnd> end = {};
  /// Otherwise: the signal that ended the wait for another attempt.
  std::optional<int> signal = {};
  bool operator==(const TaskOver&) const = default;
};
}  // namespace journal_record

using JournalRecord = std::variant<journal_record::Supervised, journal_record::AttemptBegun,
                                   journal_record::RanksStarted, journal_record::AttemptFailing,
                                   journal_record::AttemptHopeless, journal_record::AttemptOver,
                                   journal_record::TrialOver, journal_record::SearchDecided,
                                   journal_record::StopRequested, journal_record::TaskOver>;

/// Whether a record is about one trial, not about the task as a whole.
bool is_of_trial(const JournalRecord& record);

struct JournalEntry {
  JournalRecord record;
  Instant at{0};  ///< on the launcher's clock
  /// Of the launcher's machine: instants of different boots cannot be compared.
  std::string boot_id;
  /// The same instant by the wall clock of the machine, since the Unix epoch; nothing: not known.
  std::optional<milliseconds> wall = {};
  int trial = 0;  ///< the trial that it is about, if any
};

/// Limits of the size of an entry in bytes, and of the number of entries that are read: many times
/// what a task with all its restarts writes.
constexpr std::size_t longest_journal_entry = (16u << 20) + (64u << 10);
constexpr std::size_t most_journal_entries = 100'000;

/// One line of JSON, without the newline.
std::string encode_entry(const JournalEntry& entry);
/// An error of class `no_input` if the line is not a whole entry of this version.
Result<JournalEntry> decode_entry(std::string_view line);
/// All entries of a journal; or the error of the first malformed one.
Result<std::vector<JournalEntry>> decode_journal(const std::vector<std::string>& lines);

/// The state of one trial after replay.
struct TrialReplay {
  Task task;
  int attempt = -1;  ///< the last one that began; -1: none
  /// Of that attempt, if the task has several trials, and if it still has its hosts.
  std::optional<TrialPlace> place = {};
  std::optional<journal_record::TrialOver> over = {};  ///< only if the task has several trials
  // Of this attempt:
  std::optional<message::Go> go = {};      ///< set: its ranks may have been started with this
  std::optional<Instant> started_at = {};  ///< when; nothing: not known, or in another boot
  std::optional<Failure> failure = {};     ///< the first one recorded
  bool is_hopeless = false;                ///< as a log policy has found
};

/// The state of a task after replay.
struct Replay {
  std::map<int, TrialReplay> trials;           ///< by number: trial 0, and all others that began
  std::uint64_t epoch = 0;                     ///< of the last supervisor
  std::vector<LeftOutHost> left_out = {};      ///< hosts that are not used any more
  std::set<std::string> hosts = {};            ///< hosts on which trials of several began
  std::vector<SearchDecision> decisions = {};  ///< of the search, oldest first
  std::vector<int> stop_signals = {};          ///< the stop requests; at most 3
  std::optional<Instant> stopped_at = {};      ///< the first request; nothing: in another boot
  std::optional<journal_record::TaskOver> over = {};  ///< how the task has ended

  /// The only trial of a task of one trial.
  TrialReplay& first() { return trials.at(0); }
  const TrialReplay& first() const { return trials.at(0); }
};

/// Rebuilds the state of the task from its journal, as of `now`, on a machine with this `boot_id`.
/// Entries of another boot count as written now, except for the first start of the ranks: that is
/// dated by the wall clock if the entry has such a time and the present one (`wall`) is known. An
/// error of class `no_input` if no task with these rules can have written the journal.
Result<Replay> replay(const std::vector<JournalEntry>& entries, const Task::Rules& rules,
                      Instant now, const std::string& boot_id,
                      std::optional<milliseconds> wall = {});

/// What a journal has to say once the hosts of its task were taken away and nothing is left on
/// them, by trial: no attempt runs any more, and a trial that the search has stopped is over.
std::vector<std::pair<int, JournalRecord>> ends_without_hosts(const Replay& replay);

/// The state of a replay as text: replays that differ in any relevant way have different texts.
std::string snapshot_of(const Replay& replay);

}  // namespace train
