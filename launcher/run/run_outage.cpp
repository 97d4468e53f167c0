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
constexpr int most_outages_noted = 3;

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

Instant Run::lost_at(const HostRun& host) const {
  return host.heartbeat.trusted_at() + timing_.reconnect_window +
         timing_.reconnect_window / rate_margin + fixed_margin;
}

Instant Run::notice_at(const HostRun& host) const {
  return host.open ? silent_since(host) + timing_.silence_limit
                   : host.outage->since + timing_.broken_notice;
}

Instant Run::next_outage_check(const HostRun& host) const {
  const Outage& outage = *host.outage;
  Instant next = lost_at(host);
  if (!outage.is_noted) next = std::min(next, notice_at(host));
  if (!outage.is_opening) next = std::min(next, outage.next_try);
  if (host.open) next = std::min(next, host.heartbeat.last_asked() + timing_.heartbeat);
  return next;
}

void Run::begin_outage(int host, Instant since, std::string why) {
  HostRun& h = hosts_[host];
  const bool is_again = h.outage.has_value();
  if (!is_again) h.outage.emplace().since = since;
  h.outage->why = std::move(why);
  h.outage->is_attaching = false;
  if (is_again && !h.outage->is_opening) h.outage->next_try = now_ + timing_.reconnect_pause;
  if (!is_again) reopen(host);
  look_again(host);
}

void Run::reopen(int host) {
  hosts_[host].outage->is_opening = true;
  act(run_action::Reopen{host});
}

void Run::handle(const run_event::HostReopened& event) {
  HostRun& h = hosts_[event.host];
  if (!h.outage) return;
  h.open = false;  // the stream that was
  h.outage->is_opening = false;
  h.outage->is_attaching = true;
  h.outage->next_try = now_ + timing_.silence_limit;
  look_again(event.host);
}

void Run::handle(const run_event::HostNotReopened& event) {
  HostRun& h = hosts_[event.host];
  if (!h.outage) return;
  h.outage->is_opening = false;
  h.outage->next_try = now_ + timing_.reconnect_pause;
  h.outage->why = event.why.diagnostics.front().message;
  look_again(event.host);
}

void Run::check_outage(int host) {
  HostRun& h = hosts_[host];
  if (now_ >= lost_at(h)) return out_of_reach(host);
  if (!h.outage->is_noted && now_ >= notice_at(h)) note_outage(host);
  if (!h.outage->is_opening && now_ >= h.outage->next_try) reopen(host);
  if (h.open && now_ >= h.heartbeat.last_asked() + timing_.heartbeat) ping(host);
}

void Run::note_outage(int host) {
  HostRun& h = hosts_[host];
  h.outage->is_noted = true;
  if (++outages_noted_ > most_outages_noted) return;
  std::string text = fmt::format(
      "host '{}' is out of reach since {} s; its ranks go on, and it is waited for another {} s "
      "(reconnect_window): {}",
      h.name, (now_ - h.outage->since) / seconds(1),
      std::max<std::int64_t>(0, (lost_at(h) - now_) / seconds(1)), h.outage->why);
  if (outages_noted_ == most_outages_noted) text += " (further hosts are not named)";
  act(run_action::Note{std::move(text)});
}

void Run::end_outage(int host) {
  HostRun& h = hosts_[host];
  const Outage outage = *h.outage;
  h.outage.reset();
  if (!outage.is_noted) return;
  if (outages_noted_-- <= most_outages_noted)
    act(run_action::Note{fmt::format("host '{}' is back after {} s; nothing of its output is lost",
                                     h.name, (now_ - outage.since) / seconds(1))});
}

// On a new stream.
void Run::resume(int host, const message::Hello& m) {
  HostRun& h = hosts_[host];
  if (m.boot_id != h.boot_id)
    return host_failed(
        host, make_error(ErrorClass::host, "was started anew: nothing of its ranks is left"));
  h.open = true;
  h.heartbeat.forget_unanswered();
  // All that is known of its ranks is said once more.
  ping(host);
  look_again(host);
  h.said_again = -2 * static_cast<int>(h.ranks.size());
  end_outage(host);
  if (phase_ == RunPhase::stopping) {
    if (grace_sent_) act(run_action::Send{host, message::Stop{*grace_sent_}});
  } else if (m.stop != message::OwnStop::none && m.stop != message::OwnStop::failure) {
    host_in_trouble(host, lost_since(h), make_error(ErrorClass::host, words_of(m.stop)));
  }
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
                                 (now_ - h.outage->since) / seconds(1),
                                 timing_.reconnect_window / seconds(1), h.outage->why);
  host_failed(host, make_error(ErrorClass::host, std::move(what),
                               "by now its agent has stopped its ranks by itself"));
}

}  // namespace train
