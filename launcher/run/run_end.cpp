// SPDX-License-Identifier: Apache-2.0
// How a run ends: watching over the hosts, stopping them, and giving up those that do not stop.
#include <fmt/format.h>

#include <algorithm>

#include "launcher/run/run.hpp"

namespace train {

void Run::ping(int host) {
  hosts_[host].heartbeat.asked(now_);
  hosts_[host].said_again = std::min(hosts_[host].said_again, 0);
  act(run_action::Send{host, message::Ping{now_, hosts_[host].heartbeat.newest_pong()}});
}

Instant Run::silent_since(const HostRun& host) const {
  return std::max(host.heartbeat.last_heard(), awake_since_);
}

Instant Run::next_check(const HostRun& host) const {
  if (host.outage) return next_outage_check(host);
  Instant next = std::min(host.heartbeat.last_asked() + timing_.heartbeat,
                          silent_since(host) + silence_limit(host));
  return std::min(next, prepare_deadline(host).value_or(next));
}

milliseconds Run::silence_limit(const HostRun& host) const {
  return may_be_away(host) ? timing_.reconnect_after : timing_.silence_limit;
}

// At the next moment when something may be due for this host.
void Run::look_again(int host) {
  HostRun& h = hosts_[host];
  const Instant due = next_check(h);
  if (h.check_at && *h.check_at <= due) return;
  h.check_at = due;
  checks_.emplace(due, host);
}

void Run::handle(const run_event::Tick&) {
  while (!checks_.empty() && checks_.top().first <= now_) {
    const auto [due, host] = checks_.top();
    checks_.pop();
    if (hosts_[host].check_at != due) continue;  // an earlier one has come since
    hosts_[host].check_at.reset();
    if (is_watched(hosts_[host])) check(host);
    if (is_watched(hosts_[host])) look_again(host);
  }
  if (answers_by_ && now_ >= *answers_by_) decide_start();
  if (stop_by_ && now_ >= *stop_by_) give_up_waiting();
}

void Run::check(int host) {
  HostRun& h = hosts_[host];
  if (h.outage) return check_outage(host);
  if (now_ >= silent_since(h) + silence_limit(h)) {
    if (!may_be_away(h)) return host_silent(host);
    return begin_outage(host, h.heartbeat.last_heard(),
                        "silent: its network, the machine or its agent is gone or frozen");
  }
  if (const auto deadline = prepare_deadline(h); deadline && now_ >= *deadline)
    return host_failed(host, not_ready(h));
  if (h.finish_by && now_ >= *h.finish_by)
    return host_failed(
        host, make_error(ErrorClass::host, "its ranks have ended, but its agent does not finish"));
  if (now_ >= h.heartbeat.last_asked() + timing_.heartbeat) ping(host);
}

void Run::host_silent(int host) {
  const nanoseconds silence = now_ - hosts_[host].heartbeat.last_heard();
  host_failed(
      host,
      make_error(
          ErrorClass::host,
          fmt::format("silent for {} s: its network, the machine or its agent is gone or frozen",
                      silence / std::chrono::seconds(1)),
          fmt::format(
              "its agent stops its ranks by itself once it has missed the launcher for {} s",
              may_be_away(hosts_[host]) ? timing_.reconnect_window / std::chrono::seconds(1)
                                        : 40)));
}

void Run::handle(const run_event::StopRequested& event) {
  if (++stop_requests_ > 2) return give_up_waiting();
  if (stop_requests_ == 2) return stop(milliseconds(0), {});
  // A failure that came before stays the cause.
  if (failures_.empty()) {
    outcome_.stop_signal = event.signal;
    interrupted_at_ = now_;
  }
  stop(stop_grace_, fmt::format("{}: stopping all ranks", signal_name(event.signal)));
}

void Run::stop(milliseconds grace, const std::optional<std::string>& why) {
  if (phase_ == RunPhase::over) return;
  if (phase_ != RunPhase::stopping && why) act(run_action::Stopping{*why});
  phase_.become(RunPhase::stopping);
  answers_by_.reset();
  const Instant deadline = now_ + grace + timing_.stop_slack;
  stop_by_ = stop_by_ ? std::min(*stop_by_, deadline) : deadline;
  // A later request repeats the stop only when it leaves less grace.
  if (!grace_sent_ || grace < *grace_sent_) {
    grace_sent_ = grace;
    for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) send_stop(host, grace);
  }
  check_over();
}

void Run::send_stop(int host, milliseconds grace) {
  switch (hosts_[host].state) {
    case HostState::running:
      act(run_action::Send{host, message::Stop{grace}});
      break;
    case HostState::preparing:
    case HostState::ready:  // nothing was started there
      act(run_action::Send{host, message::Bye{}});
      [[fallthrough]];
    case HostState::connecting:
      settle(host, HostState::finished);
      break;
    case HostState::finished:
    case HostState::failed:
      break;
  }
}

void Run::check_over() {
  const int settled = count(HostState::finished) + count(HostState::failed);
  if (phase_ != RunPhase::over && settled == static_cast<int>(hosts_.size())) finish();
}

// All hosts that are still running were told to stop. One that leaves pings unanswered is lost, and
// may have been lost before anything else failed; the others are merely slow.
void Run::give_up_waiting() {
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    if (hosts_[host].state != HostState::running) continue;
    if (now_ - silent_since(hosts_[host]) > 2 * timing_.heartbeat) {
      host_silent(host);
      continue;
    }
    say_goodbye(host);
    Leftover& leftover = outcome_.leftovers.emplace_back();
    leftover.host = host;
    leftover.why = "it was not waited for any longer";
    settle(host, HostState::finished);
  }
  check_over();
}

void Run::finish() {
  phase_.become(RunPhase::over);
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    if (hosts_[host].survivors.empty()) continue;
    Leftover& leftover = outcome_.leftovers.emplace_back();
    leftover.host = host;
    leftover.survivors = std::move(hosts_[host].survivors);
    leftover.more_survivors = hosts_[host].more_survivors;
  }
  // An interrupt after the last rank has succeeded changes nothing.
  outcome_.succeeded = failures_.empty() && ranks_done_ == static_cast<int>(outcome_.ranks.size());
  if (outcome_.succeeded)
    outcome_.stop_signal.reset();
  else
    decide_cause(outcome_, std::move(failures_), interrupted_at_);
  act(run_action::Over{});
}

}  // namespace train
