// SPDX-License-Identifier: Apache-2.0
#include "launcher/journal/journal_writer.hpp"

#include <utility>

namespace train {

JournalWriter::JournalWriter(Journal* journal, Timers& timers, std::string boot_id, EventTime* time,
                             std::function<void(const Error&)> on_trouble)
    : journal_(journal),
      timers_(timers),
      boot_id_(std::move(boot_id)),
      time_(time),
      on_trouble_(std::move(on_trouble)) {}

void JournalWriter::write_of(int trial, JournalRecord record, Durable durable,
                             std::function<void()> then, std::optional<nanoseconds> patience) {
  if (journal_ == nullptr || trouble_) return then();
  const std::uint64_t number = ++last_;
  Pending& pending = pending_[number];
  pending.then = std::move(then);
  if (patience) pending.patience = timers_.after(*patience, [this, number] { go_on(number); });
  JournalEntry entry{std::move(record), timers_.now(), boot_id_};
  entry.trial = trial;
  if (time_ != nullptr) entry.wall = time_->now_ms();
  journal_->append(encode_entry(entry), durable == Durable::yes,
                   [this, alive = std::weak_ptr(alive_), number](const Result<void>& result) {
                     if (!alive.expired()) written(number, result);
                   });
}

void JournalWriter::look(std::function<void(bool is_displaced)> then) {
  if (journal_ == nullptr) return then(false);
  journal_->look([this, alive = std::weak_ptr(alive_), then = std::move(then)] {
    if (!alive.expired()) then(journal_->is_displaced());
  });
}

void JournalWriter::written(std::uint64_t number, const Result<void>& result) {
  if (!result && !trouble_) {
    trouble_ = result.error();
    on_trouble_(*trouble_);
  }
  go_on(number);
}

void JournalWriter::go_on(std::uint64_t number) {
  auto pending = pending_.extract(number);
  if (!pending.empty()) pending.mapped().then();
}

}  // namespace train
