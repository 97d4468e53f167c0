// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/agent.hpp"

#include <algorithm>
#include <cassert>

#include "launcher/wire/message_limits.hpp"

namespace train {

const StateTable<AgentState>& agent_states() {
  using enum AgentState;
  static const StateTable<AgentState> table(
      "an agent",
      {{waiting,
        "waiting",
        "no launcher has said what to prepare",
        {fetching, checking, finished, gone}},
       {fetching, "fetching", "the context is looked for, or taken", {checking, finished, gone}},
       {checking,
        "checking",
        "it is seen whether the ranks can be started",
        {ready, finished, gone}},
       {ready,
        "ready",
        "ports are held; the other hosts are waited for",
        {running, finished, gone}},
       {running, "running", "ranks are started, run, or have their grace to end", {killing}},
       {killing,
        "killing",
        "everything that the ranks started is killed and collected",
        {flushing, gone}},
       {flushing, "flushing", "nothing runs; output waits to be acknowledged", {finished, gone}},
       {finished,
        "finished",
        "the launcher was told the end, or what keeps ranks from being started",
        {gone}},
       {gone, "gone", "the agent ends", {}}});
  return table;
}

Agent::Agent(AgentIdentity identity, std::size_t output_capacity)
    : identity_(std::move(identity)), output_(output_capacity) {}

std::vector<AgentAction> Agent::on(const AgentEvent& event, Instant now) {
  now_ = now;
  if (state_ != AgentState::gone) std::visit([this](const auto& e) { handle(e); }, event);
  tell_fence();
  return std::exchange(actions_, {});
}

void Agent::receive(const message::Prepare& m) {
  if (state_ != AgentState::waiting) return;
  prepare_ = m;
  for (const auto& command : m.ranks) ranks_[command.rank] = RankState::planned;
  if (!m.context) return check_host();
  state_.become(AgentState::fetching);
  act(agent_action::FindContext{*m.context});
}

void Agent::check_host() {
  state_.become(AgentState::checking);
  act(agent_action::CheckHost{prepare_});
}

void Agent::refuse(message::Refused refusal) {
  state_.become(AgentState::finished);
  say(std::move(refusal));
}

void Agent::handle(const agent_event::ContextTaken& event) {
  if (state_ == AgentState::fetching) say(message::WantContext{event.bytes});
}

void Agent::handle(const agent_event::ContextReceived& event) {
  if (!is_heard(event.link)) return;
  // Once the context has failed, pieces that were on their way are of no use.
  if (state_ == AgentState::fetching) act(agent_action::TakeContext{event.bytes});
}

void Agent::handle(const agent_event::ContextReady& event) {
  if (state_ != AgentState::fetching) return;
  for (RankCommand& command : prepare_.ranks) {
    std::string& directory = command.working_directory;
    if (directory.starts_with('/')) continue;
    if (!directory.empty()) directory.insert(0, "/");
    directory.insert(0, event.directory);
  }
  check_host();
}

void Agent::handle(const agent_event::ContextFailed& event) {
  if (state_ == AgentState::fetching) refuse({event.why.diagnostics, ErrorClass::host});
}

void Agent::handle(const agent_event::HostChecked& event) {
  if (state_ != AgentState::checking) return;
  if (!event.problems.empty()) return refuse({event.problems, event.error_class});
  run_directory_ = event.run_directory;
  gpus_ = event.gpus;
  state_.become(AgentState::ready);
  // A launcher that says Go has heard this.
  trusted_at_ = now_;
  state_fact(message::Ready{event.held_ports, run_directory_, gpus_});
}

void Agent::receive(const message::Go& m) {
  if (state_ != AgentState::ready) return;
  state_.become(AgentState::running);
  has_started_ = true;
  go_ = m;
  act(agent_action::ReleasePorts{});
  for (const auto& command : prepare_.ranks) {
    ranks_[command.rank] = RankState::starting;
    act(agent_action::StartRank{command.rank});
  }
  after_rank_ended();  // without ranks, all have ended
}

RankCommand Agent::command_of(int rank) const {
  const auto found = std::find_if(prepare_.ranks.begin(), prepare_.ranks.end(),
                                  [&](const RankCommand& command) { return command.rank == rank; });
  assert(found != prepare_.ranks.end());
  RankCommand complete = *found;
  complete.environment =
      fill_in(std::move(complete.environment), go_, prepare_.task_id, run_directory_, rank, gpus_);
  return complete;
}

void Agent::handle(const agent_event::RankStarted& event) {
  ranks_[event.rank] = RankState::alive;
  state_fact(message::RankStarted{event.rank, event.pid});
  // A stop may have come between the request and the start.
  if (state_ == AgentState::running && stopped_at_) act(agent_action::TerminateRank{event.rank});
}

void Agent::handle(const agent_event::RankNotStarted& event) {
  ranks_[event.rank] = RankState::ended;
  state_fact(message::RankNotStarted{event.rank, event.reason, event.error_class});
  after_rank_ended();
}

void Agent::handle(const agent_event::Blocked& event) {
  const bool is_asking = state_ == AgentState::checking || state_ == AgentState::running ||
                         state_ == AgentState::killing;
  if (is_asking) say(message::Blocked{event.call, event.so_far});
}

void Agent::handle(const agent_event::PortTaken& event) {
  const bool has_started = state_ == AgentState::running || state_ == AgentState::killing ||
                           state_ == AgentState::flushing;
  if (has_started) state_fact(message::PortTaken{event.port, event.uid});
}

// Any of the last actions may not have been carried out, so those that end the task are repeated.
void Agent::handle(const agent_event::Failed& event) {
  own_stop_ = message::OwnStop::failure;
  state_fact(message::AgentFailed{event.reason});
  switch (state_) {
    case AgentState::waiting:
    case AgentState::fetching:
    case AgentState::checking:
    case AgentState::ready:
      state_.become(AgentState::finished);
      break;
    case AgentState::running:
      stop_ranks(prepare_.stop_grace);
      break;
    case AgentState::killing:
      kill_tree();
      break;
    case AgentState::flushing:
      send_output();
      break;
    case AgentState::finished:
    case AgentState::gone:
      break;
  }
}

void Agent::handle(const agent_event::RankPrinted& event) {
  const bool is_expected = state_ == AgentState::running || state_ == AgentState::killing;
  if (has_given_up_ || !is_expected) return;  // nobody will ever read it
  output_.push(event.rank, event.stream, event.bytes, now_);
  send_output();
}

void Agent::handle(const agent_event::RankEnded& event) {
  RankState& rank = ranks_[event.rank];
  if (rank == RankState::ended) return;
  rank = RankState::ended;
  // Its end may be told long after it happened, since its pipes are read first. A rank that ended
  // before the stop ended by itself.
  const bool after_stop = stopped_at_ && event.at >= *stopped_at_;
  state_fact(message::RankEnded{event.rank, event.code, event.signal, event.dumped_core, after_stop,
                                event.at, event.error_file});
  after_rank_ended();
}

void Agent::after_rank_ended() {
  const bool all_ended = std::all_of(ranks_.begin(), ranks_.end(), [](const auto& entry) {
    return entry.second == RankState::ended;
  });
  // Even when every rank has ended by itself, what they left in the background must go.
  if (all_ended && state_ == AgentState::running) kill_tree();
}

void Agent::receive(const message::Stop& m) {
  switch (state_) {
    case AgentState::running:
      stop_ranks(m.grace);
      break;
    case AgentState::waiting:
    case AgentState::fetching:
    case AgentState::checking:
    case AgentState::ready:
    case AgentState::finished:  // it may have failed when it was told to start
      state_.become(AgentState::finished);
      state_fact(message::Finished{survivors_});
      break;
    default:
      break;
  }
}

void Agent::stop_ranks(milliseconds grace) {
  const bool first_time = !stopped_at_;
  if (first_time) stopped_at_ = now_;
  if (grace.count() == 0) return kill_tree();
  const Instant deadline = now_ + grace;
  kill_at_ = kill_at_ ? std::min(*kill_at_, deadline) : deadline;
  if (!first_time) return;
  for (const auto& [rank, state] : ranks_)
    if (state == RankState::alive) act(agent_action::TerminateRank{rank});
}

void Agent::kill_tree() {
  kill_at_.reset();
  state_.become(AgentState::killing);
  // Nobody counts as ended while there is something in the pipes: they must be read.
  resume_reading();
  act(agent_action::KillTree{});
}

void Agent::resume_reading() {
  if (std::exchange(reading_paused_, false)) act(agent_action::ResumeReading{});
}

void Agent::handle(const agent_event::TreeKilled& event) {
  if (state_ != AgentState::killing) return;
  survivors_ = event.survivors;
  if (!link_ && !is_awaited()) return leave();
  state_.become(AgentState::flushing);
  send_output();
}

void Agent::receive(const message::Acknowledge& m) {
  if (!output_.acknowledge(m.chunk, m.credit)) return give_up_launcher();
  send_output();
}

void Agent::send_output() {
  while (auto chunk = may_send_output() ? output_.take() : nullptr)
    act(agent_action::SendOutput{std::move(chunk), prepare_.output_packing});
  if (!output_.full()) resume_reading();
  // Only ranks that run can be made to wait; those that have ended leave no more than their pipes
  // hold.
  if (output_.full() && state_ == AgentState::running && !std::exchange(reading_paused_, true))
    act(agent_action::PauseReading{});
  if (state_ == AgentState::flushing && output_.empty()) {
    state_.become(AgentState::finished);
    state_fact(message::Finished{survivors_});
  }
}

void Agent::receive(const message::Bye&) {
  if (state_ == AgentState::running || state_ == AgentState::killing) return give_up_launcher();
  leave();
}

void Agent::handle(const agent_event::Tick&) {
  if (kill_at_ && now_ >= *kill_at_ && state_ == AgentState::running) kill_tree();
  watch_launcher();
}

void Agent::leave() {
  state_.become(AgentState::gone);
  act(agent_action::Leave{});
}

}  // namespace train
