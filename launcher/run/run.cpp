// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "launcher/ports/earliest.hpp"
#include "launcher/run/error_file.hpp"

namespace train {

namespace {

Error rank_error(int rank, const std::string& host, const message::RankEnded& m) {
  std::string what = m.code ? fmt::format("exited with code {}", *m.code)
                            : fmt::format("was killed by {}", signal_name(*m.signal));
  if (m.dumped_core) what += " (core dumped)";
  // The line may be printed to a terminal, and parts of it come from a host.
  if (m.memory_kill && m.signal)
    what = "was killed by the kernel for want of memory (OOM: " + m.memory_kill->limit + ")";
  else if (m.memory_kill)
    what += ": the kernel killed a process of it for want of memory (OOM: " + m.memory_kill->limit +
            ")";
  else if (!m.parent_end.empty())
    what += ": the process that ranks are started from " + m.parent_end;
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
        {ready, running, finished, failed}},
       {ready, "ready", "it waits for the others", {running, finished, failed}},
       {running, "running", "it was told to start its ranks, or to stop them", {finished, failed}},
       {finished, "finished", "it has told the end of its ranks, or is not needed any more", {}},
       {failed, "failed", "it was lost, refused, or did not speak the protocol", {}}});
  return table;
}

Run::Run(const Trial& trial, TrialConnections connections, Rules rules, Timing timing)
    : trial_(trial),
      connections_(std::move(connections)),
      rules_(std::move(rules)),
      timing_(timing),
      context_awaited_(rules_.delivery == Delivery::context),
      leases_(rules_.task_id, static_cast<int>(trial.hosts.size()),
              {.answer_limit = LeaseRound::Timing().answer_limit + rules_.gpu_wait}),
      hang_({.timeout = rules_.hang_timeout}),
      hosts_(trial.hosts.size()),
      checks_(trial.hosts.size()) {
  for (const PlannedRank& rank : trial.ranks) ++hosts_[rank.host].ranks_left;
  rules_.holds.resize(hosts_.size());
  for (std::size_t host = 0; host < hosts_.size(); ++host)
    if (!rules_.holds[host]) leases_.exempt(static_cast<int>(host));
  hosts_in_[static_cast<std::size_t>(HostState::connecting)] = static_cast<int>(hosts_.size());
  outcome_.ranks.resize(trial.ranks.size());
}

std::vector<RunAction> Run::on(const RunEvent& event, Instant now) {
  now_ = now;
  if (phase_ != RunPhase::over) std::visit([this](const auto& e) { handle(e); }, event);
  return std::exchange(actions_, {});
}

std::optional<Instant> Run::next_deadline() const {
  if (phase_ == RunPhase::over) return std::nullopt;
  const auto lease_deadline =
      phase_ == RunPhase::connecting ? leases_.next_deadline() : std::nullopt;
  const auto probe_deadline =
      phase_ == RunPhase::connecting ? networks_.next_deadline() : std::nullopt;
  return earliest({answers_by_, stop_by_, checks_.next(), lease_deadline, probe_deadline,
                   hang_.next_deadline()});
}

void Run::enter(HostRun& host, HostState state) {
  --hosts_in_[static_cast<std::size_t>(HostState(host.state))];
  ++hosts_in_[static_cast<std::size_t>(state)];
  host.state.become(state);
}

bool Run::has_no_ranks_left() const {
  return std::all_of(hosts_.begin(), hosts_.end(),
                     [](const HostRun& host) { return host.ranks_left == 0; });
}

int Run::ranks_left() const {
  int count = 0;
  for (const HostRun& host : hosts_) count += host.ranks_left;
  return count;
}

void Run::receive(int host, const message::Ready& m) {
  HostRun& h = hosts_[host];
  if (h.was_stopped_early) return count_repetition(host);
  // A repetition over a new stream.
  const bool is_known = h.state == HostState::ready || h.state == HostState::running;
  if (is_known && is_adopted_ && !std::exchange(h.has_told_ports, true)) {
    h.held_ports = m.held_ports;
    return;
  }
  if (is_known) return repeated_fact(host, "'ready'");
  if (h.state != HostState::preparing || context_awaited_)
    return refuse_unexpected(host, "'ready'");
  const auto wanted = static_cast<std::size_t>(held_ports(rules_.ports, trial_, host));
  if (m.held_ports.size() != wanted ||
      std::set(m.held_ports.begin(), m.held_ports.end()).size() != wanted)
    return let_go(host, make_error(ErrorClass::host,
                                   fmt::format("holds {} ports and was asked for {} "
                                               "different ones",
                                               m.held_ports.size(), wanted),
                                   not_our_agent));
  if (auto why = gpu_obstacle(trial_.hosts[static_cast<std::size_t>(host)], trial_.backend, m.gpus))
    return let_go(host, Error{ErrorClass::host, {std::move(*why)}});
  enter(h, HostState::ready);
  h.held_ports = m.held_ports;
  h.gpus = m.gpus;
  h.networks = m.networks;
  h.checkpoint_mark = m.checkpoint_mark;
  h.ends_with_login = m.ends_with_login;
  if (rules_.holds[static_cast<std::size_t>(host)]) leases_.expect(host, now_);
  decide_start();
}

