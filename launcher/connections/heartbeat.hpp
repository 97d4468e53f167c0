// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>

#include "launcher/connections/clock_offset.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// The pings of one host: when it was last alive, and how its clock differs from the launcher's.
/// Instants are the launcher's clock unless said otherwise.
class Heartbeat {
 public:
  /// Something came from the host.
  void note_sign_of_life(Instant now) { last_heard_ = now; }
  /// A ping was sent, which tells the host of the newest pong received.
  void asked(Instant now);
  /// A pong came. It is ignored unless it answers a ping that was sent and not answered yet, so
  /// that no host can make up round trips; then false.
  bool answered(const message::Pong& pong, Instant now);

  /// A message other than a pong from which the host may count its reconnect window: the host is
  /// trusted from now on.
  void trust(Instant now) { trusted_at_ = now; }
  /// When the launcher received the newest pong that the host was told of. The host counts from
  /// when it sent that pong: its ranks may be stopped for silence before a window from here is
  /// over, and are by then.
  Instant trusted_at() const { return trusted_at_; }
  /// `Pong::answered` of the newest pong, on the host's clock; 0: none.
  Instant newest_pong() const { return newest_pong_; }
  /// A new connection begins: pings of the old one stay unanswered.
  void forget_unanswered() { unanswered_.clear(); }

  Instant last_heard() const { return last_heard_; }
  Instant last_asked() const { return last_asked_; }
  const ClockOffset& clock() const { return clock_; }

 private:
  /// More pings than a host can leave unanswered before it counts as lost.
  static constexpr std::size_t most_unanswered = 32;

  Instant last_heard_{0};
  Instant last_asked_{0};
  Instant newest_pong_{0};
  Instant newest_pong_at_{0};  ///< when it came
  Instant trusted_at_{0};
  std::deque<Instant> unanswered_;
  ClockOffset clock_;
};

}  // namespace train
