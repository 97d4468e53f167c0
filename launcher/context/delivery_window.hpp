// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

#include "launcher/context/context.hpp"

namespace train {

/// How much of a packed context may be in flight to a host: what the host takes in about two
/// seconds, so that other messages wait behind the context not much longer than that, however slow
/// the link is. Bytes are counted from the beginning of the packed context; instants are of one
/// clock.
class DeliveryWindow {
 public:
  /// How long the last byte of a full window waits in front of the link.
  static constexpr std::chrono::seconds longest_queue{2};
  /// What may always be in flight, also initially: two seconds at 16 KB/s.
  static constexpr std::uint64_t smallest = 2 * context_piece_size;

  /// All bytes before `end` have been sent; no less than before.
  void sent(std::uint64_t end, std::chrono::nanoseconds now);
  /// The host reports that it took this many bytes; no more than were sent.
  void taken(std::uint64_t bytes, std::chrono::nanoseconds now);
  /// Bytes before this may be sent: never more than `context_window` beyond what was taken.
  std::uint64_t end() const { return taken_ + size_; }

 private:
  struct Sent {
    std::uint64_t end = 0;
    std::uint64_t on_its_way = 0;  ///< bytes in flight up to there, when it was sent
    std::chrono::nanoseconds at{0};
  };
  std::deque<Sent> unanswered_;  ///< no more than fit into `context_window`
  std::uint64_t taken_ = 0;
  std::uint64_t size_ = smallest;
};

}  // namespace train
