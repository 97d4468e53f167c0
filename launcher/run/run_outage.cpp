// SPDX-License-Identifier: Apache-2.0
// Hosts that are out of reach while their ranks run: for the length of the reconnect window that is
// no failure. Silence proves nothing, so a host is lost only when its agent must have stopped its
// ranks: it does so by its own clock, a window after the newest answer that it knows to have come.
#include <fmt/format.h>

#include <algorithm>

#include "launcher/run/run.hpp"

namespace train {

namespace {

using std::chrono::seconds;

// Clocks differ in rate, and a process that is killed takes a moment to go.
constexpr milliseconds fixed_margin{2'000};
constexpr int rate_margin = 1'000;  // a thousandth

// Of hosts that are out of reach at one time: of a switch that fails, all are.
constexpr int most_outages_named = 3;

const char* words_of(message::OwnStop stop) {
  switch (stop) {
    case message::OwnStop::silence:
      return "its agent stopped its ranks: it had not heard from this launcher for too long";
    case message::OwnStop::launcher:
      return "its agent stopped its ranks: its connection had ended as when a launcher dies";
    case message::OwnStop::failure:
    case message::OwnStop::none:
      break;
  }
  return "its agent stopped its ranks";
}

}  // namespace

bool Run::may_be_away(const HostRun& host) const {
  return host.state == HostState::running && timing_.reconnect_window.count() > 0;
}

// A launcher that slept has not read yet what came meanwhile.
Instant Run::lost_at(const HostRun& host) const {
  const Instant stopped = host.heartbeat.trusted_at() + timing_.reconnect_window +
                          timing_.reconnect_window / rate_margin + fixed_margin;
  return std::max(stopped, awake_since_ + timing_.reconnect_after);
}

Instant Run::notice_at(const HostRun& host) const {
  if (host.outage->is_silence)
    return std::max(silent_since(host), host.outage->since) + timing_.silence_limit;
  return host.outage->since + timing_.broken_notice;
}

Instant Run::next_outage_check(const HostRun& host) const {
  const Outage& outage = *host.outage;
  Instant next = std::min(lost_at(host), outage.next_try);
  if (!outage.is_noted) next = std::min(next, notice_at(host));
  if (host.open) next = std::min(next, host.heartbeat.last_asked() + timing_.heartbeat);
  return next;
}

// The stream has ended, or is silent, or one that was to replace it has ended.
void Run::begin_outage(int host, Instant since, std::string why) {
  HostRun& h = hosts_[host];
  if (!h.outage) {
    Outage outage;
    outage.since = since;
    outage.is_silence = h.open;
    h.outage = outage;
    if (!h.was_resumed || now_ >= h.resumed_at + timing_.steady_after) h.tries = 0;
    try_later(h);
  } else if (!h.outage->is_opening) {
    try_later(h);
  }
  h.outage->why = std::move(why);
  h.outage->is_attaching = false;
  if (now_ >= h.outage->next_try) reopen(host);
  look_again(host);
}

// A host that takes every connection and ends it at once is not tried without a pause.
void Run::try_later(HostRun& host) {
  if (host.tries == 0) {
    host.outage->next_try = now_;
    return;
  }
  const auto& pauses = timing_.reconnect_pauses;
  const auto last = static_cast<std::size_t>(host.tries) - 1;
  host.outage->next_try = std::max(host.tried_at + pauses[std::min(last, pauses.size() - 1)],
                                   now_ + timing_.reconnect_rest);
}

void Run::reopen(int host) {
  HostRun& h = hosts_[host];
  ++h.tries;
  h.tried_at = now_;
  h.outage->is_opening = true;
  h.outage->next_try = now_ + timing_.login_limit;
  act(run_action::Reopen{host});
}

void Run::handle(const run_event::HostReopened& event) {
  HostRun& h = hosts_[event.host];
  if (!h.outage) return;
  h.open = false;  // the stream that was
  h.outage->is_opening = false;
  h.outage->is_attaching = true;
  h.outage->next_try = now_ + timing_.reconnect_after;
  look_again(event.host);
}

void Run::handle(const run_event::HostNotReopened& event) {
  HostRun& h = hosts_[event.host];
  if (!h.outage) return;
  h.outage->is_opening = false;
  h.outage->why = event.why.diagnostics.front().message;
  try_later(h);
  look_again(event.host);
}

void Run::check_outage(int host) {
  HostRun& h = hosts_[host];
  if (now_ >= lost_at(h)) return out_of_reach(host);
  if (!h.outage->is_noted && now_ >= notice_at(h)) note_outage(host);
  if (now_ >= h.outage->next_try) reopen(host);
  if (h.open && now_ >= h.heartbeat.last_asked() + timing_.heartbeat) ping(host);
}

void Run::note_outage(int host) {
  HostRun& h = hosts_[host];
  h.outage->is_noted = true;
  if (outages_named_ >= most_outages_named) return;
  h.outage->is_named = true;
  std::string text = fmt::format(
      "host '{}' is out of reach for {} s now; its ranks go on, and it is waited for another {} s "
      "(reconnect_window): {}",
      h.name, (now_ - h.outage->since) / seconds(1),
      std::max<std::int64_t>(0, (lost_at(h) - now_) / seconds(1)), h.outage->why);
  if (++outages_named_ == most_outages_named) text += " (further hosts are not named)";
  act(run_action::Note{std::move(text)});
}

void Run::drop_outage(HostRun& host) {
  if (host.outage && host.outage->is_named) --outages_named_;
  host.outage.reset();
}

void Run::end_outage(int host) {
  HostRun& h = hosts_[host];
  if (h.outage->is_named)
    act(run_action::Note{fmt::format("host '{}' is back after {} s; nothing of its output is lost",
                                     h.name, (now_ - h.outage->since) / seconds(1))});
  drop_outage(h);
}

// On a new stream.
void Run::resume(int host, const message::Hello& m) {
  HostRun& h = hosts_[host];
  if (m.boot_id != h.boot_id)
    return host_failed(
        host, make_error(ErrorClass::host, "was started anew: nothing of its ranks is left"));
  if (m.pid != h.agent_pid)
    return host_failed(host, make_error(ErrorClass::host, "another agent answers there"));
  const AlignedInstant away = between(h.outage->since, now_);
  if (h.outage->is_opening) act(run_action::KeepStream{host});
  h.open = true;
  h.was_resumed = true;
  h.resumed_at = now_;
  h.heartbeat.forget_unanswered();
  ping(host);
  // All that is known of its ranks is said once more.
  h.said_again = -2 * static_cast<int>(h.ranks.size());
  if (h.finish_by) h.finish_by = now_ + timing_.finish_limit;
  end_outage(host);
  look_again(host);
  if (phase_ == RunPhase::stopping) {
    if (grace_sent_) act(run_action::Send{host, message::Stop{*grace_sent_}});
  } else if (!m.has_started) {  // what told it to was lost with the old stream
    act(run_action::SendGo{host});
  } else if (m.stop != message::OwnStop::none && m.stop != message::OwnStop::failure) {
    host_in_trouble(host, away, make_error(ErrorClass::host, words_of(m.stop)));
  }
}

// An agent that hears that it is not needed any more does not wait for this launcher to come back.
void Run::say_goodbye(int host) {
  if (hosts_[host].open && may_be_away(hosts_[host])) act(run_action::Send{host, message::Bye{}});
}

void Run::receive(int host, const message::NoAgent& m) {
  HostRun& h = hosts_[host];
  if (!h.outage || !h.outage->is_attaching) return out_of_turn(host, "'no agent'");
  host_failed(host, make_error(ErrorClass::host, m.boot_id == h.boot_id
                                                     ? "its agent has ended, and its ranks with it"
                                                     : "was started anew: nothing of its ranks is "
                                                       "left"));
}

void Run::out_of_reach(int host) {
  const HostRun& h = hosts_[host];
  std::string what = fmt::format("out of reach for {} s, longer than reconnect_window ({} s): {}",
                                 (now_ - h.heartbeat.trusted_at()) / seconds(1),
                                 timing_.reconnect_window / seconds(1), h.outage->why);
  host_failed(host, make_error(ErrorClass::host, std::move(what),
                               "by now its agent has stopped its ranks by itself"));
}

}  // namespace train
