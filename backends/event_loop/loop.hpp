// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>

#include "launcher/ports/timers.hpp"

namespace asio {
class io_context;
}

namespace train {

/// CLOCK_BOOTTIME at this moment, unlike `Loop::now`. From any thread.
Instant boot_time();

/// The event loop of one thread: callbacks on descriptors, timers, signals and posted work. Time is
/// read once per wake-up. Only `post` is thread-safe. The constructor opens all descriptors that
/// the loop itself needs, and may throw std::system_error; later calls do not fail for lack of
/// descriptors.
class Loop final : public Timers {
 public:
  Loop();
  /// A part of another loop: it runs with that one; callbacks posted to it are dropped once it is
  /// destroyed. For users of a loop that outlives them.
  explicit Loop(Loop& whole);
  ~Loop() override;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Runs callbacks until `stop`. An exception of a callback leaves through here; the subscriptions
  /// stay, and `run` may be called again.
  void run();
  /// Makes `run` return after the current callback.
  void stop();
  /// Runs `callback` soon, from the loop; may be called from any thread.
  void post(std::function<void()> callback) override;

  /// Calls back once, after `delay`.
  [[nodiscard]] std::unique_ptr<Subscription> after(nanoseconds delay,
                                                    std::function<void()> callback) override;
  /// Calls back whenever `fd` can be read (or has an error or end to report). The descriptor must
  /// stay open as long as the subscription, which neither closes it nor needs another one.
  [[nodiscard]] std::unique_ptr<Subscription> when_readable(int fd, std::function<void()> callback);
  /// Calls back whenever `fd` can be written.
  [[nodiscard]] std::unique_ptr<Subscription> when_writable(int fd, std::function<void()> callback);
  /// Calls back with the number of each of these signals, outside of signal context. They get their
  /// default effect back when the last subscription to them ends.
  [[nodiscard]] std::unique_ptr<Subscription> on_signals(std::initializer_list<int> signals,
                                                         std::function<void(int)> callback);

  /// CLOCK_BOOTTIME, as of the current wake-up.
  Instant now() const override;

  /// For backends that drive a library with Asio themselves.
  asio::io_context& context();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  ///< shared with its parts
  std::shared_ptr<const bool> is_there_ = std::make_shared<const bool>(true);
};

}  // namespace train
