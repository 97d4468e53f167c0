// SPDX-License-Identifier: Apache-2.0
#include "backends/event_loop/loop.hpp"
#include "backends/posix/timespec.hpp"

#include <poll.h>
#include <time.h>

#include <asio/error.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <map>
#include <system_error>
#include <vector>

namespace train {

namespace {

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

struct Subscriber {
  explicit Subscriber(std::function<void()> on_ready) : callback(std::move(on_ready)) {}

  std::function<void()> callback;
  bool ended = false;
};

// A descriptor and all its subscribers. epoll accepts a descriptor only once, and watching a copy
// would need another descriptor, of which there may be none left.
class WatchedDescriptor : public std::enable_shared_from_this<WatchedDescriptor> {
 public:
  using Wait = asio::posix::stream_descriptor::wait_type;
  using All = std::map<int, WatchedDescriptor*>;  // by descriptor

  WatchedDescriptor(asio::io_context& context, Instant& now, std::shared_ptr<All> all, int fd)
      : now_(now), all_(std::move(all)), fd_(fd), descriptor_(context), retry_(context) {
    all_->emplace(fd_, this);
  }
  ~WatchedDescriptor() { release(); }
  WatchedDescriptor(const WatchedDescriptor&) = delete;
  WatchedDescriptor& operator=(const WatchedDescriptor&) = delete;

  void add(Wait wait, const std::shared_ptr<Subscriber>& subscriber) {
    Direction& direction = of(wait);
    direction.subscribers.push_back(subscriber);
    arm(wait);
  }

  void remove(Wait wait, const std::shared_ptr<Subscriber>& subscriber) {
    std::erase(of(wait).subscribers, subscriber);
    if (read_.subscribers.empty() && write_.subscribers.empty()) release();
  }

 private:
  struct Direction {
    std::vector<std::shared_ptr<Subscriber>> subscribers;
    bool is_armed = false;
  };

  Direction& of(Wait wait) { return wait == Wait::wait_read ? read_ : write_; }

  // On failure tries again later: the kernel may be short of memory, or of watches for this user.
  // Subscribers that cannot wait have timeouts of their own.
  void arm(Wait wait) {
    if (of(wait).is_armed || of(wait).subscribers.empty() || is_released_) return;
    std::error_code error;
    if (!descriptor_.is_open()) descriptor_.assign(fd_, error);
    if (error) return arm_later();
    of(wait).is_armed = true;
    descriptor_.async_wait(wait, [self = shared_from_this(), wait](std::error_code failure) {
      self->of(wait).is_armed = false;
      if (self->is_released_ || failure == asio::error::operation_not_supported) return;
      if (failure) return self->arm_later();
      if (!self->is_ready(wait)) return self->arm(wait);
      self->call_and_arm(wait);
    });
  }

  // Checks the descriptor itself: an event may still come for an earlier descriptor that had the
  // same number.
  bool is_ready(Wait wait) const {
    pollfd polled{fd_, static_cast<short>(wait == Wait::wait_read ? POLLIN : POLLOUT), 0};
    return ::poll(&polled, 1, 0) != 0;
  }

  void arm_later() {
    constexpr auto pause = std::chrono::milliseconds(100);
    retry_.expires_after(pause);
    retry_.async_wait([self = shared_from_this()](std::error_code error) {
      if (error) return;
      self->arm(Wait::wait_read);
      self->arm(Wait::wait_write);
    });
  }

  void call(Wait wait) {
    now_ = boot_time();
    const auto subscribers = of(wait).subscribers;  // a copy: callbacks may add or remove some
    for (const auto& subscriber : subscribers) {
      const auto callback = subscriber->callback;
      if (!subscriber->ended) callback();
    }
  }

  // An exception of the callback leaves through `run`, and the subscription stays.
  void call_and_arm(Wait wait) {
    try {
      call(wait);
    } catch (...) {
      arm(wait);
      throw;
    }
    arm(wait);
  }

  // The descriptor belongs to the caller: Asio must release it without closing it.
  void release() {
    if (is_released_) return;
    is_released_ = true;
    all_->erase(fd_);
    retry_.cancel();
    if (descriptor_.is_open()) descriptor_.release();
  }

