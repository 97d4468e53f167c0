// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "launcher/run/error_file.hpp"

namespace train {

namespace {

constexpr const char* not_our_agent =
    "something other than the agent of this version of train answers there";
constexpr const char* stopped_for_silence =
    "its agent stopped its ranks: it had not heard from this launcher for too long";

Error rank_error(int rank, const std::string& host, const message::RankEnded& m) {
  std::string what = m.code ? fmt::format("exited with code {}", *m.code)
                            : fmt::format("was killed by {}", signal_name(*m.signal));
  if (m.dumped_core) what += " (core dumped)";
  return make_error(ErrorClass::worker, fmt::format("rank {} on '{}' {}", rank, host, what));
}

}  // namespace

const StateTable<RunPhase>& run_phases() {
  using enum RunPhase;
  static const StateTable<RunPhase> table(
      "a run", {{connecting,
                 "connecting",
                 "hosts are reached and prepared; nothing was started",
                 {running, stopping}},
                {running, "running", "every host was told to start its ranks", {stopping, over}},
                {stopping,
                 "stopping",
                 "the ranks are being stopped, or nothing is to be started any more",
                 {over}},
                {over, "over", "nothing more is expected of any host", {}}});
  return table;
}

const StateTable<HostState>& host_states() {
  using enum HostState;
  static const StateTable<HostState> table(
      "a host of a run",
      {{connecting, "connecting", "it is being reached", {preparing, finished, failed}},
       {preparing,
        "preparing",
        "its agent looks whether the ranks can be started there",
        {ready, finished, failed}},
       {ready, "ready", "it waits for the others", {running, finished, failed}},
       {running, "running", "it was told to start its ranks, or to stop them", {finished, failed}},
       {finished, "finished", "it has told the end of its ranks, or is not needed any more", {}},
       {failed, "failed", "it was lost, refused, or did not speak the protocol", {}}});
  return table;
}

Run::Run(const Trial& trial, PortNeeds ports, milliseconds stop_grace, Timing timing,
         Delivery delivery)
    : trial_(trial),
      ports_(ports),
      stop_grace_(stop_grace),
      timing_(timing),
      delivery_(delivery),
      context_awaited_(delivery == Delivery::context) {
  for (const PlannedHost& host : trial.hosts) hosts_.emplace_back().name = host.host.name;
  for (const PlannedRank& rank : trial.ranks) hosts_[rank.host].ranks.push_back(rank.rank);
  for (HostRun& host : hosts_) host.ranks_left = static_cast<int>(host.ranks.size());
  hosts_in_[static_cast<std::size_t>(HostState::connecting)] = static_cast<int>(hosts_.size());
  outcome_.ranks.resize(trial.ranks.size());
}

std::vector<RunAction> Run::on(const RunEvent& event, Instant now) {
  // A launcher that slept through its deadlines (a suspended machine, Ctrl-Z) has not listened
  // either: what its hosts sent meanwhile waits to be read.
  const auto due = next_deadline();
  if (due && now > *due + timing_.heartbeat) awake_since_ = now;
  now_ = now;
  if (phase_ != RunPhase::over) std::visit([this](const auto& e) { handle(e); }, event);
  return std::exchange(actions_, {});
}

std::optional<Instant> Run::next_deadline() const {
  if (phase_ == RunPhase::over) return std::nullopt;
  std::optional<Instant> earliest;
  const auto consider = [&](Instant instant) {
    if (!earliest || instant < *earliest) earliest = instant;
  };
  if (answers_by_) consider(*answers_by_);
  if (stop_by_) consider(*stop_by_);
  if (!checks_.empty()) consider(checks_.top().first);
  return earliest;
}

void Run::enter(HostRun& host, HostState state) {
  --hosts_in_[static_cast<std::size_t>(HostState(host.state))];
  ++hosts_in_[static_cast<std::size_t>(state)];
  host.state.become(state);
}

// Nothing more is expected of this host.
void Run::settle(int host, HostState state) {
  enter(hosts_[host], state);
  hosts_[host].open = false;
  drop_outage(hosts_[host]);
  act(run_action::CloseHost{host});
}

void Run::handle(const run_event::HostOpened& event) {
  HostRun& host = hosts_[event.host];
  if (host.state != HostState::connecting) return;
  enter(host, HostState::preparing);
  host.address = event.address;
  host.own_address = event.own_address;
  host.likely_own_address = event.likely_own_address;
  host.open = true;
  host.last_progress = now_;
  host.heartbeat.heard(now_);
  // The first round trip already tells how the clocks differ.
  ping(event.host);
  look_again(event.host);
  if (!context_awaited_) act(run_action::SendPrepare{event.host});
}

void Run::handle(const run_event::HostSaid& event) {
  HostRun& host = hosts_[event.host];
  const bool is_attaching = host.outage && host.outage->is_attaching;
  if (!host.open && !is_attaching) return;
  if (is_attaching && !std::holds_alternative<message::Hello>(event.message) &&
      !std::holds_alternative<message::NoAgent>(event.message))
    return out_of_turn(event.host, "something before 'hello'");
  const bool was_silent = host.open && host.outage;
  heard(event.host);
  std::visit([&](const auto& m) { receive(event.host, m); }, event.message);
  // It hears at once that its answers get through again.
  if (was_silent && host.open) ping(event.host);
}

// A host that was silent speaks again, on the stream that it had.
void Run::heard(int host) {
  HostRun& h = hosts_[host];
  h.heartbeat.heard(now_);
  if (!h.open || !h.outage) return;
  if (h.outage->is_opening) act(run_action::KeepStream{host});
  end_outage(host);
}

void Run::handle(const run_event::HostPrinted& event) {
  HostRun& host = hosts_[event.host];
  if (!host.open) return;
  heard(event.host);
  if (host.finish_by) host.finish_by = now_ + timing_.finish_limit;
}

void Run::receive(int host, const message::Hello& m) {
  HostRun& h = hosts_[host];
  if (std::exchange(h.has_said_hello, true) && !h.outage) return said_again(host);
  if (m.version == wire_version) {
    if (h.outage) return resume(host, m);
    h.boot_id = m.boot_id;
    h.agent_pid = m.pid;
    return;
  }
  host_failed(host, make_error(ErrorClass::host,
                               fmt::format("its agent speaks version {} of the protocol, this "
                                           "launcher version {}",
                                           m.version, wire_version)));
}

void Run::receive(int host, const message::Pong& m) {
  if (!hosts_[host].heartbeat.answered(m, now_)) said_again(host);
}

void Run::receive(int host, const message::Ready& m) {
  HostRun& h = hosts_[host];
  if (h.state == HostState::running) return fact_again(host, "'ready'");
  if (h.state != HostState::preparing || context_awaited_) return out_of_turn(host, "'ready'");
  const auto wanted = static_cast<std::size_t>(held_ports(ports_, trial_, host));
  if (m.held_ports.size() != wanted ||
      std::set(m.held_ports.begin(), m.held_ports.end()).size() != wanted)
    return host_failed(host, make_error(ErrorClass::host,
                                        fmt::format("holds {} ports and was asked for {} "
                                                    "different ones",
                                                    m.held_ports.size(), wanted),
                                        not_our_agent));
  if (auto why = gpu_obstacle(trial_.hosts[static_cast<std::size_t>(host)], trial_.backend, m.gpus))
    return host_failed(host, Error{ErrorClass::host, {std::move(*why)}});
  enter(h, HostState::ready);
  // The agent reckons its fence from here until it knows of an answer to a ping.
  h.heartbeat.trust(now_);
  h.held_ports = m.held_ports;
  h.gpus = m.gpus;
  decide_start();
}

void Run::receive(int host, const message::Refused& m) {
  if (hosts_[host].state != HostState::preparing) return out_of_turn(host, "'refused'");
  host_failed(host, Error{m.error_class, m.problems});
}

// When a host fails before the start, the answers of the others are waited for (for a bounded
// time), so that all that is wrong is said at once.
void Run::decide_start() {
  if (phase_ != RunPhase::connecting) return;
  if (count(HostState::ready) == static_cast<int>(hosts_.size())) return go();
  if (failures_.empty()) return;
  const bool undecided = count(HostState::connecting) + count(HostState::preparing) > 0;
  if (undecided && (!answers_by_ || now_ < *answers_by_)) {
    if (!answers_by_) answers_by_ = now_ + timing_.answer_wait;
    return;
  }
  note_undecided();
  stop(milliseconds(0), {});
}

void Run::note_undecided() {
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host)
    if (hosts_[host].state == HostState::connecting || hosts_[host].state == HostState::preparing)
      outcome_.undecided.push_back(host);
}

