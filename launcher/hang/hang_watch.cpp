// SPDX-License-Identifier: Apache-2.0
#include "launcher/hang/hang_watch.hpp"

#include <algorithm>

namespace train {

void HangWatch::progress(Instant now) {
  if (!last_) return;
  last_ = std::max(*last_, now);
  question_.reset();
  states_.clear();
}

void HangWatch::end() {
  last_.reset();
  question_.reset();
  states_.clear();
}

void HangWatch::missed(nanoseconds time, Instant now) {
  if (last_) last_ = std::min(*last_ + std::max(time, nanoseconds(0)), now);
}

void HangWatch::postpone(Instant until) {
  not_before_ = until;
  question_.reset();
}

void HangWatch::asked(std::set<int> hosts, Instant now) {
  const bool is_about_states = question_.has_value();
  question_ = {is_about_states, std::move(hosts), now + rules_.answer_limit};
}

bool HangWatch::answered(int host, const message::RanksSeen& seen, Instant now) {
  if (!last_) return false;
  // A heartbeat that was seen before is no progress.
  if (seen.touched) last_ = std::max(*last_, now - *seen.touched);
  const bool is_awaited = question_ && question_->is_about_states == seen.has_states;
  if (!is_awaited || question_->hosts.erase(host) == 0) return false;
  for (const RankState& state : seen.states) states_[state.rank] = state;
  return true;
}

bool HangWatch::is_hang_due(Instant now) const {
  return rules_.timeout > milliseconds(0) && now >= *last_ + rules_.timeout;
}

HangWatch::Step HangWatch::next(Instant now) {
  const auto deadline = next_deadline();
  if (!deadline) return Step::none;
  const bool has_answers = question_ && question_->hosts.empty();
  if (!has_answers && now < *deadline) return Step::none;
  if (!question_) return Step::ask;
  const bool has_states = question_->is_about_states;
  if (is_hang_due(now)) {
    return has_states ? Step::hang : Step::ask_states;
  }
  question_.reset();
  if (has_told_ || now < *last_ + rules_.notice) return Step::none;
  has_told_ = true;
  return Step::tell;
}

std::optional<Instant> HangWatch::next_deadline() const {
  if (!last_) return std::nullopt;
  if (question_) return question_->until;
  std::optional<Instant> next;
  if (!has_told_) next = *last_ + rules_.notice;
  if (rules_.timeout > milliseconds(0))
    next = std::min(next.value_or(Instant::max()), Instant(*last_ + rules_.timeout));
  if (next) next = std::max(*next, not_before_);
  return next;
}

}  // namespace train