  Instant& now_;  ///< the loop's
  std::shared_ptr<All> all_;
  int fd_;
  asio::posix::stream_descriptor descriptor_;
  asio::steady_timer retry_;
  Direction read_;
  Direction write_;
  bool is_released_ = false;
};

struct DescriptorState {
  DescriptorState(std::shared_ptr<WatchedDescriptor> watched_descriptor,
                  WatchedDescriptor::Wait wait_for, std::function<void()> callback)
      : watched(std::move(watched_descriptor)),
        wait(wait_for),
        subscriber(std::make_shared<Subscriber>(std::move(callback))) {
    watched->add(wait, subscriber);
  }

  void end() const {
    subscriber->ended = true;
    watched->remove(wait, subscriber);
  }

  std::shared_ptr<WatchedDescriptor> watched;
  WatchedDescriptor::Wait wait;
  std::shared_ptr<Subscriber> subscriber;
};

struct SignalState {
  SignalState(asio::io_context& context, std::function<void(int)> on_signal)
      : signals(context), callback(std::move(on_signal)) {}

  // Restores the default effect of the signals now, not when the last handler has run.
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
  Instant now = boot_time();
  std::shared_ptr<WatchedDescriptor::All> watched = std::make_shared<WatchedDescriptor::All>();
  // Made here because Asio opens its descriptors for signals with the first set; later no
  // descriptors may be left.
  asio::signal_set signals{context};

  template <class State, class Callback, class... Arguments>
  void call(const std::shared_ptr<State>& state, const Callback& callback, Arguments... arguments) {
    now = boot_time();
    if (!state->ended) callback(arguments...);
  }

  void arm(const std::shared_ptr<SignalState>& state) {
    state->signals.async_wait([this, state](std::error_code error, int number) {
      if (error || state->ended) return;
      const auto callback = state->callback;
      try {
        call(state, callback, number);
      } catch (...) {
        if (!state->ended) arm(state);
        throw;
      }
      if (!state->ended) arm(state);
    });
  }

  std::unique_ptr<Subscription> watch(int fd, WatchedDescriptor::Wait wait,
                                      std::function<void()> callback) {
    const auto known = watched->find(fd);
    const auto descriptor = known != watched->end()
                                ? known->second->shared_from_this()
                                : std::make_shared<WatchedDescriptor>(context, now, watched, fd);
    return std::make_unique<Owner<DescriptorState>>(
        std::make_shared<DescriptorState>(descriptor, wait, std::move(callback)));
  }
};

Instant boot_time() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return in_nanoseconds(time);
}

Loop::Loop() : impl_(std::make_shared<Impl>()) {}
Loop::Loop(Loop& whole) : impl_(whole.impl_) {}
Loop::~Loop() = default;

void Loop::run() {
  const auto keep_running = asio::make_work_guard(impl_->context);
  impl_->context.restart();
  impl_->context.run();
}

void Loop::stop() { impl_->context.stop(); }

void Loop::post(std::function<void()> callback) {
  // Captures only weak references to the loop: `impl` owns the queue that holds this callback.
  asio::post(impl_->context, [impl = impl_.get(), is_there = std::weak_ptr(is_there_),
                              callback = std::move(callback)] {
    if (is_there.expired()) return;
    impl->now = boot_time();
    callback();
  });
}

std::unique_ptr<Subscription> Loop::after(nanoseconds delay, std::function<void()> callback) {
  auto state = std::make_shared<TimerState>(impl_->context, std::move(callback));
  state->timer.expires_after(delay);
  state->timer.async_wait([impl = impl_.get(), state](std::error_code error) {
    if (error) return;
    const auto on_time = state->callback;
    impl->call(state, on_time);
  });
  return std::make_unique<Owner<TimerState>>(state);
}

std::unique_ptr<Subscription> Loop::when_readable(int fd, std::function<void()> callback) {
  return impl_->watch(fd, WatchedDescriptor::Wait::wait_read, std::move(callback));
}

std::unique_ptr<Subscription> Loop::when_writable(int fd, std::function<void()> callback) {
  return impl_->watch(fd, WatchedDescriptor::Wait::wait_write, std::move(callback));
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
