// SPDX-License-Identifier: Apache-2.0
#include "backends/log/log_writer.hpp"

#include <algorithm>
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
      permission_(std::make_shared<Permission>(Permission{hooks_.may_write})),
      background_(loop),
      syncing_(loop) {}

std::uint64_t LogWriter::write(LogPiece piece) {
  ++taken_;
  if (has_left_) return taken_;
  if (has_given_up_ || is_of_no_use(piece)) {
    lost_bytes_ += piece.bytes.size();
    written_ = taken_;
    if (has_given_up_) synced_ = taken_;
    report_written_later();
    return taken_;
  }
  if (waiting_.empty() || waiting_.back()->bytes >= longest_batch)
    waiting_.push_back(std::make_shared<Batch>());
  waiting_.back()->bytes += piece.bytes.size();
  waiting_.back()->pieces.push_back(std::move(piece));
  if (!current_) begin();
  return taken_;
}

void LogWriter::end_trial(int trial) {
  ended_.erase(trial);
  hurried_.erase(trial);
  LogPiece end;
  end.of.trial = trial;
  end.ends_trial = true;
  write(std::move(end));
}

bool LogWriter::has(const Hurried& hurried, const LogPiece& piece) {
  const auto found = hurried.find(piece.of.trial);
  return found != hurried.end() && piece.of.attempt <= found->second && !piece.ends_trial;
}

// The writing thread hangs, and the output of an attempt that has ended is not waited for.
bool LogWriter::is_of_no_use(const LogPiece& piece) const {
  return current_ && current_->is_abandoned && waiting_.empty() && has(hurried_, piece);
}

void LogWriter::begin() {
  current_ = std::move(waiting_.front());
  waiting_.pop_front();
  write_current();
}

void LogWriter::write_current() {
  const auto started =
      background_.run([sink = sink_, batch = current_, hurried = hurried_,
                       permission = permission_] { append(*sink, *batch, hurried, *permission); },
                      [this, batch = current_] { ended(*batch); });
  if (!started) {
    report_trouble(terminal_text(started.error()));
    return give_up();
  }
  if (!look_) look_ = loop_.after(timing_.look, [this] { look(); });
}

std::uint64_t LogWriter::Batch::unwritten() const {
  std::uint64_t done = taken;
  for (std::size_t piece = 0; piece < written; ++piece) done += pieces[piece].bytes.size();
  return bytes - done + lost;
}

// Asks again after 20 ms, in which another process may have adopted the logs. A process that is
// frozen between this check and the write, and is displaced meanwhile, still damages the logs: no
// file system has a conditional write.
bool LogWriter::Permission::is_given() {
  constexpr milliseconds moment{20};
  const Instant now = boot_time();
  if (is_refused || now - asked_at < moment) return !is_refused;
  asked_at = now;
  is_refused = !may_write();
  return !is_refused;
}

// Runs on the writing thread.
void LogWriter::append(LogSink& sink, Batch& batch, const Hurried& hurried,
                       Permission& permission) {
  batch.is_waiting = false;
  batch.trouble.clear();
  for (; batch.written < batch.pieces.size(); ++batch.written, batch.taken = 0) {
    batch.is_refused = !permission.is_given();
    if (batch.is_refused) return;
    const LogPiece& piece = batch.pieces[batch.written];
    if (piece.ends_trial) {
      sink.end_trial(piece.of.trial);
      continue;
    }
    const auto no_room = has(hurried, piece) ? LogSink::NoRoom::is_lost : LogSink::NoRoom::waits;
    auto outcome = sink.append(piece, batch.taken, no_room);
    batch.lost += outcome.lost;
    if (batch.trouble.empty()) batch.trouble = std::move(outcome.trouble);
    batch.taken = outcome.taken;
    batch.is_waiting = outcome.is_waiting;
    if (batch.is_waiting) return;
  }
}