// The outcome of a rank that this host may speak of now.
RankOutcome* Run::outcome_of(int host, int rank, const char* what) {
  const bool owns =
      rank >= 0 && rank < static_cast<int>(trial_.ranks.size()) && trial_.ranks[rank].host == host;
  if (owns && hosts_[host].state == HostState::running) return &outcome_.ranks[rank];
  out_of_turn(host, what);
  return nullptr;
}

void Run::rank_is_over(int host) {
  HostRun& h = hosts_[host];
  if (--h.ranks_left == 0) h.finish_by = now_ + timing_.finish_limit;
}

void Run::receive(int host, const message::RankStarted& m) {
  RankOutcome* const rank = outcome_of(host, m.rank, "'started'");
  if (rank == nullptr) return;
  if (rank->never_started) return out_of_turn(host, "'started'");
  if (rank->state != RankOutcome::State::not_started) return fact_again(host, "'started'");
  rank->state = RankOutcome::State::running;
  if (++ranks_started_ < static_cast<int>(outcome_.ranks.size())) return;
  outcome_.all_started = true;
  if (phase_ == RunPhase::running) act(run_action::AllStarted{});
}

void Run::receive(int host, const message::RankNotStarted& m) {
  RankOutcome* const rank = outcome_of(host, m.rank, "'not started'");
  if (rank == nullptr) return;
  if (rank->never_started) return fact_again(host, "'not started'");
  if (rank->state != RankOutcome::State::not_started) return out_of_turn(host, "'not started'");
  rank->never_started = true;
  rank_is_over(host);
  rank_failed({{now_, nanoseconds(0)},
               make_error(m.error_class, fmt::format("rank {} on '{}' could not be started: {}",
                                                     m.rank, hosts_[host].name, m.reason)),
               m.rank,
               host,
               0});
}

