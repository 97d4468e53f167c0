// SPDX-License-Identifier: Apache-2.0
// How a run ends: checking the hosts, stopping them, and giving up those that do not stop.
#include <fmt/format.h>

#include <algorithm>

#include "config_schema/text/duration.hpp"
#include "launcher/run/run.hpp"

namespace train {

// Schedules the next check of this host.
void Run::schedule_check(int host) {
  const HostRun& h = hosts_[host];
  if (const auto deadline = prepare_deadline(h)) checks_.schedule(host, *deadline);
  if (h.finish_by) checks_.schedule(host, *h.finish_by);
}

void Run::handle(const run_event::Tick&) {
  while (const auto host = checks_.take_due(now_)) check(*host);
  if (answers_by_ && now_ >= *answers_by_) decide_start();
  leases_.tick(now_);
  act_on_leases();
  give_up_silent_probers();
  watch_progress();
  if (stop_by_ && now_ >= *stop_by_) give_up_waiting();
}

void Run::check(int host) {
  const HostRun& h = hosts_[host];
  if (h.state == HostState::finished || h.state == HostState::failed) return;
  // A host that is away cannot report progress now; it gets time when it is back.
  if (connections_.is_away(host))
    return checks_.schedule(host, now_ + connections_.timing().heartbeat);
  if (const auto deadline = prepare_deadline(h); deadline && now_ >= *deadline)
    return let_go(host, not_ready(h));
  if (h.finish_by && now_ >= *h.finish_by)
    return let_go(host, make_error(ErrorClass::host,
                                   now_ >= h.drain_by
                                       ? words_of_flood(h)
                                       : "its ranks have ended, but its agent does not finish"));
  schedule_check(host);
}

std::string Run::words_of_flood(const HostRun& host) {
  return fmt::format(
      "its ranks have ended, and output of theirs still came after that ({} bytes): "
      "the rest of it was not waited for any longer",
      host.late_bytes);
}

void Run::handle(const run_event::StartForbidden& event) {
  if (phase_ == RunPhase::stopping) return;
  failures_.push_back({{now_, nanoseconds(0)}, event.why, std::nullopt, -1, 0});
  stop(kill_at_once, {});
}

void Run::handle(const run_event::StopRequested& event) {
  const bool has_notice = stop_requests_ == 1 && signal_at_ && now_ < *signal_at_;
  if (has_notice) return stop({rules_.stop_grace}, {});
  if (++stop_requests_ > 2) return give_up_waiting();
  if (stop_requests_ == 2) return stop(kill_at_once, {});
  // An earlier failure stays the cause.
  if (!has_failed()) {
    outcome_.stop_signal = event.signal;
    interrupted_at_ = now_;
  }
  stop(usual_stop(), words_of_request(event.signal));
}

std::string Run::words_of_request(int signal) const {
  std::string text =
      (signal > 0 ? signal_name(signal) : stop_text(signal)) + ": stopping all ranks";
  if (has_gone_ && rules_.stop_notice > milliseconds(0))
    text += fmt::format("; the signal follows in {}, or at once with another Ctrl-C",
                        short_duration_text(rules_.stop_notice));
  return text;
}

void Run::stop(const message::Stop& how, const std::optional<std::string>& why) {
  if (phase_ == RunPhase::over) return;
  if (phase_ != RunPhase::stopping && why) act(run_action::Stopping{*why});
  phase_.become(RunPhase::stopping);
  hang_.end();
  answers_by_.reset();
  const Instant signal_at = now_ + how.notice;
  const Instant deadline = signal_at + how.grace + timing_.stop_slack;
  signal_at_ = signal_at_ ? std::min(*signal_at_, signal_at) : signal_at;
  stop_by_ = stop_by_ ? std::min(*stop_by_, deadline) : deadline;
  // A later request repeats the stop only if it leaves less time.
  const bool is_first = !stop_sent_;
  if (is_first || how.notice + how.grace < stop_sent_->notice + stop_sent_->grace) {
    stop_sent_ = how;
    for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) send_stop(host, how);
  }
  check_over();
}

// The Stop for a host that may have missed it: its ranks get the rest of the notice.
message::Stop Run::stop_from_now() const {
  message::Stop how = *stop_sent_;
  const nanoseconds left = std::max(*signal_at_ - now_, nanoseconds(0));
  how.notice = std::min(how.notice, std::chrono::ceil<milliseconds>(left));
  return how;
}

void Run::send_stop(int host, const message::Stop& how) {
  HostRun& h = hosts_[host];
  switch (h.state) {
    case HostState::preparing:
    case HostState::ready:  // nothing was started there
      if (!keeps_hosts()) return finish_host(host);
      h.was_stopped_early = true;
      enter(h, HostState::running);
      [[fallthrough]];
    case HostState::running:
      act(host_action::Send{host, how});
      break;
    case HostState::connecting:
      enter(h, HostState::finished);
      if (!keeps_hosts()) act(run_action::LetGo{host});
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

// With an unlimited wait, ranks outlive any silence, so no other attempt may begin before the host
// reports their end. A stop by the user ends the run in any case.
bool Run::awaits_lost_hosts() const { return stop_requests_ == 0 && connections_.waits_for_ever(); }

bool Run::is_awaited(int host) const { return awaits_lost_hosts() && connections_.is_away(host); }

std::optional<Instant> Run::gives_up_by() const {
  return phase_ == RunPhase::stopping && !awaits_lost_hosts() ? stop_by_ : std::nullopt;
}

// All hosts that are still running were told to stop. One that leaves pings unanswered is lost, and
// may have been lost before anything else failed; the others are just slow.
void Run::give_up_waiting() {
  outcome_.is_cut_short = true;
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    if (hosts_[host].state != HostState::running) continue;
    if (is_awaited(host)) {
      stop_by_ = now_ + connections_.timing().heartbeat;
      continue;
    }
    if (now_ - connections_.silent_since(host) > 2 * connections_.timing().heartbeat) {
      let_go(host, connections_.silence(host, now_));
      continue;
    }
    Leftover& leftover = outcome_.leftovers.emplace_back();
    leftover.host = host;
    leftover.why = hosts_[host].late_bytes > 0 ? words_of_flood(hosts_[host])
                                               : "it was not waited for any longer";
    enter(hosts_[host], HostState::finished);
    act(run_action::LetGo{host});
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
  align_now();
  add_known_failure();
  // An interrupt after the last rank has succeeded changes nothing.
  outcome_.succeeded = failures_.empty() && ranks_done_ == static_cast<int>(outcome_.ranks.size());
  if (outcome_.succeeded)
    outcome_.stop_signal.reset();
  else
    decide_cause(outcome_, std::move(failures_), interrupted_at_);
  act(run_action::Over{});
}

}  // namespace train
