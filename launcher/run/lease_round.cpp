// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/lease_round.hpp"

#include <algorithm>

namespace train {

LeaseRound::LeaseRound(std::string task, int hosts, Timing timing)
    : task_(std::move(task)),
      timing_(timing),
      hosts_(static_cast<std::size_t>(hosts)),
      checks_(hosts_.size()),
      lacking_(hosts),
      back_off_(timing.back_off) {}

void LeaseRound::become(OfHost& host, State state) {
  const auto lacks = [](State each) { return each != State::holds && each != State::exempt; };
  lacking_ += static_cast<int>(lacks(state)) - static_cast<int>(lacks(host.state));
  host.state = state;
}

void LeaseRound::expect(int host, Instant now) {
  OfHost& h = at(host);
  become(h, State::trying);
  ++h.answers_due;
  ++answers_due_;
  h.answer_by = now + timing_.answer_limit;
  checks_.schedule(host, h.answer_by);
}

void LeaseRound::expect_no_more(OfHost& host) {
  answers_due_ -= host.answers_due;
  host.answers_due = host.stale_answers = 0;
}

void LeaseRound::try_later(int host, Instant when) {
  try_no_more(at(host));
  at(host).try_at = when;
  ++tries_;
  checks_.schedule(host, when);
}

void LeaseRound::try_no_more(OfHost& host) {
  if (host.try_at) --tries_;
  host.try_at.reset();
}

void LeaseRound::take(int host, Instant now) {
  try_no_more(at(host));
  expect(host, now);
  actions_.push_back({Step::take, host});
}

bool LeaseRound::is_elder(const std::vector<LeaseHolder>& others) const {
  return std::all_of(others.begin(), others.end(),
                     [this](const LeaseHolder& other) { return task_ < other.task; });
}

// Answers of a host to earlier requests no longer count.
void LeaseRound::release_for_elder(Instant now) {
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    OfHost& host = hosts_[i];
    try_no_more(host);
    host.stale_answers = host.answers_due;
    const bool has_something =
        host.state == State::trying || host.state == State::holds || host.state == State::blocked;
    if (!has_something) continue;
    become(host, State::dropped);
    actions_.push_back({Step::drop, static_cast<int>(i)});
  }
  all_again_at_ = now + back_off_;
  back_off_ = std::min(2 * back_off_, timing_.longest_back_off);
}

void LeaseRound::answered(int host, std::vector<LeaseHolder> blockers, Instant now) {
  OfHost& h = at(host);
  --h.answers_due;
  --answers_due_;
  if (h.stale_answers > 0) {
    --h.stale_answers;
    return;
  }
  // The first answer of a host that was reached while all others release their leases.
  if (all_again_at_) {
    become(h, State::dropped);
    return actions_.push_back({Step::drop, host});
  }
  if (blockers.empty()) {
    become(h, State::holds);
    h.pause = milliseconds(0);
    return;
  }
  become(h, State::blocked);
  if (!give_up_at_) give_up_at_ = now + timing_.limit;
  const bool stays = std::any_of(blockers.begin(), blockers.end(), [](const LeaseHolder& each) {
    return each.is_running || each.is_waiting || each.task.empty();
  });
  if (stays || now >= *give_up_at_) {
    conflict_ = Conflict{host, std::move(blockers)};
    return;
  }
  h.blockers = std::move(blockers);
  if (!is_elder(h.blockers)) return release_for_elder(now);
  h.pause = std::clamp(2 * h.pause, timing_.pause, timing_.longest_pause);
  try_later(host, now + h.pause);
}

// A host has an answer due or a try planned, never both.
void LeaseRound::check(int host, Instant now) {
  OfHost& h = at(host);
  if (h.answers_due > 0) {
    if (now < h.answer_by) return checks_.schedule(host, h.answer_by);
    expect_no_more(h);
    become(h, State::unknown);
    silent_.push_back(host);
  } else if (h.try_at) {
    if (now < *h.try_at) return checks_.schedule(host, *h.try_at);
    take(host, now);
  }
}

void LeaseRound::tick(Instant now) {
  while (const auto host = checks_.take_due(now)) check(*host, now);
  if (!all_again_at_ || now < *all_again_at_) return;
  all_again_at_.reset();
  for (std::size_t i = 0; i < hosts_.size(); ++i)
    if (hosts_[i].state == State::dropped) take(static_cast<int>(i), now);
}

std::optional<Instant> LeaseRound::next_deadline() const {
  const auto next = answers_due_ > 0 || tries_ > 0 ? checks_.next() : std::nullopt;
  return next && all_again_at_ ? std::min(*next, *all_again_at_) : next ? next : all_again_at_;
}

}  // namespace train
