// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace train {

namespace {

Error at_host(const Error& error, const std::string& host) {
  return with_context(error, fmt::format("host '{}'", host));
}

Error rank_error(const Trial& trial, const message::RankEnded& m) {
  const PlannedHost& host = trial.hosts[trial.ranks[m.rank].host];
  std::string what = m.code ? fmt::format("exited with code {}", *m.code)
                            : fmt::format("was killed by {}", signal_name(*m.signal));
  if (m.dumped_core) what += " (core dumped)";
  return make_error(ErrorClass::worker,
                    fmt::format("rank {} on '{}' {}", m.rank, host.host.name, what));
}

}  // namespace

Run::Run(const Trial& trial, milliseconds stop_grace, Timing timing)
    : trial_(trial), stop_grace_(stop_grace), timing_(timing) {
  for (const PlannedHost& host : trial.hosts) hosts_.emplace_back().name = host.host.name;
  outcome_.ranks.resize(trial.ranks.size());
}

std::vector<RunAction> Run::on(const RunEvent& event, Instant now) {
  now_ = now;
  if (phase_ != Phase::over) std::visit([this](const auto& e) { handle(e); }, event);
  return std::exchange(actions_, {});
}

std::optional<Instant> Run::next_deadline() const {
  if (phase_ == Phase::over) return std::nullopt;
  std::optional<Instant> earliest;
  const auto consider = [&](Instant instant) {
    if (!earliest || instant < *earliest) earliest = instant;
  };
  if (verdict_at_) consider(*verdict_at_);
  if (stop_by_) consider(*stop_by_);
  for (const HostRun& host : hosts_) {
    if (!host.open) continue;
    consider(host.last_ping + timing_.heartbeat);
    consider(host.last_heard + timing_.silence_limit);
    const bool starting = host.state == HostState::opened || host.state == HostState::preparing;
    if (starting) consider(host.opened + timing_.prepare_limit);
  }
  return earliest;
}

bool Run::owns(int host, int rank) const {
  return rank >= 0 && rank < static_cast<int>(trial_.ranks.size()) &&
         trial_.ranks[rank].host == host;
}

void Run::ping(int host) {
  hosts_[host].last_ping = now_;
  act(run_action::Send{host, message::Ping{now_}});
}

void Run::handle(const run_event::HostOpened& event) {
  HostRun& host = hosts_[event.host];
  if (host.state != HostState::connecting) return;
  host.state = HostState::opened;
  host.address = event.address;
  host.open = true;
  host.opened = host.last_heard = now_;
  // The first round trip already tells how the clocks differ.
  ping(event.host);
  if (phase_ == Phase::connecting) {
    host.state = HostState::preparing;
    act(run_action::SendPrepare{event.host});
  } else {
    host.state = HostState::finished;
    host.open = false;
    act(run_action::CloseHost{event.host});
  }
}

void Run::handle(const run_event::HostSaid& event) {
  HostRun& host = hosts_[event.host];
  if (!host.open) return;
  host.last_heard = now_;
  std::visit([&](const auto& m) { receive(event.host, m); }, event.message);
}

void Run::receive(int host, const message::Hello& m) {
  if (m.version == wire_version) return;
  host_failed(host, make_error(ErrorClass::host,
                               fmt::format("its agent speaks version {} of the protocol, this "
                                           "launcher version {}",
                                           m.version, wire_version)));
}

void Run::receive(int host, const message::Pong& m) {
  hosts_[host].clock.add(m.sent, m.answered, now_);
}

void Run::receive(int host, const message::Ready& m) {
  HostRun& h = hosts_[host];
  if (h.state != HostState::preparing) return;
  h.state = HostState::ready;
  h.held_port = m.held_port;
  decide_start();
}

void Run::receive(int host, const message::Refused& m) {
  if (hosts_[host].state != HostState::preparing) return;
  host_failed(host, Error{ErrorClass::missing, m.problems});
}

// While starting, every host's verdict is waited for (for a bounded time), so that all that is
// wrong is said at once.
void Run::decide_start() {
  if (phase_ != Phase::connecting) return;
  const auto is = [](HostState state) {
    return [state](const HostRun& host) { return host.state == state; };
  };
  if (std::all_of(hosts_.begin(), hosts_.end(), is(HostState::ready))) return go();
  if (failures_.empty()) return;
  const bool undecided = std::any_of(hosts_.begin(), hosts_.end(), [](const HostRun& host) {
    return host.state != HostState::ready && host.state != HostState::failed;
  });
  if (!undecided || (verdict_at_ && now_ >= *verdict_at_)) return stop(milliseconds(0), {});
  if (!verdict_at_) verdict_at_ = now_ + timing_.verdict_wait;
}

