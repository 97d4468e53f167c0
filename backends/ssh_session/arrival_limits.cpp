// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_session/arrival_limits.hpp"

#include <algorithm>

namespace train {

namespace {

constexpr std::string_view greeting_mark = "SSH-";  // RFC 4253, section 4.2

}  // namespace

Excess ArrivalLimits::take(std::string_view bytes) {
  left_in_turn_ -= std::min(left_in_turn_, bytes.size());
  taken_ += bytes.size();
  if (!has_greeted_) {
    read_greeting(bytes);
    return !has_greeted_ && taken_ > most_greeting ? Excess::greeting : Excess::none;
  }
  if (!is_logged_in_) return taken_ > most_before_login ? Excess::before_login : Excess::none;
  return taken_ > most_idle ? Excess::idle : Excess::none;
}

// Other lines may precede the greeting.
void ArrivalLimits::read_greeting(std::string_view bytes) {
  for (const char c : bytes) {
    const bool is_greeting = matched_ == greeting_mark.size();
    if (c == '\n') {
      has_greeted_ = is_greeting;
      if (has_greeted_) return;
      matched_ = 0;
      is_other_line_ = false;
    } else if (!is_greeting && !is_other_line_) {
      is_other_line_ = c != greeting_mark[matched_];
      matched_ = is_other_line_ ? 0 : matched_ + 1;
    }
  }
}

void ArrivalLimits::log_in() {
  is_logged_in_ = true;
  taken_ = 0;
}

void ArrivalLimits::use(std::size_t count) {
  taken_ -= std::min(taken_, count + std::min(count, most_idle) * most_overhead);
}

}  // namespace train
