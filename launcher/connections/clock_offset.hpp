// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <optional>

#include "launcher/ports/clock.hpp"

namespace train {

/// A point in time on the launcher's clock, known to within `bound` either way.
struct AlignedInstant {
  Instant at{0};
  nanoseconds bound{0};

  bool operator==(const AlignedInstant&) const = default;
};

/// An unknown moment between `from` and `to`.
constexpr AlignedInstant sometime(Instant from, Instant to) {
  const nanoseconds half = (to - from) / 2;
  return {from + half, half};
}

/// How far the clock of a host is ahead of the launcher's, from round trips: the sample with the
/// smallest round trip of the last minute gives the offset, with a bound of half that round trip
/// (Cristian's algorithm).
class ClockOffset {
 public:
  static constexpr milliseconds memory{60'000};

  /// A question sent and answered: `sent` and `received` on the launcher's clock, `answered` on the
  /// host's.
  void add(Instant sent, Instant answered, Instant received);
  /// A host's instant on the launcher's clock; nothing before the first round trip.
  std::optional<AlignedInstant> align(Instant host_instant) const;

 private:
  struct Sample {
    Instant received{0};
    nanoseconds offset{0};
    nanoseconds round_trip{0};
  };
  std::deque<Sample> samples_;  ///< round trips ascending from front to back
};

}  // namespace train
