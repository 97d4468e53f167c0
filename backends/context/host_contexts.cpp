// SPDX-License-Identifier: Apache-2.0
#include "backends/context/host_contexts.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "backends/context/cache_tidying.hpp"
#include "backends/context/context_limits.hpp"
#include "backends/process/own_folder.hpp"

namespace train {

namespace {

constexpr std::chrono::hours touch_interval{24};
// Packing makes nothing larger but by a little.
constexpr std::uint64_t packing_slack = 1u << 20;
// Between two words on how much was taken, unless so much was taken meanwhile.
constexpr std::chrono::milliseconds told_pause{50};
constexpr std::uint64_t told_at_once = 256u << 10;

// Signals are the loop's, and the loop's thread's.
std::thread thread_without_signals(std::function<void()> job) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(job));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

HostContexts::HostContexts(Loop& loop, std::vector<std::string> places, std::string key)
    : loop_(loop), places_(std::move(places)), key_(std::move(key)) {}

HostContexts::~HostContexts() {
  self_.reset();
  cancelled_ = true;
  if (thread_.joinable()) thread_.join();
  // What the thread has made, and nobody has heard of.
  if (unheard_) forget(*unheard_);
  if (!held_) return;
  if (held_->copy && is_kept_) {
    (void)::futimens(held_->copy->folder.get(), nullptr);  // its age counts from now
    held_->copy.reset();
  }
  forget(*held_);
}

void HostContexts::forget(PlaceHeld& held) const {
  const std::atomic<bool> to_the_end{false};
  if (held.incoming) held.cache.forget(*held.incoming);
  if (held.copy) (void)remove_tree(held.cache.runs(), key_, to_the_end);
}

// One job at a time: the next one is only asked for by what the last one handed over.
void HostContexts::in_background(std::function<Done()> job) {
  if (thread_.joinable()) thread_.join();
  thread_ = thread_without_signals(
      [&loop = loop_, job = std::move(job), weak = std::weak_ptr<HostContexts*>(self_)] {
        loop.post([done = job(), weak] {
          if (const auto self = weak.lock()) done(**self);
        });
      });
}

void HostContexts::find(const Context& context, ContextEvents events) {
  context_ = context;
  events_ = std::move(events);
  search_.emplace(places_, context, key_);
  in_background([this]() -> Done {
    unheard_ = search_->first(cancelled_);
    return [](HostContexts& self) { self.found(); };
  });
}

void HostContexts::found() {
  held_ = std::exchange(unheard_, std::nullopt);
  if (!held_) return fail_with(no_place());
  if (held_->copy) return finished();
  state_ = State::receiving;
  events_.on_taken(0);
}

void HostContexts::take(std::string_view piece) {
  if (state_ == State::receiving) return receive(piece);
  // Anything else was on the way when it turned out not to be needed, or nobody announced it.
  if (state_ != State::moving) return;
  if (waiting_bytes_ > context_window) return;  // `moved` says so
  waiting_bytes_ += piece.size();
  waiting_.emplace_back(piece);
}

void HostContexts::receive(std::string_view piece) {
  if (taken_ + piece.size() > context_.size + packing_slack)
    return fail_with(make_error(ErrorClass::host, "the context is longer than it was said to be"));
  if (auto written = held_->cache.write(*held_->incoming, piece); !written) {
    waiting_bytes_ += piece.size();
    waiting_.emplace_front(piece);
    return move(written.error());
  }
  taken_ += piece.size();
  if (piece.size() < context_piece_size) return unpack();
  tell_taken();
}

// Often enough to show that the context moves at all, and for a window that is small or large; not
// once for every piece, of which there may be thousands in a second. Never from inside this call.
void HostContexts::tell_taken() {
  const bool is_much = taken_ - told_ >= told_at_once;
  if (telling_ && !is_much) return;
  const nanoseconds rest = told_at_ + told_pause - loop_.now();
  telling_ = loop_.after(is_much ? nanoseconds(0) : std::max(rest, nanoseconds(0)), [this] {
    telling_.reset();
    if (state_ != State::receiving) return;  // a later piece tells it
    told_ = taken_;
    told_at_ = loop_.now();
    events_.on_taken(told_);
  });
}

// What was received is copied over, so that nothing has to be sent again.
void HostContexts::move(const Error& why) {
  state_ = State::moving;
  in_background([this, why]() -> Done {
    unheard_ = search_->next({held_->incoming->file.get(), taken_, false}, why, cancelled_);
    return [](HostContexts& self) { self.moved(); };
  });
}

void HostContexts::moved() {
  forget(*held_);
  held_ = std::exchange(unheard_, std::nullopt);
  if (!held_) return fail_with(no_place());
  if (waiting_bytes_ > context_window)
    return fail_with(make_error(ErrorClass::host, "more of the context came than was asked for"));
  state_ = State::receiving;
  while (state_ == State::receiving && !waiting_.empty()) {
    const std::string piece = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= piece.size();
    receive(piece);
  }
}

void HostContexts::unpack() {
  state_ = State::unpacking;
  in_background([this]() -> Done {
    const int file = held_->incoming->file.get();
    auto copy = held_->cache.copy(file, context_, key_, cancelled_);
    if (copy) {
      held_->copy = std::move(*copy);
      return [](HostContexts& self) { self.finished(); };
    }
    unheard_ = search_->next({file, taken_, true}, copy.error(), cancelled_);
    return [](HostContexts& self) {
      self.forget(*self.held_);
      self.held_ = std::exchange(self.unheard_, std::nullopt);
      if (!self.held_) return self.fail_with(self.no_place());
      self.finished();
    };
  });
}

void HostContexts::finished() {
  if (!held_->copy)
    return fail_with(make_error(ErrorClass::host,
                                "the context that came is not the one that was announced",
                                "try again; if it stays so, look for a failing disk or memory"));
  state_ = State::over;
  search_.reset();
  if (held_->incoming) held_->cache.commit(*held_->incoming, context_);
  held_->incoming.reset();
  events_.on_ready(held_->copy->path);
}

Error HostContexts::no_place() const {
  return make_error(ErrorClass::host,
                    fmt::format("no place takes the context ({}): {}", size_text(context_.size),
                                search_->reasons()),
                    "make room in one of these places, or let it be written to");
}

void HostContexts::fail_with(const Error& why) {
  state_ = State::over;
  if (held_) forget(*held_);
  held_.reset();
  waiting_.clear();
  loop_.post([weak = std::weak_ptr<HostContexts*>(self_), why] {
    if (const auto self = weak.lock()) (*self)->events_.on_failed(why);
  });
}

void HostContexts::keep() {
  if (!std::exchange(is_kept_, true)) touch_daily();
}

// What is in use for weeks is not old, whatever tidies there, on whatever host.
void HostContexts::touch_daily() {
  if (held_ && held_->copy) (void)::futimens(held_->copy->folder.get(), nullptr);
  mark_own_binary_used();
  touching_ = loop_.after(touch_interval, [this] { touch_daily(); });
}

void HostContexts::tidy() {
  in_background([this]() -> Done {
    tidy_caches(places_, cancelled_);
    return [](HostContexts&) {};
  });
}

}  // namespace train
