// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>

#include "launcher/run/clock_offset.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// The pings of one host: when it was last alive, and how its clock differs from the launcher's.
/// Instants are the launcher's clock unless said otherwise.
class Heartbeat {
 public:
  /// Anything at all came from the host.
  void heard(Instant now) { last_heard_ = now; }
  /// A ping was sent.
  void asked(Instant now);
  /// An answer came. It is ignored unless it answers a ping that was sent and not answered yet, so
  /// that no host can make up round trips; then false.
  bool answered(const message::Pong& pong, Instant now);

  Instant last_heard() const { return last_heard_; }
  Instant last_asked() const { return last_asked_; }
  const ClockOffset& clock() const { return clock_; }

 private:
  /// More pings than a host can leave unanswered before it counts as lost.
  static constexpr std::size_t most_unanswered = 32;

  Instant last_heard_{0};
  Instant last_asked_{0};
  std::deque<Instant> unanswered_;
  ClockOffset clock_;
};

}  // namespace train
