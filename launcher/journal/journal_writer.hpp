// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "launcher/journal/journal.hpp"
#include "launcher/ports/journal.hpp"
#include "launcher/ports/timers.hpp"
#include "launcher/task/event_time.hpp"

namespace train {

/// Writes down what a task decides, and calls back when what hangs on it may be done. Once an entry
/// could not be written, none is written any more.
class JournalWriter {
 public:
  enum class Durable { no, yes };

  /// `on_trouble` is called once, from the journal, before the callbacks of what was not written.
  /// What is referred to must outlive this; without a journal everything counts as written. Without
  /// `time` entries have no time of the wall clock.
  JournalWriter(Journal* journal, Timers& timers, std::string boot_id, EventTime* time,
                std::function<void(const Error&)> on_trouble);
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

  /// `then` is called once: when the record is written, or cannot be, or after `patience`; from
  /// inside where there is nothing to wait for.
  void write(
      JournalRecord record, Durable durable, std::function<void()> then = [] {},
      std::optional<nanoseconds> patience = {}) {
    write_of(0, std::move(record), durable, std::move(then), patience);
  }
  /// The same of a record about a trial.
  void write_of(
      int trial, JournalRecord record, Durable durable, std::function<void()> then = [] {},
      std::optional<nanoseconds> patience = {});
  /// Whether the journal is another supervisor's now; from inside where there is none.
  void look(std::function<void(bool is_anothers)> then);
  /// Why nothing is written any more.
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
