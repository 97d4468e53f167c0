// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/agent_attempt.hpp"

#include <algorithm>
#include <cassert>

#include "launcher/agent/launch_values.hpp"
#include "launcher/wire/message_limits.hpp"

namespace train {

namespace {

// Total size of the error files that are kept to be repeated after a reconnect. Further ones are
// told once.
constexpr std::size_t most_kept_error_files = 4u << 20;

// Whether a message replaces an earlier one instead of being another fact.
bool is_same_fact(const Message& one, const Message& other) {
  if (const auto* port = std::get_if<message::PortTaken>(&one)) {
    const auto* also = std::get_if<message::PortTaken>(&other);
    return also != nullptr && also->port == port->port;
  }
  const bool comes_once = std::holds_alternative<message::Finished>(one) ||
                          std::holds_alternative<message::Refused>(one);
  return comes_once && one.index() == other.index();
}

}  // namespace

const StateTable<AgentAttemptState>& agent_attempt_states() {
  using enum AgentAttemptState;
  static const StateTable<AgentAttemptState> table(
      "an attempt on a host",
      {{waiting, "waiting", "the context is looked for, or taken", {checking, finished}},
       {checking,
        "checking",
        "it is seen whether the ranks can be started",
        {ready, killing, finished}},
       {ready, "ready", "ports are held; the other hosts are waited for", {running, finished}},
       {running, "running", "ranks are started, run, or have their grace to end", {killing}},
       {killing,
        "killing",
        "everything that was begun for it is ended, and what ranks started killed and collected",
        {flushing}},
       {flushing, "flushing", "nothing runs; output waits to be acknowledged", {finished}},
       {finished,
        "finished",
        "the launcher was told the end, or what keeps ranks from being started",
        {}}});
  return table;
}

AgentAttempt::AgentAttempt(AttemptId of, message::Prepare prepare)
    : of_(of), prepare_(std::move(prepare)) {
  for (const RankCommand& command : prepare_.ranks) ranks_[command.rank] = RankState::planned;
}

void AgentAttempt::send(Message message) {
  act(agent_action::SendMessage{about(within_limits(std::move(message)), of_)});
}

void AgentAttempt::state_fact(Message message) {
  message = about(within_limits(std::move(message)), of_);
  act(agent_action::SendMessage{message});
  const bool is_known = std::any_of(facts_.begin(), facts_.end(), [&](const Message& known) {
    return is_same_fact(known, message);
  });
  if (is_known) return;
  if (auto* ended = std::get_if<message::RankEnded>(&message)) {
    const std::size_t size = ended->error_file.size();
    if (kept_error_files_ + size > most_kept_error_files) ended->error_file.clear();
    kept_error_files_ += ended->error_file.size();
  }
  facts_.push_back(std::move(message));
}

std::vector<Message> AgentAttempt::facts() const {
  std::vector<Message> facts = facts_;
  if (leases_ && state_ == AgentAttemptState::ready) facts.emplace_back(*leases_);
  if (must_send_end_again_)
    std::erase_if(
        facts, [](const Message& fact) { return std::holds_alternative<message::Finished>(fact); });
  return facts;
}

// Processes that ended ranks have left behind are known only to the kernel.
std::vector<message::Survivor> AgentAttempt::processes_left() const {
  std::vector<message::Survivor> left = survivors_;
  for (const Message& fact : facts_) {
    const auto* started = std::get_if<message::RankStarted>(&fact);
    if (started != nullptr && has_processes() && ranks_.at(started->rank) == RankState::alive)
      left.push_back({started->pid, 0, words_of(prepare_.ranks, started->rank)});
  }
  return left;
}

void AgentAttempt::begin_check(const std::string& context_directory) {
  if (state_ != AgentAttemptState::waiting) return;
  if (prepare_.context)
    for (RankCommand& command : prepare_.ranks) {
      command.context_directory = context_directory;
      std::string& directory = command.working_directory;
      if (directory.starts_with('/')) continue;
      if (!directory.empty()) directory.insert(0, "/");
      directory.insert(0, context_directory);
    }
  state_.become(AgentAttemptState::checking);
  act(agent_action::CheckHost{prepare_, of_});
}

void AgentAttempt::refuse(message::Refused refusal) {
  state_.become(AgentAttemptState::finished);
  state_fact(std::move(refusal));
}

void AgentAttempt::on(const agent_event::HostChecked& event, Instant now) {
  if (state_ != AgentAttemptState::checking) return;
  if (!event.problems.empty()) return refuse({event.problems, event.error_class});
  run_directory_ = event.run_directory;
  gpus_ = event.gpus;
  cpus_ = event.cpus;
  ready_at_ = now;
  state_.become(AgentAttemptState::ready);
  state_fact(message::Ready{event.held_ports, run_directory_, gpus_, event.checkpoint_mark,
                            event.ends_with_login, event.networks});
  if (!prepare_.leases.wants.empty()) send_leases(event.blockers);
}

void AgentAttempt::send_leases(std::vector<LeaseHolder> blockers) {
  leases_ = message::Leases{std::move(blockers), of_};
  send(*leases_);
}

void AgentAttempt::on(const agent_event::LeasesTried& event) {
  if (state_ != AgentAttemptState::ready) return;
  if (!event.problems.empty()) return refuse({event.problems, ErrorClass::host});
  send_leases(event.blockers);
}

void AgentAttempt::on(const message::Probe& m) {
  if (state_ == AgentAttemptState::ready)
    act(agent_action::ProbeHosts{m.targets, m.is_thorough, of_});
}

void AgentAttempt::on(const agent_event::HostsProbed& event) {
  if (state_ == AgentAttemptState::ready) send(message::Probed{event.results});
}

void AgentAttempt::on(const message::TakeLeases&) {
  if (state_ != AgentAttemptState::ready) return;
  leases_.reset();
  act(agent_action::TakeLeases{of_});
}

void AgentAttempt::drop_leases() {
  if (state_ != AgentAttemptState::ready) return;
  leases_.reset();
  act(agent_action::DropLeases{of_});
}

void AgentAttempt::go(const message::Go& m) {
  if (state_ != AgentAttemptState::ready) return;
  state_.become(AgentAttemptState::running);
  has_started_ = true;
  go_ = m;
  bind_ranks();
  act(agent_action::ReleasePorts{of_});
  if (!prepare_.leases.wants.empty()) act(agent_action::ConfirmLeases{of_});
  for (const auto& command : prepare_.ranks) {
    ranks_[command.rank] = RankState::starting;
    act(agent_action::StartRank{command.rank, of_});
  }
  find_gpus_of_ranks();
  if (!gpus_of_ranks_.empty()) act(agent_action::WatchGpus{of_});
  after_rank_ended();  // without ranks, all have ended
}

void AgentAttempt::go_too_late(Instant now) {
  if (state_ != AgentAttemptState::ready) return;
  state_.become(AgentAttemptState::running);
  has_started_ = true;
  act(agent_action::ReleasePorts{of_});
  own_stop_ = message::OwnStop::silence;
  send(message::StopsRanks{own_stop_, now});
  for (const auto& command : prepare_.ranks) {
    ranks_[command.rank] = RankState::ended;
    state_fact(message::RankNotStarted{command.rank, "its host was told too late to start it",
                                       ErrorClass::host});
  }
  after_rank_ended();
}

std::size_t AgentAttempt::position_of(int rank) const {
  const auto found = std::find_if(prepare_.ranks.begin(), prepare_.ranks.end(),
                                  [&](const RankCommand& command) { return command.rank == rank; });
  assert(found != prepare_.ranks.end());
  return static_cast<std::size_t>(found - prepare_.ranks.begin());
}

RankCommand AgentAttempt::complete(const RankCommand& command, int threads) const {
  RankCommand complete = command;
  complete.environment = fill_in(std::move(complete.environment), go_, prepare_.task_id,
                                 run_directory_, command.rank, gpus_, threads);
  return complete;
}

// Runs at Go: the devices of the slots are not known earlier.
void AgentAttempt::bind_ranks() {
  if (prepare_.cpu_binding.mode == CpuBinding::none) return;
  std::vector<std::vector<EnvironmentEntry>> environments;
  for (const RankCommand& command : prepare_.ranks)
    environments.push_back(complete(command, 0).environment);
  const CpuBindingRule& rule = prepare_.cpu_binding;
  cpu_shares_ = share_cpus(cpus_, ranks_on_host(environments, cpus_, rule), rule);
}

void AgentAttempt::find_gpus_of_ranks() {
  for (const RankCommand& command : prepare_.ranks) {
    auto gpus = devices_in(complete(command, 0).environment, "CUDA_VISIBLE_DEVICES");
    if (!gpus.empty()) gpus_of_ranks_[command.rank] = std::move(gpus);
  }
}

RankCommand AgentAttempt::command_of(int rank) const {
  const std::size_t position = position_of(rank);
  const RankCommand& command = prepare_.ranks[position];
  if (cpu_shares_.ranks.empty()) return complete(command, 0);
  const CpuShare& share = cpu_shares_.ranks[position];
  RankCommand bound = complete(command, share.threads);
  bound.cpus = share.cpus;
  return bound;
}

void AgentAttempt::on(const agent_event::RankStarted& event) {
  ranks_[event.rank] = RankState::alive;
  message::RankStarted started{event.rank, event.pid};
  if (!cpu_shares_.ranks.empty()) started.cpus = cpu_shares_.ranks[position_of(event.rank)].cpus;
  started.shares_cores = cpu_shares_.has_too_few_cores;
  state_fact(std::move(started));
  // A stop may have come between the request and the start.
  if (is_running() && is_stopping() && !signal_at_)
    act(agent_action::TerminateRank{event.rank, of_, prepare_.stop_signal});
}

void AgentAttempt::on(const agent_event::RankNotStarted& event) {
  ranks_[event.rank] = RankState::ended;
  state_fact(message::RankNotStarted{event.rank, event.reason, event.error_class});
  after_rank_ended();
}

void AgentAttempt::on(const agent_event::Blocked& event) {
  if (state_ == AgentAttemptState::checking || has_processes())
    send(message::Blocked{event.what, event.so_far, event.is_gpu_memory});
}

void AgentAttempt::on(const agent_event::NoStopFile& event) {
  if (has_processes()) send(message::NoStopFile{event.reason});
}

void AgentAttempt::on(const agent_event::PortTaken& event) {
  if (has_processes() || is_flushing()) state_fact(message::PortTaken{event.port, event.uid});
}

void AgentAttempt::on(const agent_event::RankEnded& event) {
  RankState& rank = ranks_[event.rank];
  if (rank == RankState::ended) return;
  rank = RankState::ended;
  // The end may be told long after it happened, since the pipes are read first. A rank that ended
  // before the stop ended by itself.
  const bool after_stop = stopped_at_ && event.at >= *stopped_at_;
  state_fact(message::RankEnded{event.rank,
                                event.code,
                                event.signal,
                                event.dumped_core,
                                after_stop,
                                event.at,
                                event.error_file,
                                {},
                                event.memory_kill,
                                event.core,
                                event.usage,
                                event.parent_end,
                                event.has_new_checkpoint});
  usage_.erase(event.rank);
  unsent_usage_.erase(event.rank);
  after_rank_ended();
}

// Measurements are made outside of the loop, so they may arrive before the start of a rank or after
// its end.
void AgentAttempt::on(const agent_event::RanksMeasured& event) {
  for (UsageOfRank each : event.ranks) {
    const auto rank = ranks_.find(each.rank);
    if (rank == ranks_.end() || rank->second != RankState::alive) continue;
    add_gpu_use(each, gpus_of_ranks_, event.gpus);
    const auto [known, is_new] = usage_.try_emplace(each.rank, each.usage);
    if (!is_new && known->second == each.usage) continue;
    known->second = each.usage;
    unsent_usage_.insert(each.rank);
  }
}

void AgentAttempt::on(const message::LookAtRanks& m) {
  if (has_processes()) act(agent_action::LookAtRanks{m.wants_states, of_});
}

void AgentAttempt::on(const agent_event::RanksSeen& event) {
  if (has_processes()) send(message::RanksSeen{event.has_states, event.touched, event.states});
}

void AgentAttempt::send_usage() {
  message::Usage told;
  while (!unsent_usage_.empty() && told.ranks.size() < most_usages) {
    const int rank = unsent_usage_.extract(unsent_usage_.begin()).value();
    told.ranks.push_back({rank, usage_.at(rank)});
  }
  send(std::move(told));
}

void AgentAttempt::resend_usage() {
  for (const auto& [rank, usage] : usage_) unsent_usage_.insert(rank);
}

void AgentAttempt::after_rank_ended() {
  const bool all_ended = std::all_of(ranks_.begin(), ranks_.end(), [](const auto& entry) {
    return entry.second == RankState::ended;
  });
  // Even if every rank has ended by itself, their background processes must go.
  if (all_ended && is_running()) kill_tree();
}

bool AgentAttempt::on(const agent_event::TreeKilled& event) {
  if (state_ != AgentAttemptState::killing) return false;
  survivors_ = event.survivors;
  is_reading_paused_ = false;  // nothing is read any more
  state_.become(AgentAttemptState::flushing);
  return true;
}

void AgentAttempt::stop(const message::Stop& how, Instant now) {
  if (is_running()) return stop_ranks(how, now);
  // A running check still writes into the run directory, where it must not meet another attempt.
  if (state_ == AgentAttemptState::checking) return kill_tree();
  if (!has_processes() && !awaits_output()) finish();  // Go may have failed the attempt already
}

void AgentAttempt::finish() {
  state_.become(AgentAttemptState::finished);
  has_sent_end_ = true;
  state_fact(message::Finished{survivors_});
}

void AgentAttempt::stop_by_itself(message::OwnStop why, std::optional<milliseconds> left,
                                  Instant now) {
  if (!is_running()) return;
  if (own_stop_ == message::OwnStop::none) {
    own_stop_ = why;
    // An old connection may carry on, without a Hello that would tell this.
    send(message::StopsRanks{why, now});
  }
  message::Stop how = usual_stop();
  if (left) {
    how.grace = std::min(how.grace, *left);
    how.notice = std::min(how.notice, *left - how.grace);
  }
  stop_ranks(how, now);
}

void AgentAttempt::fail(Instant now) {
  own_stop_ = message::OwnStop::failure;
  if (is_running()) return stop_ranks(usual_stop(), now);
  if (has_processes()) return kill_tree();
  if (!is_flushing()) state_.become(AgentAttemptState::finished);
}

void AgentAttempt::abandon(Instant now) {
  if (is_running()) return stop_ranks(usual_stop(), now);
  if (!has_processes()) state_.become(AgentAttemptState::finished);
}

// A later request may shorten the time, never extend it.
void AgentAttempt::stop_ranks(const message::Stop& how, Instant now) {
  const bool first_time = !stopped_at_;
  if (first_time) stopped_at_ = now;
  if (how.notice + how.grace == milliseconds(0)) return kill_tree();
  const Instant deadline = now + how.notice + how.grace;
  kill_at_ = kill_at_ ? std::min(*kill_at_, deadline) : deadline;
  if (first_time) {
    signal_at_ = now + how.notice;
    act(agent_action::MakeStopFile{of_});
  } else if (signal_at_) {
    signal_at_ = std::min(*signal_at_, now + how.notice);
  }
  go_on_stopping(now);
}

void AgentAttempt::signal_ranks() {
  signal_at_.reset();
  for (const auto& [rank, state] : ranks_)
    if (state == RankState::alive)
      act(agent_action::TerminateRank{rank, of_, prepare_.stop_signal});
}

void AgentAttempt::go_on_stopping(Instant now) {
  if (!is_running()) return;
  if (signal_at_ && now >= *signal_at_) signal_ranks();
  if (kill_at_ && now >= *kill_at_) kill_tree();
}

void AgentAttempt::kill_tree() {
  signal_at_.reset();
  kill_at_.reset();
  state_.become(AgentAttemptState::killing);
  act(agent_action::KillTree{of_});
}

// Reading also pauses for ranks that are being killed: one that cannot be killed may print forever.
// What is in the pipes when the ranks end is read in any case.
void AgentAttempt::pause_reading() {
  if (has_processes() && !std::exchange(is_reading_paused_, true))
    act(agent_action::PauseReading{of_});
}

void AgentAttempt::resume_reading() {
  if (std::exchange(is_reading_paused_, false)) act(agent_action::ResumeReading{of_});
}

void AgentAttempt::output_is_written() {
  if (!awaits_output()) return;
  must_send_end_again_ = false;
  finish();
}

}  // namespace train
