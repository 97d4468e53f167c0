// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>

#include "config_schema/text/error.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// What a host says that changes nothing. It is still work: no host may keep the launcher busy with
/// it.
class Repetitions {
 public:
  /// Many times what an agent sends from one ping to the next.
  static constexpr int most = 100;

  /// So many are to be expected.
  void expect(int count) { count_ = std::min(count_, 0) - count; }
  /// One has come; false when they are too many within `span`.
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

/// That a host has sent too many of them.
inline Error flood_error(nanoseconds span) {
  return make_error(ErrorClass::host,
                    fmt::format("floods: more than {} messages in {} s that say nothing new",
                                Repetitions::most, span / std::chrono::seconds(1)),
                    not_our_agent);
}

/// That a host has sent what it cannot have to say now.
inline Error out_of_turn_error(const char* what) {
  return make_error(ErrorClass::host, fmt::format("sent {} out of turn", what), not_our_agent);
}

}  // namespace train
