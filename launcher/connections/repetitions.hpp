// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>

#include "config_schema/text/error.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// Counts messages of a host that change nothing. They still cost work: the limit keeps a host from
/// making the launcher busy with them.
class Repetitions {
 public:
  /// A large multiple of what an agent sends between two pings.
  static constexpr int most = 100;

  /// `count` more repetitions are expected, and not counted.
  void expect(int count) { count_ = std::min(count_, 0) - count; }
  /// Counts one; false if there are too many within `span`.
  bool add(Instant now, nanoseconds span) {
    if (now >= since_ + span) {
      since_ = now;
      count_ = std::min(count_, 0);
    }
    return ++count_ <= most;
  }

 private:
  Instant since_{0};
  int count_ = 0;
};

inline constexpr const char* not_our_agent =
    "something other than the agent of this version of train answers there";

/// The error for a host that has sent too many.
inline Error flood_error(nanoseconds span) {
  return make_error(ErrorClass::host,
                    fmt::format("floods: more than {} messages in {} s that say nothing new",
                                Repetitions::most, span / std::chrono::seconds(1)),
                    not_our_agent);
}

/// The error for a host that has sent a message that is not due now.
inline Error unexpected_message_error(const char* what) {
  return make_error(ErrorClass::host, fmt::format("sent {} out of turn", what), not_our_agent);
}

}  // namespace train
