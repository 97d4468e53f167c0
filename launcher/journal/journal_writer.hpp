// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "launcher/journal/journal_entry.hpp"
#include "launcher/ports/journal.hpp"
#include "launcher/ports/timers.hpp"
#include "launcher/task/event_time.hpp"

namespace train {

/// Writes the decisions of a task, and calls back when their consequences may be carried out. After
/// an entry could not be written, no further entry is written.
class JournalWriter {
 public:
  enum class Durable { no, yes };

  /// `on_trouble` is called once, from the journal, before the callbacks of unwritten entries. All
  /// references must outlive this. Without a journal everything counts as written. Without `time`,
  /// entries have no wall-clock time.
  JournalWriter(Journal* journal, Timers& timers, std::string boot_id, EventTime* time,
                std::function<void(const Error&)> on_trouble);
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

  /// Calls `then` once: when the record is written, cannot be written, or after `patience`. If
  /// there is nothing to wait for, `then` is called from inside this call.
  void write(
      JournalRecord record, Durable durable, std::function<void()> then = [] {},
      std::optional<nanoseconds> patience = {}) {
    write_of(0, std::move(record), durable, std::move(then), patience);
  }
  /// The same for a record about a trial.
  void write_of(
      int trial, JournalRecord record, Durable durable, std::function<void()> then = [] {},
      std::optional<nanoseconds> patience = {});
  /// Finds out whether the journal belongs to another supervisor now; calls back from inside if
  /// there is no journal.
  void look(std::function<void(bool is_displaced)> then);
  /// Why nothing is written any more; nothing: entries are written.
  const std::optional<Error>& trouble() const { return trouble_; }
  bool is_kept() const { return journal_ != nullptr; }

 private:
  struct Pending {
    std::function<void()> then;
    std::unique_ptr<Subscription> patience;
  };
  void written(std::uint64_t number, const Result<void>& result);
  void go_on(std::uint64_t number);

  Journal* journal_;
  Timers& timers_;
  std::string boot_id_;
  EventTime* time_;
  std::function<void(const Error&)> on_trouble_;
  std::optional<Error> trouble_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Pending> pending_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace train
