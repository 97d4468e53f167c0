// SPDX-License-Identifier: Apache-2.0
#include "launcher/lease/lease_round.hpp"

#include <algorithm>

namespace train {

LeaseRound::LeaseRound(std::string task, int hosts, Timing timing)
    : task_(std::move(task)),
      timing_(timing),
      hosts_(static_cast<std::size_t>(hosts)),
      back_off_(timing.back_off) {}

void LeaseRound::expect(int host, Instant now) {
  OfHost& h = at(host);
  h.state = State::trying;
  ++h.answers_due;
  h.answer_by = now + timing_.answer_limit;
}

bool LeaseRound::is_any_expected() const {
  return std::any_of(hosts_.begin(), hosts_.end(),
                     [](const OfHost& host) { return host.answers_due > 0; });
}

bool LeaseRound::holds_all() const {
  return std::all_of(hosts_.begin(), hosts_.end(), [](const OfHost& host) {
    return host.state == State::holds || host.state == State::needless;
  });
}

void LeaseRound::take(int host, Instant now) {
  at(host).try_at.reset();
  expect(host, now);
  actions_.push_back({Step::take, host});
}

bool LeaseRound::is_elder(const std::vector<LeaseHolder>& others) const {
  return std::all_of(others.begin(), others.end(),
                     [this](const LeaseHolder& other) { return task_ < other.task; });
}

// What a host answers to what it was told before that does not count any more.
void LeaseRound::give_way(Instant now) {
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    OfHost& host = hosts_[i];
    host.try_at.reset();
    host.stale_answers = host.answers_due;
    const bool has_something =
        host.state == State::trying || host.state == State::holds || host.state == State::blocked;
    if (!has_something) continue;
    host.state = State::dropped;
    actions_.push_back({Step::drop, static_cast<int>(i)});
  }
  all_again_at_ = now + back_off_;
  back_off_ = std::min(2 * back_off_, timing_.longest_back_off);
}

void LeaseRound::answered(int host, std::vector<LeaseHolder> in_the_way, Instant now) {
  OfHost& h = at(host);
  --h.answers_due;
  if (h.stale_answers > 0) {
    --h.stale_answers;
    return;
  }
  // The first answer of a host that was reached while all others give way.
  if (all_again_at_) {
    h.state = State::dropped;
    return actions_.push_back({Step::drop, host});
  }
  if (in_the_way.empty()) {
    h.state = State::holds;
    h.pause = milliseconds(0);
    return;
  }
  h.state = State::blocked;
  if (!give_up_at_) give_up_at_ = now + timing_.limit;
  const bool stays = std::any_of(in_the_way.begin(), in_the_way.end(), [](const LeaseHolder& each) {
    return each.is_running || each.task.empty();
  });
  if (stays || now >= *give_up_at_) {
    conflict_ = Conflict{host, std::move(in_the_way)};
    return;
  }
  h.in_the_way = std::move(in_the_way);
  if (!is_elder(h.in_the_way)) return give_way(now);
  h.pause = std::clamp(2 * h.pause, timing_.pause, timing_.longest_pause);
  h.try_at = now + h.pause;
}

void LeaseRound::tick(Instant now) {
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    OfHost& host = hosts_[i];
    if (host.answers_due == 0 || now < host.answer_by) continue;
    host.answers_due = host.stale_answers = 0;
    host.state = State::unknown;
    silent_.push_back(static_cast<int>(i));
  }
  if (all_again_at_ && now >= *all_again_at_) {
    all_again_at_.reset();
    for (std::size_t i = 0; i < hosts_.size(); ++i)
      if (hosts_[i].state == State::dropped) take(static_cast<int>(i), now);
  }
  for (std::size_t i = 0; i < hosts_.size(); ++i)
    if (hosts_[i].try_at && now >= *hosts_[i].try_at) take(static_cast<int>(i), now);
}

std::optional<Instant> LeaseRound::next_deadline() const {
  std::optional<Instant> next = all_again_at_;
  for (const OfHost& host : hosts_) {
    if (host.try_at && (!next || *host.try_at < *next)) next = host.try_at;
    if (host.answers_due > 0 && (!next || host.answer_by < *next)) next = host.answer_by;
  }
  return next;
}

}  // namespace train
