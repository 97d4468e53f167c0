// SPDX-License-Identifier: Apache-2.0
// Hosts that are out of reach while their agents go on: within the reconnect window that is no
// failure. Silence proves nothing, so a host is lost only when its agent must have stopped its
// ranks. The agent does that by its own clock, one window after the newest pong that it knows to
// have arrived.
#include <fmt/format.h>

#include <algorithm>

#include "config_schema/text/duration.hpp"
#include "launcher/connections/connections.hpp"

namespace train {

namespace {

// Clock rates differ, and a killed process takes a moment to end.
constexpr milliseconds fixed_margin{2'000};
constexpr int rate_margin = 1'000;  // a thousandth

// Limit of outages reported at one time: when a switch fails, all hosts are out of reach.
constexpr int most_outages_named = 3;

}  // namespace

bool Connections::may_be_away(const Host& host) const {
  return host.is_lasting && window().count() > 0;
}

// A launcher that slept has not read yet what came meanwhile.
Instant Connections::lost_at(const Host& host) const {
  if (waits_for_ever() && host.has_ranks) return Instant::max();
  // Without ranks on the host, nothing has to be proven.
  const milliseconds waited = waits_for_ever() ? timing_.reconnect_window : window();
  return std::max(end_of(waited, host.heartbeat.trusted_at()),
                  awake_since_ + timing_.reconnect_after);
}

Instant Connections::end_of(milliseconds window, Instant since) {
  return since + window + window / rate_margin + fixed_margin;
}

// If the host is given up now.
Instant Connections::fence_of(const Host& host) const {
  if (!timing_.waits_for_proof) return Instant(0);
  if (waits_for_ever()) return Instant::max();
  if (window() > milliseconds(0)) return end_of(window(), host.heartbeat.trusted_at());
  return end_of(longest_silence_of_launcher + timing_.stop_time, now_);
}

// What the host says proves that its ranks have ended.
void Connections::fail_without_ranks(int host, Error why) {
  of(host).has_ranks = false;
  fail(host, std::move(why));
}

Instant Connections::notice_at(const Host& host) const {
  if (host.outage->is_silence)
    return std::max({host.heartbeat.last_heard(), awake_since_, host.outage->since}) +
           timing_.silence_limit;
  return host.outage->since + timing_.broken_notice;
}

Instant Connections::next_outage_check(const Host& host) const {
  const Outage& outage = *host.outage;
  Instant next = std::min(lost_at(host), outage.next_try);
  if (!outage.is_noted) next = std::min(next, notice_at(host));
  if (host.open) next = std::min(next, host.heartbeat.last_asked() + timing_.heartbeat);
  return next;
}

// The stream has ended or is silent, or a replacement stream has ended.
void Connections::begin_outage(int host, Instant since, std::string why) {
  Host& h = of(host);
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
  schedule_check(host);
}

// A host that accepts every connection and ends it at once is tried with pauses only.
void Connections::try_later(Host& host) {
  if (host.tries == 0) {
    host.outage->next_try = now_;
    return;
  }
  const auto& pauses = timing_.reconnect_pauses;
  const auto last = static_cast<std::size_t>(host.tries) - 1;
  host.outage->next_try = std::max(host.tried_at + pauses[std::min(last, pauses.size() - 1)],
                                   now_ + timing_.reconnect_rest);
}

void Connections::reopen(int host) {
  Host& h = of(host);
  ++h.tries;
  h.tried_at = now_;
  h.outage->is_opening = true;
  h.outage->next_try = now_ + timing_.login_limit;
  act(host_action::Reopen{host});
}

std::vector<ConnectionAction> Connections::adopt(int host, bool has_ranks, Instant heard,
                                                 Instant now) {
  now_ = now;
  Host& h = of(host);
  h.is_new = false;
  h.is_expected = h.is_lasting = h.is_unmet = true;
  h.has_ranks = has_ranks;
  h.heartbeat.note_sign_of_life(heard);
  // The agent may have heard from the previous launcher until now.
  h.heartbeat.trust(now);
  begin_outage(host, now, "the launcher before this one has ended");
  return std::exchange(actions_, {});
}

void Connections::handle(const connection_event::HostReopened& event) {
  Host& h = of(event.host);
  if (!h.outage) return;
  if (h.address.empty()) {
    h.address = event.address;
    h.own_address = event.own_address;
    h.likely_own_address = event.likely_own_address;
  }
  h.open = false;  // the old stream
  h.outage->is_opening = false;
  h.outage->is_attaching = true;
  h.outage->next_try = now_ + timing_.reconnect_after;
  schedule_check(event.host);
}

void Connections::handle(const connection_event::HostNotReopened& event) {
  Host& h = of(event.host);
  if (!h.outage) return;
  h.outage->is_opening = false;
  h.outage->why = event.why.diagnostics.front().message;
  try_later(h);
  schedule_check(event.host);
}

void Connections::check_outage(int host) {
  Host& h = of(host);
  if (now_ >= lost_at(h)) return out_of_reach(host);
  if (!h.outage->is_noted && now_ >= notice_at(h)) note_outage(host);
  if (now_ >= h.outage->next_try) reopen(host);
  if (h.open && now_ >= h.heartbeat.last_asked() + timing_.heartbeat) ping(host);
}

void Connections::note_outage(int host) {
  Host& h = of(host);
  h.outage->is_noted = true;
  const bool matters = h.has_ranks || h.is_wanted;
  if (!matters || outages_named_ >= most_outages_named) return;
  h.outage->is_named = true;
  std::string text =
      fmt::format("host '{}' is out of reach for {} now; {} is waited for {}: {}", h.name,
                  duration_text(now_ - h.outage->since),
                  h.has_ranks ? "its ranks go on, and it" : "it", waited_for(h), h.outage->why);
  if (++outages_named_ == most_outages_named) text += " (further hosts are not named)";
  act(host_action::Note{std::move(text)});
}

std::string Connections::waited_for(const Host& host) const {
  if (given_up_by_ && host.has_ranks && *given_up_by_ < lost_at(host))
    return fmt::format("another {} (all ranks are being stopped)",
                       duration_text(std::max(nanoseconds(0), *given_up_by_ - now_)));
  if (waits_for_ever() && host.has_ranks)
    return "until it is back (on_launcher_loss: continue, replace: proven)";
  return fmt::format("another {} ({})",
                     duration_text(std::max(nanoseconds(0), lost_at(host) - now_)),
                     waits_for_ever() ? "reconnect_window" : window_key());
}

// An outage that was not reported while it did not matter is reported now.
void Connections::want(int host, Instant now) {
  now_ = now;
  Host& h = of(host);
  h.is_wanted = true;
  if (!h.outage || h.outage->is_named) return;
  h.outage->is_noted = false;
  schedule_check(host);
}

void Connections::drop_outage(Host& host) {
  if (host.outage && host.outage->is_named) --outages_named_;
  host.outage.reset();
}

void Connections::end_outage(int host) {
  Host& h = of(host);
  if (h.outage->is_named)
    act(host_action::Note{fmt::format("host '{}' is back after {}{}", h.name,
                                      duration_text(now_ - h.outage->since),
                                      h.has_ranks ? "; nothing of its output is lost" : "")});
  drop_outage(h);
}

// The agent answers on a new stream.
void Connections::resume(int host, const message::Hello& m) {
  Host& h = of(host);
  if (std::exchange(h.is_unmet, false)) {
    h.boot_id = m.boot_id;
    h.agent_pid = m.pid;
  }
  if (m.boot_id != h.boot_id)
    return fail_without_ranks(
        host, make_error(ErrorClass::host, "was started anew: nothing of its ranks is left"));
  if (m.pid != h.agent_pid)
    return fail(host, make_error(ErrorClass::host, "another agent answers there"));
  const AlignedInstant away = sometime(h.outage->since, now_);
  if (h.outage->is_opening) act(host_action::KeepStream{host});
  h.open = true;
  h.was_resumed = h.is_answer_awaited = true;
  h.resumed_at = now_;
  h.heartbeat.forget_unanswered();
  ping(host);
  end_outage(host);
  schedule_check(host);
  publish(host_news::Resumed{host, m, away});
}

void Connections::receive(int host, const message::NoAgent& m) {
  Host& h = of(host);
  if (!h.outage || !h.outage->is_attaching)
    return fail(host, unexpected_message_error("'no agent'"));
  fail_without_ranks(host,
                     make_error(ErrorClass::host, m.boot_id == h.boot_id || h.is_unmet
                                                      ? "its agent has ended, and its ranks with it"
                                                      : "was started anew: nothing of its ranks is "
                                                        "left"));
}

// Nothing more will be reported about the processes left there.
void Connections::receive(int host, const message::LeftBehind& m) {
  const Host& h = of(host);
  if (!h.outage || !h.outage->is_attaching)
    return fail(host, unexpected_message_error("'left behind'"));
  std::string what = "its agent was told to leave, and what it had started does not end";
  if (!m.survivors.empty()) {
    const message::Survivor& first = m.survivors.front();
    what = fmt::format("process {} ({}), which its agent had started, could not be ended",
                       first.pid, first.command);
    const std::size_t others = m.survivors.size() - 1 + static_cast<std::size_t>(m.more_survivors);
    if (others > 0) what += fmt::format(", nor {} more", others);
  }
  fail(host, make_error(ErrorClass::host, std::move(what)), m);
}

void Connections::out_of_reach(int host) {
  const Host& h = of(host);
  std::string what = fmt::format("out of reach for {}, longer than {} ({}): {}",
                                 duration_text(now_ - h.heartbeat.trusted_at()), window_key(),
                                 duration_text(window()), h.outage->why);
  const bool may_run = !timing_.waits_for_proof && timing_.launcher_wait > timing_.reconnect_window;
  fail(host, make_error(ErrorClass::host, std::move(what),
                        may_run ? "its ranks may go on there for as long as on_launcher_loss says, "
                                  "or until it can be reached (replace: at_once)"
                                : "by now its agent has stopped its ranks by itself"));
}

}  // namespace train
