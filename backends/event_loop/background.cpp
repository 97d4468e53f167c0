// SPDX-License-Identifier: Apache-2.0
#include "backends/event_loop/background.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

#include "backends/posix/child.hpp"

namespace train {

namespace {

constexpr std::chrono::seconds longest_rest{2};

struct Piece {
  std::function<void()> work;
  std::function<void()> done;
};

}  // namespace

// Shared with the thread, which may outlive the owner. `loop` is null once the owner is gone; it is
// used only while the mutex is held, so never after that.
struct Background::State : std::enable_shared_from_this<State> {
  State(Loop& of_owner, Idle when_idle) : idle(when_idle), loop(&of_owner) {}

  void work();
  bool await_work(std::unique_lock<std::mutex>& lock);

  const Idle idle;

  std::mutex mutex;
  std::condition_variable changed;
  Loop* loop;
  std::deque<Piece> waiting;
  std::optional<Instant> busy_since;
  bool has_thread = false;
};

// False when the thread is to end.
bool Background::State::await_work(std::unique_lock<std::mutex>& lock) {
  const auto has_changed = [this] { return loop == nullptr || !waiting.empty(); };
  if (idle == Idle::stays)
    changed.wait(lock, has_changed);
  else if (!changed.wait_for(lock, longest_rest, has_changed))
    has_thread = false;
  return has_thread && loop != nullptr;
}

void Background::State::work() {
  std::unique_lock lock(mutex);
  while (await_work(lock)) {
    Piece piece = std::move(waiting.front());
    waiting.pop_front();
    busy_since = boot_time();
    lock.unlock();
    std::exception_ptr thrown;
    try {
      piece.work();
    } catch (...) {
      thrown = std::current_exception();
    }
    piece.work = nullptr;  // its captures are destroyed on this thread
    lock.lock();
    busy_since.reset();
    if (loop == nullptr) return;
    loop->post([weak = weak_from_this(), done = std::move(piece.done), thrown = std::move(thrown)] {
      // Runs on the loop's thread, the only one that uses the owner.
      const auto state = weak.lock();
      if (!state || state->loop == nullptr) return;
      if (thrown) std::rethrow_exception(thrown);
      if (done) done();
    });
  }
}

Background::Background(Loop& loop, Idle idle)
    : loop_(loop), state_(std::make_shared<State>(loop, idle)) {}

Background::~Background() {
  std::deque<Piece> forgotten;  // destroyed without the lock: their captures may be anything
  {
    const std::lock_guard lock(state_->mutex);
    state_->loop = nullptr;
    forgotten.swap(state_->waiting);
  }
  state_->changed.notify_all();
}

Result<void> Background::run(std::function<void()> work, std::function<void()> done) {
  const std::lock_guard lock(state_->mutex);
  if (!state_->has_thread) {
    if (auto started = start_thread([state = state_] { state->work(); }); !started) return started;
    state_->has_thread = true;
  }
  state_->waiting.push_back({std::move(work), std::move(done)});
  state_->changed.notify_one();
  return {};
}

std::optional<nanoseconds> Background::busy_for() const {
  const std::lock_guard lock(state_->mutex);
  if (!state_->busy_since) return std::nullopt;
  return std::max(loop_.now() - *state_->busy_since, nanoseconds(0));
}

}  // namespace train
