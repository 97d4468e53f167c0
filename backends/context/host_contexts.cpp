// SPDX-License-Identifier: Apache-2.0
#include "backends/context/host_contexts.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <utility>

namespace train {

namespace {

constexpr std::chrono::hours touch_interval{24};
// How long an agent may take at its end to remove files.
constexpr std::chrono::seconds end_limit{3};
// The received bytes are reported to the launcher after this time, or after this many bytes.
constexpr std::chrono::milliseconds told_pause{50};
constexpr std::uint64_t told_at_once = 256u << 10;

}  // namespace

HostContexts::HostContexts(Loop& loop, std::vector<std::string> places, std::string key)
    : loop_(loop),
      places_(std::move(places)),
      key_(std::move(key)),
      keeper_(std::make_shared<ContextKeeper>(places_, key_)),
      background_(loop) {}

HostContexts::~HostContexts() {
  self_.reset();
  keeper_->cancel();
  if (!has_worked_) return;
  const auto ended = std::make_shared<std::promise<void>>();
  auto is_over = ended->get_future();
  // Cannot fail: the thread runs already.
  if (background_.run(
          [keeper = keeper_, keep_copy = is_kept_, ended] {
            keeper->end(keep_copy);
            ended->set_value();
          },
          nullptr))
    (void)is_over.wait_for(end_limit);
}

// Only one job may run at a time.
void HostContexts::work(std::function<Result<Progress>(ContextKeeper&)> job) {
  const auto result = std::make_shared<std::optional<Result<Progress>>>();
  const auto started = background_.run(
      [keeper = keeper_, job = std::move(job), result] { result->emplace(job(*keeper)); },
      [this, result, keeper = keeper_] {
        if (keeper != keeper_) return;  // the keeper was replaced meanwhile
        is_working_ = false;
        progressed(**result);
      });
  if (!started) return fail_with(started.error());
  is_working_ = has_worked_ = true;
}

void HostContexts::find(const Context& context, ContextEvents events) {
  events_ = std::move(events);
  const bool is_on_its_way = has_worked_ && state_ != State::receiving && state_ != State::over;
  if (is_on_its_way) return;
  if (has_worked_) start_over();
  work([context](ContextKeeper& keeper) { return keeper.find(context); });
}

// The files of the previous keeper are removed first, on the same thread.
void HostContexts::start_over() {
  keeper_->cancel();
  (void)background_.run([keeper = keeper_] { keeper->end(false); }, nullptr);
  keeper_ = std::make_shared<ContextKeeper>(places_, key_);
  state_ = State::searching;
  is_working_ = false;
  waiting_.clear();
  telling_.reset();
  pending_ = taken_ = told_ = 0;
}

void HostContexts::progressed(const Result<Progress>& progress) {
  if (state_ == State::over) return;
  if (!progress) return fail_with(progress.error());
  if (progress->copy) {
    state_ = State::over;
    return events_.on_ready(*progress->copy);
  }
  pending_ -= progress->taken - taken_;
  taken_ = progress->taken;
  if (state_ == State::searching) {
    state_ = State::receiving;
    events_.on_taken(0);
  } else {
    report_taken();
  }
  take_waiting();
}

void HostContexts::take(std::string_view piece) {
  // A piece in any other state was sent before it was known that it is not needed, or was never
  // requested.
  if (state_ != State::receiving) return;
  pending_ += piece.size();
  if (pending_ > context_window + context_piece_size)
    return fail_with(make_error(ErrorClass::host, "more of the context came than was asked for"));
  waiting_.emplace_back(piece);
  if (piece.size() < context_piece_size) state_ = State::unpacking;
  take_waiting();
}

void HostContexts::take_waiting() {
  if (is_working_ || waiting_.empty()) return;
  work([pieces = std::exchange(waiting_, {})](ContextKeeper& keeper) {
    return keeper.take(pieces);
  });
}

// Reports the received bytes to the launcher: often enough to show progress and to keep a window of
// any size open, but not for every piece, of which thousands may come per second. Never from inside
// this call.
void HostContexts::report_taken() {
  const bool is_much = taken_ - told_ >= told_at_once;
  if (telling_ && !is_much) return;
  const nanoseconds rest = told_at_ + told_pause - loop_.now();
  telling_ = loop_.after(is_much ? nanoseconds(0) : std::max(rest, nanoseconds(0)), [this] {
    telling_.reset();
    if (state_ != State::receiving) return;  // no more pieces are expected
    told_ = taken_;
    told_at_ = loop_.now();
    events_.on_taken(told_);
  });
}

void HostContexts::fail_with(const Error& why) {
  state_ = State::over;
  waiting_.clear();
  keeper_->cancel();
  if (has_worked_) (void)background_.run([keeper = keeper_] { keeper->end(false); }, nullptr);
  loop_.post([weak = std::weak_ptr<HostContexts*>(self_), why, keeper = keeper_] {
    const auto self = weak.lock();
    if (self && (*self)->keeper_ == keeper) (*self)->events_.on_failed(why);
  });
}

void HostContexts::keep() { is_kept_ = true; }

void HostContexts::touch_daily() {
  (void)background_.run([keeper = keeper_] { keeper->touch(); }, nullptr);
  touching_ = loop_.after(touch_interval, [this] { touch_daily(); });
}

void HostContexts::tidy() {
  if (!touching_) touch_daily();
  (void)background_.run([keeper = keeper_] { keeper->tidy(); }, nullptr);
}

}  // namespace train