void Run::go() {
  phase_ = Phase::running;
  const HostRun& first = hosts_.front();
  const message::Go start{hosts_.size() == 1 ? "127.0.0.1" : first.address,
                          first.held_port.value_or(0)};
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    hosts_[host].state = HostState::running;
    act(run_action::Send{host, start});
  }
}

void Run::receive(int host, const message::RankStarted& m) {
  if (!owns(host, m.rank)) return;
  RankOutcome& rank = outcome_.ranks[m.rank];
  if (rank.state != RankOutcome::State::not_started) return;
  rank.state = RankOutcome::State::running;
  if (++ranks_started_ == static_cast<int>(outcome_.ranks.size())) {
    outcome_.all_started = true;
    act(run_action::AllStarted{});
  }
}

void Run::receive(int host, const message::RankNotStarted& m) {
  if (!owns(host, m.rank)) return;
  outcome_.ranks[m.rank].never_started = true;
  failures_.push_back(
      {{now_, nanoseconds(0)},
       make_error(ErrorClass::missing, fmt::format("rank {} on '{}' could not be started: {}",
                                                   m.rank, hosts_[host].name, m.reason)),
       m.rank,
       host,
       0});
  stop(stop_grace_, failures_.back().error.diagnostics.front().message);
}

void Run::receive(int host, const message::RankEnded& m) {
  if (!owns(host, m.rank)) return;
  RankOutcome& rank = outcome_.ranks[m.rank];
  if (rank.state != RankOutcome::State::running) return;
  rank.code = m.code;
  rank.signal = m.signal;
  rank.dumped_core = m.dumped_core;
  rank.error_file = m.error_file;
  rank.at = hosts_[host].clock.align(m.at).value_or(AlignedInstant{now_, milliseconds(0)});
  if (m.code == 0) {
    rank.state = RankOutcome::State::succeeded;
    return;
  }
  if (m.after_stop) {
    rank.state = RankOutcome::State::stopped;
    return;
  }
  rank.state = RankOutcome::State::failed;
  failures_.push_back(
      {*rank.at, rank_error(trial_, m), m.rank, host, m.code ? *m.code : 128 + *m.signal});
  stop(stop_grace_, failures_.back().error.diagnostics.front().message);
}

bool Run::all_ranks_accounted_for(int host) const {
  return std::all_of(trial_.ranks.begin(), trial_.ranks.end(), [&](const PlannedRank& rank) {
    const RankOutcome& outcome = outcome_.ranks[rank.rank];
    return rank.host != host || outcome.never_started || outcome.code || outcome.signal;
  });
}

void Run::receive(int host, const message::Finished& m) {
  HostRun& h = hosts_[host];
  if (h.state == HostState::finished || h.state == HostState::failed) return;
  if (h.state == HostState::running && !all_ranks_accounted_for(host))
    return host_failed(
        host, make_error(ErrorClass::host, "its agent finished without a word on every rank"));
  h.survivors = m.survivors;
  h.state = HostState::finished;
  h.open = false;
  act(run_action::Send{host, message::Bye{}});
  act(run_action::CloseHost{host});
  check_over();
}

void Run::handle(const run_event::HostClosed& event) {
  HostRun& host = hosts_[event.host];
  if (host.state == HostState::finished || host.state == HostState::failed) return;
  host_failed(event.host, event.why);
}

void Run::host_failed(int host, Error why) {
  HostRun& h = hosts_[host];
  if (h.state == HostState::failed || h.state == HostState::finished) return;
  const bool was_open = h.open;
  // It may have been dead since it was last heard: anything that failed elsewhere after that can
  // be a consequence.
  const Instant since = was_open && h.state == HostState::running ? h.last_heard : now_;
  h.state = HostState::failed;
  h.open = false;
  for (const PlannedRank& rank : trial_.ranks) {
    RankOutcome& outcome = outcome_.ranks[rank.rank];
    if (rank.host == host && outcome.state == RankOutcome::State::running)
      outcome.state = RankOutcome::State::lost;
  }
  failures_.push_back({{since, nanoseconds(0)}, at_host(why, h.name), std::nullopt, host, 0});
  act(run_action::CloseHost{host});
  if (phase_ == Phase::connecting)
    decide_start();
  else if (phase_ == Phase::running)
    stop(stop_grace_, failures_.back().error.diagnostics.front().message);
  else
    check_over();
}