void Run::receive(int host, const message::Refused& m) {
  if (hosts_[host].was_stopped_early) return count_repetition(host);
  if (hosts_[host].state != HostState::preparing) return refuse_unexpected(host, "'refused'");
  const Error why{m.error_class, m.problems};
  // Nothing of this attempt is left on the host, and its agent waits for another one. The agent of
  // a host in trouble is started anew.
  if (keeps_hosts() && m.error_class != ErrorClass::host) return host_failed(host, why);
  let_go(host, why);
}

// When a host fails before the start, the answers of the others are waited for (for a bounded
// time), so that all problems are reported at once.
void Run::decide_start() {
  if (phase_ != RunPhase::connecting) return;
  const bool are_ready = count(HostState::ready) == static_cast<int>(hosts_.size());
  if (are_ready) look_for_networks();
  const bool are_known = !rules_.looks_for_networks || networks_.is_settled();
  if (are_ready && are_known && leases_.holds_all()) return go();
  if (failures_.empty()) return;
  const bool undecided =
      count(HostState::connecting) + count(HostState::preparing) > 0 || leases_.is_any_expected();
  if (undecided && (!answers_by_ || now_ < *answers_by_)) {
    if (!answers_by_) answers_by_ = now_ + timing_.answer_wait;
    return;
  }
  note_undecided();
  stop(kill_at_once, {});
}

void Run::note_undecided() {
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host)
    if (hosts_[host].state == HostState::connecting || hosts_[host].state == HostState::preparing)
      outcome_.undecided.push_back(host);
}

// The outcome of a rank that this host may report on now; null: it may not.
RankOutcome* Run::outcome_of(int host, int rank, const char* what) {
  const bool owns =
      rank >= 0 && rank < static_cast<int>(trial_.ranks.size()) && trial_.ranks[rank].host == host;
  if (owns && hosts_[host].state == HostState::running) return &outcome_.ranks[rank];
  refuse_unexpected(host, what);
  return nullptr;
}

void Run::rank_is_over(int host) {
  HostRun& h = hosts_[host];
  hang_.progress(now_);
  if (--h.ranks_left > 0) return;
  h.drain_by = now_ + timing_.drain_limit;
  await_finish(h);
  schedule_check(host);
}

void Run::receive(int host, const message::RankStarted& m) {
  RankOutcome* const rank = outcome_of(host, m.rank, "'started'");
  if (rank == nullptr) return;
  if (rank->never_started) return refuse_unexpected(host, "'started'");
  if (rank->state != RankOutcome::State::not_started) return repeated_fact(host, "'started'");
  rank->state = RankOutcome::State::running;
  hang_.progress(now_);
  rank->cpus = m.cpus;
  if (m.shares_cores) note_shared_cores(host);
  if (++ranks_started_ < static_cast<int>(outcome_.ranks.size())) return;
  outcome_.all_started = true;
  if (phase_ == RunPhase::running) act(run_action::AllStarted{});
}

void Run::receive(int host, const message::RankNotStarted& m) {
  RankOutcome* const rank = outcome_of(host, m.rank, "'not started'");
  if (rank == nullptr) return;
  if (rank->never_started) return repeated_fact(host, "'not started'");
  if (rank->state != RankOutcome::State::not_started)
    return refuse_unexpected(host, "'not started'");
  rank->never_started = true;
  rank_is_over(host);
  // The host had stopped all ranks that it was to start.
  if (m.error_class == ErrorClass::host && hosts_[host].own_stop != message::OwnStop::none) return;
  rank_failed({{now_, nanoseconds(0)},
               make_error(m.error_class, fmt::format("rank {} on '{}' could not be started: {}",
                                                     m.rank, name(host), m.reason)),
               m.rank,
               host,
               0});
}

Instant Run::time_of(int host, Instant at, Instant now) const {
  const auto aligned = connections_.clock(host).align(at);
  return aligned ? std::clamp(aligned->at, std::min(go_at_, now), now) : now;
}

// Whatever the clock of a host says: a rank cannot have ended before it was told to start, nor
// after its end was reported.
AlignedInstant Run::align(int host, Instant at) const {
  const auto aligned = connections_.clock(host).align(at);
  if (!aligned) return {now_, now_ - go_at_};
  return {std::clamp(aligned->at, go_at_, now_), aligned->bound};
}