void LogWriter::ended(const Batch& batch) {
  if (has_left_ || has_given_up_) return;
  if (batch.is_refused) {
    leave();
    return hooks_.on_refused();
  }
  if (const auto stall = std::exchange(stalled_for_, nanoseconds(0)); stall.count() > 0)
    hooks_.print(
        terminal_text("the log disk ({}) answers again, after some {} s", place_, seconds(stall)));
  if (batch.is_waiting && !batch.is_abandoned) return wait_for_room(batch);
  if (!batch.trouble.empty()) report_trouble(TerminalText(batch.trouble));
  const bool had_room = batch.lost == 0 || no_room_since_ == Instant(0);
  if (had_room && std::exchange(no_room_since_, Instant(0)) > Instant(0) &&
      said_of_room_ <= most_said_of_room)
    hooks_.print(terminal_text("the log disk ({}) takes output again", place_));
  current_.reset();
  unsynced_bytes_ += batch.bytes;
  if (batch.is_abandoned) {
    lost_bytes_ -= batch.bytes - batch.unwritten();
  } else {
    written_ += batch.pieces.size();
    lost_bytes_ += batch.lost;
  }
  if (!waiting_.empty()) {
    begin();
  } else {
    look_.reset();
    if (is_finishing_) loop_.stop();
  }
  sync_later();
  hooks_.on_written();
}

// The bytes that wait are bounded by what hosts may send without acknowledgement; the hosts keep
// the rest.
void LogWriter::wait_for_room(const Batch& batch) {
  if (no_room_since_ == Instant(0)) {
    no_room_since_ = loop_.now();
    if (++said_of_room_ <= most_said_of_room)
      hooks_.print(
          terminal_text("{}: output is kept on the hosts until there is room; where they "
                        "have none left, ranks that print wait",
                        batch.trouble));
  }
  next_try_ = loop_.after(timing_.look, [this] {
    next_try_.reset();
    if (current_) write_current();
  });
}

void LogWriter::sync_later() {
  if (has_left_ || is_syncing_ || is_finishing_ || has_given_up_ || synced_ == written_) return;
  if (unsynced_bytes_ >= much_unsynced) {
    next_sync_.reset();
    return begin_sync();
  }
  if (next_sync_) return;
  next_sync_ = loop_.after(timing_.sync, [this] {
    next_sync_.reset();
    begin_sync();
  });
}

// The writing thread determines what to sync: by then it has written everything before this
// request, and the loop has been notified of it.
void LogWriter::begin_sync() {
  if (is_finishing_ || has_given_up_ || has_left_) return;
  is_syncing_ = true;
  const auto work = std::make_shared<LogSink::Sync>();
  const auto started = background_.run([sink = sink_, work] { *work = sink->begin_sync(); },
                                       [this, work] {
                                         unsynced_bytes_ = 0;
                                         sync(written_, *work);
                                       });
  if (!started) is_syncing_ = false;  // the next piece gives up writing as well
}

void LogWriter::sync(std::uint64_t up_to, const LogSink::Sync& work) {
  const auto synced = std::make_shared<LogSink::Synced>();
  const auto started =
      syncing_.run([work, synced] { *synced = work(); },
                   [this, up_to, work, synced] { end_sync(up_to, work, *synced); });
  if (!started) end_sync(up_to, work, {started.error().diagnostics.front().message, {}});
}

void LogWriter::end_sync(std::uint64_t up_to, const LogSink::Sync& work,
                         const LogSink::Synced& synced) {
  if (has_given_up_ || has_left_) return;
  if (!synced.lost.empty() && !std::exchange(has_reported_sync_loss_, true))
    hooks_.print(
        terminal_text("{}: output that was just written may be missing from the logs after "
                      "a crash of this machine",
                      synced.lost));
  if (!synced.trouble.empty()) {
    if (!std::exchange(has_reported_sync_trouble_, true))
      hooks_.print(terminal_text("{}: until this passes, what ranks print is kept on their hosts",
                                 synced.trouble));
    next_sync_ = loop_.after(timing_.sync, [this, up_to, work] { sync(up_to, work); });
    return;
  }
  is_syncing_ = false;
  synced_ = std::max(synced_, up_to);
  sync_later();
  hooks_.on_written();
}

