// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "tests/launcher/simulation/scenario.hpp"
#include "tests/launcher/simulation/virtual_time.hpp"

namespace train::simulation {

/// One direction of a connection, as TCP is: bytes arrive late, in pieces of any size, in order;
/// at the speed of the line; while the network is cut they wait; when it breaks they are gone.
class OneWay {
 public:
  struct Receiver {
    std::function<void(std::string_view)> on_bytes;
    std::function<void()> on_closed;
  };
  OneWay(VirtualTime& time, Chance& chance, const HostScript& script, Way way, Receiver receiver)
      : time_(time), chance_(chance), script_(script), way_(way), receiver_(std::move(receiver)) {}

  void deliver_to(Receiver receiver) { receiver_ = std::move(receiver); }
  void send(std::string bytes) { push(std::move(bytes)); }
  /// The sender closes; what was sent before still arrives.
  void close() { push(std::nullopt); }
  /// The receiver closes, or the connection breaks: nothing arrives any more.
  void forget() {
    ++generation_;
    queue_.clear();
  }
  /// Nothing that was sent or will be sent arrives; the receiver may hear of the end.
  void break_off(bool is_heard) {
    if (is_broken_) return;
    forget();
    if (is_heard) close();
    is_broken_ = true;
  }

 private:
  void push(std::optional<std::string> bytes) {
    if (is_broken_) return;
    nanoseconds on_the_line{0};
    if (script_.bytes_per_second > 0 && bytes)
      on_the_line = nanoseconds(bytes->size() * 1'000'000'000 / script_.bytes_per_second);
    queue_.push_back(std::move(bytes));
    last_arrival_ =
        std::max(last_arrival_, time_.now() + script_.latency + chance_.up_to(script_.jitter)) +
        on_the_line;
    time_.at(last_arrival_, [this, generation = generation_] { arrive(generation); });
  }
  void arrive(int generation) {
    if (generation != generation_ || queue_.empty()) return;
    if (const auto until = script_.cut_until(way_, time_.now()))
      stalled_until_ = std::max(stalled_until_, *until);
    if (time_.now() < stalled_until_) {
      if (stalled_until_ < HostScript::never)
        time_.at(stalled_until_, [this, generation] { arrive(generation); });
      return;
    }
    const std::optional<std::string> bytes = std::move(queue_.front());
    queue_.pop_front();
    if (!bytes) return receiver_.on_closed();
    const std::size_t cut = chance_.below(bytes->size() + 1);
    receiver_.on_bytes(std::string_view(*bytes).substr(0, cut));
    if (generation == generation_) receiver_.on_bytes(std::string_view(*bytes).substr(cut));
  }

  VirtualTime& time_;
  Chance& chance_;
  const HostScript& script_;
  Way way_;
  Receiver receiver_;
  std::deque<std::optional<std::string>> queue_;
  Instant last_arrival_{0};
  Instant stalled_until_{0};
  bool is_broken_ = false;
  int generation_ = 0;
};

}  // namespace train::simulation
