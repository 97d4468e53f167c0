// SPDX-License-Identifier: Apache-2.0
#include "launcher/connections/connections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config_schema/text/duration.hpp"

namespace train {

namespace {

constexpr const char* what_silence_means =
    "its network, the machine or its agent is gone or frozen";

}  // namespace

Connections::Connections(std::vector<std::string> names, Timing timing, int wanted)
    : timing_(timing), hosts_(names.size()), checks_(names.size()) {
  for (std::size_t host = 0; host < names.size(); ++host) {
    hosts_[host].name = std::move(names[host]);
    hosts_[host].is_new = host >= static_cast<std::size_t>(wanted);
    hosts_[host].is_expected = !hosts_[host].is_new;
  }
}

std::vector<ConnectionAction> Connections::on(const ConnectionEvent& event, Instant now) {
  // A launcher that slept through its deadlines (a suspended machine, Ctrl-Z) has not listened
  // either: messages that its hosts sent meanwhile are still unread.
  const auto due = next_deadline();
  if (due && now > *due + timing_.heartbeat) awake_since_ = now;
  now_ = now;
  std::visit([this](const auto& e) { handle(e); }, event);
  return std::exchange(actions_, {});
}

void Connections::begin_ranks(int host, Instant now) {
  Host& h = of(host);
  h.is_lasting = h.has_ranks = true;
  h.is_wanted = false;
  // The agent counts its fence from its last message until it learns that a pong was received.
  h.heartbeat.trust(now);
}

std::vector<ConnectionAction> Connections::let_go(int host) {
  const Host& h = of(host);
  if (h.open && may_be_away(h)) act(host_action::Send{host, message::Bye{}});
  close(host);
  return std::exchange(actions_, {});
}

std::vector<ConnectionAction> Connections::dismiss(int host) {
  if (of(host).open) act(host_action::Send{host, message::Bye{}});
  close(host);
  return std::exchange(actions_, {});
}

void Connections::close(int host) {
  Host& h = of(host);
  if (h.has_ranks) h.ranks_end_by = fence_of(h);
  h.open = h.is_expected = h.is_lasting = h.has_ranks = h.is_wanted = false;
  h.recovery.reset();
  drop_outage(h);
  act(host_action::CloseHost{host});
}

void Connections::fail(int host, Error why, message::LeftBehind left) {
  Host& h = of(host);
  if (!h.is_expected) return;
  if (h.open && may_be_away(h)) act(host_action::Send{host, message::Bye{}});
  close(host);
  publish(host_news::Lost{host, std::move(why), std::move(left)});
}

void Connections::handle(const connection_event::HostOpened& event) {
  Host& host = of(event.host);
  if (!host.is_expected || host.open) return;
  host.address = event.address;
  host.own_address = event.own_address;
  host.likely_own_address = event.likely_own_address;
  host.open = true;
  host.has_said_hello = host.was_resumed = host.is_unmet = host.is_answer_awaited = false;
  host.tries = 0;
  host.recovery.reset();
  host.heartbeat = Heartbeat();
  host.heartbeat.note_sign_of_life(now_);
  // The first round trip already tells how the clocks differ.
  ping(event.host);
  schedule_check(event.host);
  publish(host_news::Up{event.host});
}

void Connections::handle(const connection_event::HostSaid& event) {
  const int host = event.host;
  const bool is_attaching = of(host).outage && of(host).outage->is_attaching;
  if (!of(host).open && !is_attaching) return;
  const auto* hello = std::get_if<message::Hello>(&event.message);
  const auto* none = std::get_if<message::NoAgent>(&event.message);
  const auto* left = std::get_if<message::LeftBehind>(&event.message);
  if (is_attaching && hello == nullptr && none == nullptr && left == nullptr)
    return fail(host, unexpected_message_error("something before 'hello'"));
  const bool was_silent = of(host).open && of(host).outage;
  note_sign_of_life(host);
  if (hello != nullptr)
    receive(host, *hello);
  else if (none != nullptr)
    receive(host, *none);
  else if (left != nullptr)
    receive(host, *left);
  else if (const auto* pong = std::get_if<message::Pong>(&event.message))
    receive(host, *pong);
  else
    publish(host_news::Said{host, event.message});
  // The ping tells the host at once that its pongs get through again.
  if (was_silent && of(host).open) ping(host);
}

// A silent host speaks again, on its old stream.
void Connections::note_sign_of_life(int host) {
  Host& h = of(host);
  h.heartbeat.note_sign_of_life(now_);
  if (!h.open || !h.outage) return;
  if (h.outage->is_opening) act(host_action::KeepStream{host});
  end_outage(host);
}

void Connections::handle(const connection_event::HostPrinted& event) {
  if (!of(event.host).open) return;
  note_sign_of_life(event.host);
  publish(host_news::Printed{event.host, event.bytes});
}

void Connections::receive(int host, const message::Hello& m) {
  Host& h = of(host);
  if (std::exchange(h.has_said_hello, true) && !h.outage) return count_repetition(host);
  if (m.version != wire_version)
    return fail(host, make_error(ErrorClass::host,
                                 fmt::format("its agent speaks version {} of the protocol, this "
                                             "launcher version {}",
                                             m.version, wire_version)));
  if (h.outage) return resume(host, m);
  h.boot_id = m.boot_id;
  h.agent_pid = m.pid;
}

void Connections::receive(int host, const message::Pong& m) {
  Host& h = of(host);
  if (!h.heartbeat.answered(m, now_)) return count_repetition(host);
  // The agent's fence may be near; it moves as soon as the agent learns that a pong was received.
  if (std::exchange(h.is_answer_awaited, false) && h.open) ping(host);
}

void Connections::count_repetition(int host) {
  if (!of(host).repetitions.add(now_, timing_.heartbeat))
    fail(host, flood_error(timing_.heartbeat));
}

void Connections::handle(const connection_event::HostBrokeProtocol& event) {
  fail(event.host, event.why);
}

void Connections::handle(const connection_event::HostClosed& event) {
  Host& host = of(event.host);
  if (host.recovery) return not_reached(event.host, event.why);
  if (!may_be_away(host)) return fail(event.host, event.why);
  host.open = false;
  begin_outage(event.host, now_, event.why.diagnostics.front().message);
}

void Connections::ping(int host) {
  Heartbeat& heartbeat = of(host).heartbeat;
  heartbeat.asked(now_);
  act(host_action::Send{host, message::Ping{now_, heartbeat.newest_pong()}});
}

Instant Connections::next_check(const Host& host) const {
  if (host.outage) return next_outage_check(host);
  if (host.recovery) {
    const Instant next =
        std::min(host.recovery->until, host.recovery->next_try.value_or(Instant::max()));
    return host.recovery->is_noted ? next
                                   : std::min(next, host.recovery->since + timing_.broken_notice);
  }
  return std::min(host.heartbeat.last_asked() + timing_.heartbeat,
                  std::max(host.heartbeat.last_heard(), awake_since_) + silence_limit(host));
}

milliseconds Connections::silence_limit(const Host& host) const {
  return may_be_away(host) ? timing_.reconnect_after : timing_.silence_limit;
}

// Schedules the next check of this host.
void Connections::schedule_check(int host) { checks_.schedule(host, next_check(of(host))); }

void Connections::handle(const connection_event::Tick&) {
  while (const auto host = checks_.take_due(now_)) {
    if (is_watched(of(*host))) check(*host);
    if (is_watched(of(*host))) schedule_check(*host);
  }
}

void Connections::check(int host) {
  const Host& h = of(host);
  if (h.outage) return check_outage(host);
  if (h.recovery) return check_recovery(host);
  if (now_ >= silent_since(host) + silence_limit(h)) {
    if (!may_be_away(h)) return fail(host, silence(host, now_));
    return begin_outage(host, h.heartbeat.last_heard(),
                        fmt::format("silent: {}", what_silence_means));
  }
  if (now_ >= h.heartbeat.last_asked() + timing_.heartbeat) ping(host);
}

Error Connections::silence(int host, Instant now) const {
  const nanoseconds silence = now - of(host).heartbeat.last_heard();
  const bool is_away = may_be_away(of(host));
  return make_error(
      ErrorClass::host,
      fmt::format("silent for {}: {}", duration_text(silence), what_silence_means),
      is_away && waits_for_ever()
          ? "its ranks go on there, as on_launcher_loss says, until they end by themselves"
          : fmt::format("its agent stops its ranks by itself once it has missed the launcher for "
                        "{}",
                        duration_text(is_away ? window() : longest_silence_of_launcher)));
}

std::vector<ConnectionAction> Connections::recover(int host, Instant now) {
  now_ = now;
  Host& h = of(host);
  h.is_expected = true;
  if (std::exchange(h.is_new, false)) {
    act(host_action::Open{host});
    return std::exchange(actions_, {});
  }
  h.recovery = Recovery{};
  h.recovery->since = now;
  h.recovery->until = now + std::max(timing_.reach_limit, timing_.reconnect_window);
  try_to_reach(host);
  return std::exchange(actions_, {});
}

std::vector<ConnectionAction> Connections::try_now(Instant now) {
  now_ = now;
  for (int host = 0; host < count(); ++host) {
    const Host& h = of(host);
    if (h.outage && !h.outage->is_opening && !h.outage->is_attaching) reopen(host);
    if (h.recovery && h.recovery->next_try) try_to_reach(host);
    if (is_watched(h)) schedule_check(host);
  }
  return std::exchange(actions_, {});
}

void Connections::try_to_reach(int host) {
  of(host).recovery->next_try.reset();
  act(host_action::Sweep{host});
  schedule_check(host);
}

void Connections::handle(const connection_event::HostSwept& event) {
  Host& host = of(event.host);
  if (!host.recovery || host.recovery->next_try) return;
  if (event.why) return not_reached(event.host, *event.why);
  host.ranks_end_by = Instant(0);
  act(host_action::Open{event.host});
}

void Connections::not_reached(int host, const Error& why) {
  Recovery& recovery = *of(host).recovery;
  recovery.why = why.diagnostics.front().message;
  recovery.next_try = now_ + timing_.reach_pause;
  schedule_check(host);
}

void Connections::check_recovery(int host) {
  Recovery& recovery = *of(host).recovery;
  if (now_ >= recovery.until)
    return fail(host, make_error(ErrorClass::host,
                                 fmt::format("could not be reached again for {}: {}",
                                             duration_text(now_ - recovery.since), recovery.why)));
  if (!recovery.is_noted && now_ >= recovery.since + timing_.broken_notice) {
    recovery.is_noted = true;
    act(host_action::Note{fmt::format("host '{}' is waited for, {} at most: {}", of(host).name,
                                      duration_text(recovery.until - now_), recovery.why)});
  }
  if (recovery.next_try && now_ >= *recovery.next_try) try_to_reach(host);
}

}  // namespace train