void LogWriter::look() {
  look_ = loop_.after(timing_.look, [this] { look(); });
  const nanoseconds busy = background_.busy_for().value_or(nanoseconds(0));
  const bool is_last = end_is_near_ || is_finishing_;
  const bool hangs = busy >= timing_.last_stall;
  // Only between two tries, when it is known what was written.
  const Instant long_ago = loop_.now() - timing_.last_stall;
  const bool is_full =
      next_try_ != nullptr && no_room_since_ > Instant(0) && no_room_since_ <= long_ago;
  if (is_last && (hangs || is_full)) return give_up();
  if (hangs)
    hurry_ended(loop_.now());
  else if (is_full)
    hurry_ended(long_ago);
  if (hangs) abandon_ended(busy);
  if (busy < timing_.stall) return;
  if (std::exchange(stalled_for_, busy).count() > 0) return;
  hooks_.print(
      terminal_text("the log disk ({}) has not answered for {} s; ranks that print wait for it",
                    place_, seconds(busy)));
}

// Only attempts that had ended at time `by`: as at the end of the task, a disk that has been full
// for long gets a last chance.
void LogWriter::hurry_ended(Instant by) {
  for (const auto& [trial, ended] : ended_)
    if (ended.at <= by) hurried_[trial] = ended.attempt;
}

// Pieces are counted in order, so a piece that must be waited for blocks those behind it.
bool LogWriter::is_abandonable(const Batch& batch) const {
  return std::all_of(batch.pieces.begin(), batch.pieces.end(),
                     [this](const LogPiece& piece) { return has(hurried_, piece); });
}

// The abandoned pieces are never of the next attempt, which begins only once these count as
// written.
void LogWriter::abandon_ended(nanoseconds busy) {
  if (!current_ || current_->is_abandoned || !is_abandonable(*current_)) return;
  current_->is_abandoned = true;
  written_ += current_->pieces.size();
  lost_bytes_ += current_->bytes;
  for (; !waiting_.empty() && is_abandonable(*waiting_.front()); waiting_.pop_front()) {
    written_ += waiting_.front()->pieces.size();
    lost_bytes_ += waiting_.front()->bytes;
  }
  stalled_for_ = busy;
  hooks_.print(
      terminal_text("the log disk ({}) has not answered for {} s: the last output of the attempt "
                    "that has ended may be missing",
                    place_, seconds(busy)));
  report_written_later();
}

// Restarts the timeout, so that a disk that has been full for long gets a last chance.
void LogWriter::expect_end() {
  if (!std::exchange(end_is_near_, true) && no_room_since_ > Instant(0))
    no_room_since_ = loop_.now();
}

void LogWriter::expect_another(AttemptId ended) {
  ended_[ended.trial] = {ended.attempt, loop_.now()};
}

void LogWriter::give_up() {
  look_.reset();
  next_sync_.reset();
  has_given_up_ = true;
  const nanoseconds busy = background_.busy_for().value_or(nanoseconds(0));
  if (busy.count() > 0)
    hooks_.print(
        terminal_text("the log disk ({}) has not answered for {} s, and is not waited for any "
                      "longer",
                      place_, seconds(busy)));
  for (const auto& batch : waiting_) lost_bytes_ += batch->bytes;
  if (current_ && !current_->is_abandoned) lost_bytes_ += unwritten_of_current();
  next_try_.reset();
  waiting_.clear();
  current_.reset();
  written_ = synced_ = taken_;
  if (is_finishing_) loop_.stop();
  report_written_later();
}

// Deferred, since the owner may be calling `write` now.
void LogWriter::report_written_later() {
  loop_.post([this] { hooks_.on_written(); });
}

// While the thread may be writing the batch, all of it counts as lost.
std::uint64_t LogWriter::unwritten_of_current() const {
  return next_try_ ? current_->unwritten() : current_->bytes;
}

void LogWriter::finish() {
  expect_end();
  is_finishing_ = true;
  next_sync_.reset();
  if (current_) loop_.run();
  if (lost_bytes_ > 0)
    hooks_.print(terminal_text("{} bytes of output are not in the logs ({})", lost_bytes_, place_));
}

void LogWriter::leave() {
  has_left_ = true;
  look_.reset();
  next_sync_.reset();
  next_try_.reset();
  waiting_.clear();
  current_.reset();
  if (is_finishing_) loop_.stop();
}

void LogWriter::report_trouble(const TerminalText& trouble) {
  if (!std::exchange(has_reported_trouble_, true)) hooks_.print(trouble);
}

}  // namespace train