void Run::receive(int host, const message::RankEnded& m) {
  RankOutcome* const rank = outcome_of(host, m.rank, "'ended'");
  if (rank == nullptr) return;
  if (rank->state == RankOutcome::State::not_started) return refuse_unexpected(host, "'ended'");
  if (rank->state != RankOutcome::State::running) return repeated_fact(host, "'ended'");
  rank->code = m.code;
  rank->signal = m.signal;
  rank->dumped_core = m.dumped_core;
  rank->reported = message_of_error_file(m.error_file);
  rank->memory_kill = m.memory_kill;
  rank->core = m.core;
  rank->ended_with_parent = !m.parent_end.empty();
  if (m.usage) rank->usage = m.usage;
  if (rank->usage) *rank->usage = rank->usage->in_total();
  rank->at = align(host, m.at);
  align_later(host, m.rank, m.at);
  rank_is_over(host);
  if (m.code == 0 || m.after_stop) {
    rank->state = m.code == 0 ? RankOutcome::State::succeeded : RankOutcome::State::stopped;
    if (!m.after_stop)
      ++ranks_done_;
    else if (phase_ == RunPhase::running)  // not requested by this launcher
      host_in_trouble(host, *rank->at, make_error(ErrorClass::host, words_of_stop(host)));
    return;
  }
  rank->state = RankOutcome::State::failed;
  rank_failed({*rank->at, rank_error(m.rank, name(host), m), m.rank, host,
               m.code ? *m.code : 128 + *m.signal});
}

// Comes often and decides nothing; it may be about a rank that has ended.
void Run::receive(int host, const message::Usage& m) {
  if (hosts_[host].state != HostState::running) return refuse_unexpected(host, "'usage'");
  for (const UsageOfRank& each : m.ranks) {
    RankOutcome* const rank = outcome_of(host, each.rank, "'usage'");
    if (rank == nullptr) return;
    if (rank->state == RankOutcome::State::running) rank->usage = each.usage;
  }
  count_repetition(host);
}

const RankUsage* Run::usage_of(int rank) const {
  const bool is_one = rank >= 0 && rank < static_cast<int>(outcome_.ranks.size());
  return is_one && outcome_.ranks[rank].usage ? &*outcome_.ranks[rank].usage : nullptr;
}

const std::vector<int>* Run::cpus_of(int rank) const {
  const bool is_one = rank >= 0 && rank < static_cast<int>(outcome_.ranks.size());
  return is_one && !outcome_.ranks[rank].cpus.empty() ? &outcome_.ranks[rank].cpus : nullptr;
}

void Run::rank_failed(Failure failure) {
  const int rank = *failure.rank;
  failures_.push_back(std::move(failure));
  stop(usual_stop(),
       why_stopping(fmt::format("rank {} on '{}' failed", rank, name(failures_.back().host))));
}

std::string Run::why_stopping(const std::string& failed) const {
  const bool any_runs = std::any_of(
      outcome_.ranks.begin(), outcome_.ranks.end(),
      [](const RankOutcome& rank) { return rank.state == RankOutcome::State::running; });
  return any_runs ? failed + ": stopping the other ranks" : std::string();
}

void Run::receive(int host, const message::Finished& m) {
  HostRun& h = hosts_[host];
  if (h.state != HostState::running) return refuse_unexpected(host, "'finished'");
  // While stopping, the end of a rank whose process cannot be killed may stay unknown.
  if (h.ranks_left > 0 && phase_ != RunPhase::stopping)
    return let_go(host,
                  make_error(ErrorClass::host, "its agent finished without a word on every rank"));
  h.survivors = m.survivors;
  h.more_survivors = m.more_survivors;
  finish_host(host);
  check_over();
}

// Whether hosts that have done their part are kept for another attempt.
bool Run::keeps_hosts() const {
  if (rules_.hosts == Hosts::dismissed) return false;
  return rules_.hosts == Hosts::kept_always || has_gone_;
}

void Run::finish_host(int host) {
  enter(hosts_[host], HostState::finished);
  // An agent that has failed refuses all further attempts, so another attempt starts a new one.
  if (keeps_hosts() && !hosts_[host].has_agent_failed)
    act(run_action::Keep{host});
  else
    act(run_action::Dismiss{host});
}

void Run::refuse_unexpected(int host, const char* what) {
  let_go(host, unexpected_message_error(what));
}

// Repeated messages still cost work: the limit keeps a host from making the launcher busy with
// them.
void Run::count_repetition(int host) {
  const nanoseconds span = connections_.timing().heartbeat;
  if (!hosts_[host].repetitions.add(now_, span)) let_go(host, flood_error(span));
}

// Facts about a host's ranks are repeated only on a new stream.
void Run::repeated_fact(int host, const char* what) {
  if (hosts_[host].was_resumed) return count_repetition(host);
  refuse_unexpected(host, what);
}

}  // namespace train
