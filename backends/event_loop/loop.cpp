// SPDX-License-Identifier: Apache-2.0
#include "backends/event_loop/loop.hpp"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <set>
#include <system_error>

namespace train {

namespace {

Instant read_clock() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

// Asio delivers a handler even after its object was cancelled or destroyed. Every handler holds a
// weak reference to the state of its subscription, and does nothing once that is gone.
template <class State>
class Owner final : public Subscription {
 public:
  explicit Owner(std::shared_ptr<State> state) : state_(std::move(state)) {}
  ~Owner() override { state_->end(); }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

 private:
  std::shared_ptr<State> state_;
};

struct TimerState {
  TimerState(asio::io_context& context, std::function<void()> on_time)
      : timer(context), callback(std::move(on_time)) {}

  void end() {
    ended = true;
    timer.cancel();
  }

  asio::steady_timer timer;
  std::function<void()> callback;
  bool ended = false;
};

struct DescriptorState {
  using Wait = asio::posix::stream_descriptor::wait_type;

  using Watched = std::shared_ptr<std::set<int>>;

  DescriptorState(asio::io_context& context, int fd, Watched watched_fds, Wait wait,
                  std::function<void()> on_ready)
      : watched(std::move(watched_fds)),
        is_borrowed(watched->insert(fd).second),
        descriptor(context, is_borrowed ? fd : duplicate(fd)),
        wait_for(wait),
        callback(std::move(on_ready)) {}
  ~DescriptorState() { release(); }
  DescriptorState(const DescriptorState&) = delete;
  DescriptorState& operator=(const DescriptorState&) = delete;

  void end() {
    ended = true;
    release();
  }

  // epoll takes a descriptor once only, so a second subscription (to write to a socket that is
  // read) watches a copy.
  static int duplicate(int fd) {
    const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) throw std::system_error(errno, std::generic_category(), "watch a descriptor");
    return copy;
  }

  // The descriptor belongs to somebody else: Asio must let go of it without closing it.
  void release() {
    if (!descriptor.is_open()) return;
    const int fd = descriptor.release();
    if (is_borrowed)
      watched->erase(fd);
    else
      ::close(fd);
  }

  Watched watched;   ///< what is registered with epoll under its own number
  bool is_borrowed;  ///< not a copy
  asio::posix::stream_descriptor descriptor;
  Wait wait_for;
  std::function<void()> callback;
  bool ended = false;
};

struct SignalState {
  SignalState(asio::io_context& context, std::function<void(int)> on_signal)
      : signals(context), callback(std::move(on_signal)) {}

  // The signals get their default effect back now, not when the handler's last turn has come.
  void end() {
    ended = true;
    std::error_code ignored;
    signals.clear(ignored);
    signals.cancel(ignored);
  }

  asio::signal_set signals;
  std::function<void(int)> callback;
  bool ended = false;
};

}  // namespace

struct Loop::Impl {
  asio::io_context context{1};
  Instant now = read_clock();
  std::shared_ptr<std::set<int>> watched = std::make_shared<std::set<int>>();

  template <class State, class Callback, class... Arguments>
  void call(const std::shared_ptr<State>& state, const Callback& callback, Arguments... arguments) {
    now = read_clock();
    if (!state->ended) callback(arguments...);
  }

  // What a callback throws goes through `run`, and takes no subscription with it.
  template <class State, class Callback, class... Arguments>
  void call_and_arm(const std::shared_ptr<State>& state, const Callback& callback,
                    Arguments... arguments) {
    try {
      call(state, callback, arguments...);
    } catch (...) {
      if (!state->ended) arm(state);
      throw;
    }
    if (!state->ended) arm(state);
  }

  void arm(const std::shared_ptr<DescriptorState>& state) {
    state->descriptor.async_wait(state->wait_for, [this, state](std::error_code error) {
      if (error || state->ended) return;
      const auto callback = state->callback;  // the subscription may end inside the call
      call_and_arm(state, callback);
    });
  }

  void arm(const std::shared_ptr<SignalState>& state) {
    state->signals.async_wait([this, state](std::error_code error, int number) {
      if (error || state->ended) return;
      const auto callback = state->callback;
      call_and_arm(state, callback, number);
    });
  }

  std::unique_ptr<Subscription> watch(int fd, DescriptorState::Wait wait,
                                      std::function<void()> callback) {
    auto state = std::make_shared<DescriptorState>(context, fd, watched, wait, std::move(callback));
    arm(state);
    return std::make_unique<Owner<DescriptorState>>(state);
  }
};

Loop::Loop() : impl_(std::make_unique<Impl>()) {}
Loop::~Loop() = default;

void Loop::run() {
  const auto keep_running = asio::make_work_guard(impl_->context);
  impl_->context.restart();
  impl_->context.run();
}

void Loop::stop() { impl_->context.stop(); }

void Loop::post(std::function<void()> callback) {
  asio::post(impl_->context, [this, callback = std::move(callback)] {
    impl_->now = read_clock();
    callback();
  });
}

std::unique_ptr<Subscription> Loop::after(nanoseconds delay, std::function<void()> callback) {
  auto state = std::make_shared<TimerState>(impl_->context, std::move(callback));
  state->timer.expires_after(delay);
  state->timer.async_wait([this, state](std::error_code error) {
    if (error) return;
    const auto on_time = state->callback;
    impl_->call(state, on_time);
  });
  return std::make_unique<Owner<TimerState>>(state);
}

std::unique_ptr<Subscription> Loop::when_readable(int fd, std::function<void()> callback) {
  return impl_->watch(fd, DescriptorState::Wait::wait_read, std::move(callback));
}

std::unique_ptr<Subscription> Loop::when_writable(int fd, std::function<void()> callback) {
  return impl_->watch(fd, DescriptorState::Wait::wait_write, std::move(callback));
}

std::unique_ptr<Subscription> Loop::on_signals(std::initializer_list<int> signals,
                                               std::function<void(int)> callback) {
  auto state = std::make_shared<SignalState>(impl_->context, std::move(callback));
  for (const int number : signals) state->signals.add(number);
  impl_->arm(state);
  return std::make_unique<Owner<SignalState>>(state);
}

Instant Loop::now() const { return impl_->now; }

asio::io_context& Loop::context() { return impl_->context; }

}  // namespace train
