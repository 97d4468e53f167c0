// SPDX-License-Identifier: Apache-2.0
#include "backends/log/log_writer.hpp"

#include <utility>

namespace train {

namespace {

std::int64_t seconds(nanoseconds duration) { return duration / std::chrono::seconds(1); }

}  // namespace

LogWriter::LogWriter(Loop& loop, std::shared_ptr<LogSink> sink, std::string place, Hooks hooks,
                     Timing timing)
    : loop_(loop),
      sink_(std::move(sink)),
      place_(std::move(place)),
      hooks_(std::move(hooks)),
      timing_(timing),
      background_(loop) {}

std::uint64_t LogWriter::write(LogPiece piece) {
  ++taken_;
  if (has_given_up_) {
    lost_bytes_ += piece.bytes.size();
    written_ = taken_;
    return taken_;
  }
  if (waiting_.empty() || waiting_.back()->bytes >= longest_batch)
    waiting_.push_back(std::make_shared<Batch>());
  waiting_.back()->bytes += piece.bytes.size();
  waiting_.back()->pieces.push_back(std::move(piece));
  if (!current_) begin();
  return taken_;
}

void LogWriter::begin() {
  current_ = std::move(waiting_.front());
  waiting_.pop_front();
  const auto work = [sink = sink_, batch = current_] {
    for (const LogPiece& piece : batch->pieces) {
      auto outcome = sink->append(piece);
      batch->lost += outcome.lost;
      if (batch->trouble.empty()) batch->trouble = std::move(outcome.trouble);
    }
  };
  const auto started = background_.run(work, [this, batch = current_] { ended(*batch); });
  if (!started) {
    say_trouble(terminal_text(started.error()));
    return give_up();
  }
  if (!look_) look_ = loop_.after(timing_.look, [this] { look(); });
}

void LogWriter::ended(const Batch& batch) {
  if (has_given_up_) return;
  current_.reset();
  written_ += batch.pieces.size();
  lost_bytes_ += batch.lost;
  if (!batch.trouble.empty()) say_trouble(TerminalText(batch.trouble));
  if (const auto stall = std::exchange(stalled_for_, nanoseconds(0)); stall.count() > 0)
    hooks_.say(
        terminal_text("the log disk ({}) answers again, after some {} s", place_, seconds(stall)));
  if (!waiting_.empty()) {
    begin();
  } else {
    look_.reset();
    if (is_finishing_) loop_.stop();
  }
  hooks_.on_written();
}

void LogWriter::look() {
  look_ = loop_.after(timing_.look, [this] { look(); });
  const nanoseconds busy = background_.busy_for().value_or(nanoseconds(0));
  const bool is_last = end_is_near_ || is_finishing_;
  if (is_last && busy >= timing_.last_stall) return give_up();
  if (busy < timing_.stall) return;
  if (std::exchange(stalled_for_, busy).count() > 0) return;
  hooks_.say(
      terminal_text("the log disk ({}) has not answered for {} s; ranks that print wait for it",
                    place_, seconds(busy)));
}

void LogWriter::expect_end() { end_is_near_ = true; }

void LogWriter::give_up() {
  look_.reset();
  has_given_up_ = true;
  const nanoseconds busy = background_.busy_for().value_or(nanoseconds(0));
  if (busy.count() > 0)
    hooks_.say(
        terminal_text("the log disk ({}) has not answered for {} s, and is not waited for any "
                      "longer",
                      place_, seconds(busy)));
  for (const auto& batch : waiting_) lost_bytes_ += batch->bytes;
  if (current_) lost_bytes_ += current_->bytes;
  waiting_.clear();
  current_.reset();
  written_ = taken_;
  if (is_finishing_) loop_.stop();
  // Posted, because the owner may be inside of `write` now.
  loop_.post([this] { hooks_.on_written(); });
}

void LogWriter::finish() {
  is_finishing_ = true;
  if (current_) loop_.run();
  if (lost_bytes_ > 0)
    hooks_.say(terminal_text("{} bytes of output are not in the logs ({})", lost_bytes_, place_));
}

void LogWriter::say_trouble(const TerminalText& trouble) {
  if (!std::exchange(has_said_trouble_, true)) hooks_.say(trouble);
}

}  // namespace train