void Run::send_stop(int host, milliseconds grace) {
  HostRun& h = hosts_[host];
  switch (h.state) {
    case HostState::running:
      act(run_action::Send{host, message::Stop{grace}});
      break;
    case HostState::opened:
    case HostState::preparing:
    case HostState::ready:  // nothing was started there
      act(run_action::Send{host, message::Bye{}});
      [[fallthrough]];
    case HostState::connecting:
      h.state = HostState::finished;
      h.open = false;
      act(run_action::CloseHost{host});
      break;
    case HostState::finished:
    case HostState::failed:
      break;
  }
}

void Run::stop(milliseconds grace, const std::string& why) {
  if (phase_ == Phase::over) return;
  if (phase_ != Phase::stopping && !why.empty()) act(run_action::Stopping{why});
  const bool first_time = phase_ != Phase::stopping;
  phase_ = Phase::stopping;
  verdict_at_.reset();
  const Instant deadline = now_ + grace + timing_.stop_slack;
  stop_by_ = stop_by_ ? std::min(*stop_by_, deadline) : deadline;
  // A later request repeats the stop only when it leaves less grace.
  if (first_time || grace < stop_grace_)
    for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) send_stop(host, grace);
  check_over();
}

void Run::handle(const run_event::StopRequested& event) {
  if (stop_requests_++ == 0) {
    // A failure that was already being handled stays the cause.
    if (failures_.empty()) outcome_.stop_signal = event.signal;
    return stop(stop_grace_, fmt::format("{}: stopping all ranks", signal_name(event.signal)));
  }
  if (stop_requests_ == 2) return stop(milliseconds(0), {});
  give_up_waiting();
}

void Run::handle(const run_event::Tick&) {
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    HostRun& h = hosts_[host];
    if (!h.open) continue;
    const bool starting = h.state == HostState::opened || h.state == HostState::preparing;
    if (now_ >= h.last_heard + timing_.silence_limit) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now_ - h.last_heard);
      host_failed(host, make_error(ErrorClass::host,
                                   fmt::format("silent for {} s: its network, the machine or its "
                                               "agent is gone or frozen",
                                               seconds.count()),
                                   "its agent stops its ranks by itself once it has missed the "
                                   "launcher for 40 s"));
    } else if (starting && now_ >= h.opened + timing_.prepare_limit) {
      host_failed(host,
                  make_error(ErrorClass::host,
                             fmt::format("was not ready after {} s",
                                         timing_.prepare_limit / std::chrono::seconds(1)),
                             "look for a hanging file system under the working directory or PATH"));
    } else if (now_ >= h.last_ping + timing_.heartbeat) {
      ping(host);
    }
  }
  if (verdict_at_ && now_ >= *verdict_at_) decide_start();
  if (stop_by_ && now_ >= *stop_by_) give_up_waiting();
}

bool Run::all_hosts_settled() const {
  return std::all_of(hosts_.begin(), hosts_.end(), [](const HostRun& host) {
    return host.state == HostState::finished || host.state == HostState::failed;
  });
}

void Run::check_over() {
  if (phase_ != Phase::over && all_hosts_settled()) finish();
}

void Run::give_up_waiting() {
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    HostRun& h = hosts_[host];
    if (h.state == HostState::finished || h.state == HostState::failed) continue;
    if (h.state == HostState::running) {
      outcome_.leftovers.push_back({host, {}});
      failures_.push_back(
          {{h.last_heard, nanoseconds(0)},
           at_host(make_error(ErrorClass::host, "did not confirm that its ranks have stopped"),
                   h.name),
           std::nullopt,
           host,
           0});
    }
    h.state = HostState::finished;
    h.open = false;
    act(run_action::CloseHost{host});
  }
  if (phase_ != Phase::over) finish();
}

void Run::finish() {
  phase_ = Phase::over;
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host)
    if (!hosts_[host].survivors.empty())
      outcome_.leftovers.push_back({host, hosts_[host].survivors});
  std::stable_sort(failures_.begin(), failures_.end(),
                   [](const Failure& a, const Failure& b) { return a.at.at < b.at.at; });
  if (!failures_.empty()) {
    outcome_.cause = failures_.front();
    outcome_.others.assign(failures_.begin() + 1, failures_.end());
    const Instant latest = outcome_.cause->at.at + outcome_.cause->at.bound;
    for (int i = 0; i < static_cast<int>(outcome_.others.size()); ++i)
      if (outcome_.others[i].at.at - outcome_.others[i].at.bound <= latest)
        outcome_.simultaneous.push_back(i);
  }
  if (outcome_.stop_signal) outcome_.cause.reset();
  outcome_.succeeded =
      !outcome_.cause && !outcome_.stop_signal &&
      std::all_of(outcome_.ranks.begin(), outcome_.ranks.end(), [](const RankOutcome& rank) {
        return rank.state == RankOutcome::State::succeeded;
      });
  act(run_action::Over{});
}

}  // namespace train
