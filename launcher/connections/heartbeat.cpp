// SPDX-License-Identifier: Apache-2.0
#include "launcher/connections/heartbeat.hpp"

#include <algorithm>

namespace train {

void Heartbeat::asked(Instant now) {
  last_asked_ = now;
  trusted_at_ = std::max(trusted_at_, newest_pong_at_);
  unanswered_.push_back(now);
  if (unanswered_.size() > most_unanswered) unanswered_.pop_front();
}

bool Heartbeat::answered(const message::Pong& pong, Instant now) {
  const auto question = std::find(unanswered_.begin(), unanswered_.end(), pong.sent);
  if (question == unanswered_.end()) return false;
  unanswered_.erase(unanswered_.begin(), question + 1);
  clock_.add(pong.sent, pong.answered, now);
  if (pong.answered > newest_pong_) {
    newest_pong_ = pong.answered;
    newest_pong_at_ = now;
  }
  return true;
}

}  // namespace train
