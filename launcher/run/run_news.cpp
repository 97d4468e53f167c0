// SPDX-License-Identifier: Apache-2.0
// News of hosts: they can be talked to, can be talked to again, or not any more.
#include <fmt/format.h>

#include <algorithm>

#include "launcher/run/run.hpp"

namespace train {

const char* Run::words_of(message::OwnStop stop) {
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

void Run::handle(const HostNews& news) {
  std::visit([this](const auto& each) { handle(each); }, news);
}

void Run::handle(const host_news::Up& news) {
  if (hosts_[news.host].state == HostState::connecting) prepare(news.host);
}

void Run::prepare(int host) {
  enter(hosts_[host], HostState::preparing);
  hosts_[host].last_progress = now_;
  schedule_check(host);
  if (!context_awaited_) act(run_action::SendPrepare{host});
}

void Run::handle(const host_news::Said& news) {
  std::visit([&](const auto& m) { receive(news.host, m); }, news.message);
}

void Run::handle(const host_news::Printed& news) {
  HostRun& h = hosts_[news.host];
  hang_.progress(now_);
  if (!h.finish_by) return;
  h.late_bytes += news.bytes;
  await_finish(h);
  // The last output of a failing rank comes after all its earlier output, so a stop after a failure
  // waits for it. A stop by the user does not.
  const Instant limit = std::min(now_ + timing_.stop_slack, h.drain_by);
  if (stop_by_ && stop_requests_ == 0) stop_by_ = std::max(*stop_by_, limit);
}

// The ranks have ended. The limit also holds for a host that prints endlessly.
void Run::await_finish(HostRun& host) {
  host.finish_by = std::min(now_ + timing_.finish_limit, host.drain_by);
}

// A host that was out of reach gets more time to report, by at most one window in all, so that
// repeated outages do not extend it further.
void Run::extend_drain_deadline(HostRun& host, const AlignedInstant& away) {
  const nanoseconds window = connections_.timing().reconnect_window;
  const nanoseconds missed =
      std::min(now_ - (away.at - away.bound), std::max(window - host.missed, nanoseconds(0)));
  host.missed += missed;
  host.drain_by += missed;
}

void Run::handle(const host_news::Lost& news) { host_failed(news.host, news.why, news.left); }

// On a new stream, or on the old one.
void Run::handle(const host_news::Resumed& news) {
  HostRun& h = hosts_[news.host];
  h.was_resumed = true;
  hang_.missed(now_ - (news.away.at - news.away.bound), now_);
  // The agent repeats all facts about its ranks.
  h.repetitions.expect(2 * trial_.hosts[news.host].rank_count);
  if (h.finish_by) {
    extend_drain_deadline(h, news.away);
    await_finish(h);
  }
  if (h.state == HostState::connecting) return prepare(news.host);
  // The Prepare may have been lost with the old stream.
  if (h.state == HostState::preparing && !context_awaited_ && status_in(news.hello) == nullptr)
    act(run_action::SendPrepare{news.host});
  // The probe request, or its answer, may have been lost too.
  if (h.state == HostState::ready && networks_.is_expected(news.host)) {
    networks_.ask_again(news.host, now_);
    act_on_networks();
  }
  if (h.state == HostState::running) resume_ranks(news);
}

// The agent's status of this attempt; null if the agent does not know it.
const message::AttemptStatus* Run::status_in(const message::Hello& hello) const {
  const auto found =
      std::find_if(hello.attempts.begin(), hello.attempts.end(),
                   [&](const message::AttemptStatus& each) { return each.of == rules_.of; });
  return found == hello.attempts.end() ? nullptr : &*found;
}

void Run::resume_ranks(const host_news::Resumed& news) {
  const int host = news.host;
  const message::AttemptStatus* const status = status_in(news.hello);
  if (!is_agent_of_run(host, status)) return;
  const message::OwnStop stop = status != nullptr ? status->stop : message::OwnStop::none;
  hosts_[host].own_stop = stop;
  if (phase_ == RunPhase::stopping) {
    if (stop_sent_) act(host_action::Send{host, stop_from_now()});
  } else if (status == nullptr || !status->has_started) {  // Go was lost with the old stream
    act(run_action::SendGo{host});
  } else if (stop != message::OwnStop::none && stop != message::OwnStop::failure) {
    host_in_trouble(host, news.away, make_error(ErrorClass::host, words_of(stop)));
  }
}

// The host may have died at any moment since it was last heard.
AlignedInstant Run::lost_since(int host) const {
  return sometime(connections_.last_heard(host), now_);
}

// The host cannot be talked to any more, or has broken the rules.
void Run::let_go(int host, Error why) {
  const HostState state = hosts_[host].state;
  if (state == HostState::failed || state == HostState::finished) return;
  act(run_action::LetGo{host});
  host_failed(host, std::move(why));
}

void Run::host_failed(int host, Error why, const message::LeftBehind& left) {
  HostRun& h = hosts_[host];
  if (h.state == HostState::failed || h.state == HostState::finished) return;
  const bool was_running = h.state == HostState::running;
  enter(h, HostState::failed);
  if (was_running || !left.survivors.empty())
    outcome_.leftovers.push_back(
        {host, left.survivors, left.more_survivors, why.diagnostics.front().message});
  // If all its ranks have ended, only the rest of their output and the clean-up are lost.
  if (was_running && h.ranks_left == 0) return check_over();
  const PlannedHost& planned = trial_.hosts[host];
  for (int rank = planned.first_rank; rank < planned.first_rank + planned.rank_count; ++rank)
    if (outcome_.ranks[rank].state == RankOutcome::State::running)
      outcome_.ranks[rank].state = RankOutcome::State::lost;
  const AlignedInstant since =
      was_running ? lost_since(host) : AlignedInstant{now_, nanoseconds(0)};
  failures_.push_back(
      {since, with_context(why, fmt::format("host '{}'", name(host))), std::nullopt, host, 0});
  if (phase_ == RunPhase::connecting)
    decide_start();
  else if (phase_ == RunPhase::running)
    stop(usual_stop(), why_stopping(fmt::format("host '{}' is lost", name(host))));
  else
    check_over();
}

}  // namespace train