Instant Run::time_of(int host, Instant at, Instant now) const {
  const auto aligned = hosts_[host].heartbeat.clock().align(at);
  return aligned ? std::clamp(aligned->at, std::min(go_at_, now), now) : now;
}

// Whatever the clock of a host says, a rank cannot have ended before it was told to start, nor
// after its end was told.
AlignedInstant Run::align(int host, Instant at) const {
  const auto aligned = hosts_[host].heartbeat.clock().align(at);
  if (!aligned) return {now_, now_ - go_at_};
  return {std::clamp(aligned->at, go_at_, now_), aligned->bound};
}

void Run::receive(int host, const message::RankEnded& m) {
  RankOutcome* const rank = outcome_of(host, m.rank, "'ended'");
  if (rank == nullptr) return;
  if (rank->state == RankOutcome::State::not_started) return out_of_turn(host, "'ended'");
  if (rank->state != RankOutcome::State::running) return fact_again(host, "'ended'");
  rank->code = m.code;
  rank->signal = m.signal;
  rank->dumped_core = m.dumped_core;
  rank->reported = message_of_error_file(m.error_file);
  rank->at = align(host, m.at);
  rank_is_over(host);
  if (m.code == 0 || m.after_stop) {
    rank->state = m.code == 0 ? RankOutcome::State::succeeded : RankOutcome::State::stopped;
    if (!m.after_stop)
      ++ranks_done_;
    else if (phase_ == RunPhase::running)  // nobody here has asked for that
      host_in_trouble(host, *rank->at, make_error(ErrorClass::host, stopped_for_silence));
    return;
  }
  rank->state = RankOutcome::State::failed;
  rank_failed({*rank->at, rank_error(m.rank, hosts_[host].name, m), m.rank, host,
               m.code ? *m.code : 128 + *m.signal});
}

