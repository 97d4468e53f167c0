// SPDX-License-Identifier: Apache-2.0
#include "launcher/connections/clock_offset.hpp"

namespace train {

void ClockOffset::add(Instant sent, Instant answered, Instant received) {
  if (received < sent) return;  // an answer to a question that was never asked
  const nanoseconds round_trip = received - sent;
  // A longer round trip that is older than this one can never be the minimum again.
  while (!samples_.empty() && samples_.back().round_trip >= round_trip) samples_.pop_back();
  samples_.push_back({received, answered - sent - round_trip / 2, round_trip});
  while (samples_.front().received + memory < received) samples_.pop_front();
}

std::optional<AlignedInstant> ClockOffset::align(Instant host_instant) const {
  if (samples_.empty()) return std::nullopt;
  const Sample& best = samples_.front();
  return AlignedInstant{host_instant - best.offset, best.round_trip / 2};
}

}  // namespace train