void Run::rank_failed(Failure failure) {
  const int rank = *failure.rank;
  failures_.push_back(std::move(failure));
  stop(stop_grace_, why_stopping(fmt::format("rank {} on '{}' failed", rank,
                                             hosts_[failures_.back().host].name)));
}

std::string Run::why_stopping(const std::string& failed) const {
  const bool any_runs = std::any_of(
      outcome_.ranks.begin(), outcome_.ranks.end(),
      [](const RankOutcome& rank) { return rank.state == RankOutcome::State::running; });
  return any_runs ? failed + ": stopping the other ranks" : std::string();
}

void Run::receive(int host, const message::Finished& m) {
  HostRun& h = hosts_[host];
  if (h.state != HostState::running) return out_of_turn(host, "'finished'");
  // While stopping, a process that cannot be killed may leave its rank without an end.
  if (h.ranks_left > 0 && phase_ != RunPhase::stopping)
    return host_failed(
        host, make_error(ErrorClass::host, "its agent finished without a word on every rank"));
  h.survivors = m.survivors;
  h.more_survivors = m.more_survivors;
  act(run_action::Send{host, message::Bye{}});
  settle(host, HostState::finished);
  check_over();
}

void Run::out_of_turn(int host, const char* what) {
  host_failed(
      host, make_error(ErrorClass::host, fmt::format("sent {} out of turn", what), not_our_agent));
}

// What changes nothing is still work: no host may keep the launcher busy with it.
void Run::said_again(int host) {
  if (++hosts_[host].said_again <= most_said_again) return;
  host_failed(host,
              make_error(ErrorClass::host,
                         fmt::format("floods: more than {} messages in {} s that say nothing new",
                                     most_said_again, timing_.heartbeat / std::chrono::seconds(1)),
                         not_our_agent));
}

// What is known of a host's ranks is said again on a new stream, and never else.
void Run::fact_again(int host, const char* what) {
  if (hosts_[host].was_resumed) return said_again(host);
  out_of_turn(host, what);
}

void Run::handle(const run_event::HostBrokeProtocol& event) { host_failed(event.host, event.why); }

void Run::handle(const run_event::HostClosed& event) {
  HostRun& host = hosts_[event.host];
  if (!may_be_away(host)) return host_failed(event.host, event.why);
  host.open = false;
  begin_outage(event.host, now_, event.why.diagnostics.front().message);
}

// It may have died at any moment since it was last heard.
AlignedInstant Run::lost_since(const HostRun& host) const {
  return between(host.heartbeat.last_heard(), now_);
}

AlignedInstant Run::between(Instant from, Instant to) const {
  const nanoseconds half = (to - from) / 2;
  return {from + half, half};
}

void Run::host_failed(int host, Error why) {
  HostRun& h = hosts_[host];
  if (h.state == HostState::failed || h.state == HostState::finished) return;
  const bool was_running = h.state == HostState::running;
  say_goodbye(host);
  settle(host, HostState::failed);
  if (was_running) outcome_.leftovers.push_back({host, {}, 0, why.diagnostics.front().message});
  // When all its ranks have ended, only the last of their output and the tidying up are lost.
  if (was_running && h.ranks_left == 0) return check_over();
  for (const int rank : h.ranks)
    if (outcome_.ranks[rank].state == RankOutcome::State::running)
      outcome_.ranks[rank].state = RankOutcome::State::lost;
  const AlignedInstant since = was_running ? lost_since(h) : AlignedInstant{now_, nanoseconds(0)};
  failures_.push_back(
      {since, with_context(why, fmt::format("host '{}'", h.name)), std::nullopt, host, 0});
  if (phase_ == RunPhase::connecting)
    decide_start();
  else if (phase_ == RunPhase::running)
    stop(stop_grace_, why_stopping(fmt::format("host '{}' is lost", h.name)));
  else
    check_over();
}

}  // namespace train
