// SPDX-License-Identifier: Apache-2.0
// The agent and its attempts: which attempts exist, and what they share.
#include "launcher/agent/agent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "launcher/wire/message_limits.hpp"

namespace train {

const StateTable<AgentState>& agent_states() {
  using enum AgentState;
  static const StateTable<AgentState> table(
      "an agent", {{waiting, "waiting", "no launcher has attached", {serving, gone}},
                   {serving,
                    "serving",
                    "it serves attempts, for a launcher that is there or may come back",
                    {abandoned, gone}},
                   {abandoned,
                    "abandoned",
                    "nothing is expected of the launcher any more; what runs is being stopped",
                    {gone}},
                   {gone, "gone", "the agent ends", {}}});
  return table;
}

Agent::Agent(AgentIdentity identity, std::size_t output_capacity)
    : identity_(std::move(identity)), output_(output_capacity) {}

std::vector<AgentAction> Agent::on(const AgentEvent& event, Instant now) {
  now_ = now;
  if (state_ != AgentState::gone) std::visit([this](const auto& e) { handle(e); }, event);
  send_fence();
  for (SpoolWork& work : output_.take_work()) act(agent_action::Spool{std::move(work)});
  return std::exchange(actions_, {});
}

AgentAttempt* Agent::find(AttemptId of) {
  const auto found = attempts_.find(of);
  return found == attempts_.end() ? nullptr : &found->second;
}

void Agent::take_actions(AgentAttempt& attempt) {
  for (AgentAction& action : attempt.take_actions()) {
    // Ranks that are being killed have no choice any more: their remaining output is kept, not
    // dropped.
    if (std::holds_alternative<agent_action::KillTree>(action)) {
      output_.keep_the_rest_of(attempt.id());
      killed_at_ = now_;
    }
    if (link_ || !std::holds_alternative<agent_action::SendMessage>(action))
      actions_.push_back(std::move(action));
  }
}

bool Agent::is_any_running() const {
  return std::any_of(attempts_.begin(), attempts_.end(),
                     [](const auto& entry) { return entry.second.is_running(); });
}

bool Agent::has_processes() const {
  return std::any_of(attempts_.begin(), attempts_.end(),
                     [](const auto& entry) { return entry.second.has_processes(); });
}

// A running attempt or a surviving process of this trial, in words.
std::optional<std::string> Agent::leftovers_of(int trial) const {
  for (const auto& [id, attempt] : attempts_) {
    if (id.trial != trial) continue;
    if (!attempt.is_finished())
      return fmt::format("attempt {} of this trial has not ended there", id.attempt);
    if (const auto survivor = attempt.survivor())
      return fmt::format("process {} ({}) of attempt {} of this trial could not be ended there",
                         survivor->pid, survivor->command, id.attempt);
  }
  return std::nullopt;
}

// There must never be two live processes of one rank and trial.
std::optional<std::string> Agent::reason_against(AttemptId of) const {
  if (auto left = leftovers_of(of.trial)) return left;
  if (failure_) return "its agent has failed: " + failure_->reason;
  return std::nullopt;
}

void Agent::receive(const message::Prepare& m) {
  const auto newest = newest_.find(m.of.trial);
  if (newest != newest_.end() && m.of.attempt <= newest->second) return;
  if (attempts_.size() >= most_attempts) {
    const Diagnostic problem{{}, {}, fmt::format("it has {} attempts already", most_attempts), {}};
    return send(about(message::Refused{{problem}, ErrorClass::host}, m.of));
  }
  const auto reason = reason_against(m.of);
  newest_[m.of.trial] = m.of.attempt;
  AgentAttempt& attempt = attempts_.emplace(m.of, AgentAttempt(m.of, m)).first->second;
  window_ = fence_window(m.reconnect_window, m.launcher_wait);
  launcher_wait_ = m.launcher_wait;
  output_packing_ = m.output_packing;
  if (!reason && !m.leases.wants.empty()) holding_.insert(m.of.trial);
  if (reason)
    attempt.refuse({{{{}, {}, *reason, {}}}, ErrorClass::host});
  else
    provide_context(attempt);
  take_actions(attempt);
  output_.set_rule(m.spool);
}

// The first attempt that wants the context starts the search for it; others that come meanwhile
// wait for the same result. If no attempt waits any more, or the search has failed, the next
// attempt starts it anew, since its supervisor does not know how much has been taken.
void Agent::provide_context(AgentAttempt& attempt) {
  if (!attempt.prepared().context || context_ == ContextState::there)
    return attempt.begin_check(context_directory_);
  const bool is_shared = context_ == ContextState::fetching && is_context_awaited_beside(attempt);
  context_ = ContextState::fetching;
  if (!is_shared) act(agent_action::FindContext{*attempt.prepared().context});
}

bool Agent::is_context_awaited_beside(const AgentAttempt& attempt) const {
  return std::any_of(attempts_.begin(), attempts_.end(), [&](const auto& entry) {
    return &entry.second != &attempt && entry.second.is_waiting_for_context();
  });
}

bool Agent::is_context_awaited() const {
  return std::any_of(attempts_.begin(), attempts_.end(),
                     [](const auto& entry) { return entry.second.is_waiting_for_context(); });
}

void Agent::handle(const agent_event::ContextTaken& event) {
  if (context_ == ContextState::fetching && is_context_awaited())
    send(message::WantContext{event.bytes});
}

void Agent::handle(const agent_event::ContextReceived& event) {
  if (!is_heard(event.link)) return;
  // Once the context has failed, pieces still on their way are useless.
  if (context_ == ContextState::fetching) act(agent_action::TakeContext{event.bytes});
}

void Agent::handle(const agent_event::ContextReady& event) {
  if (context_ != ContextState::fetching) return;
  context_ = ContextState::there;
  context_directory_ = event.directory;
  for (auto& [of, attempt] : attempts_) {
    attempt.begin_check(context_directory_);
    take_actions(attempt);
  }
}

void Agent::handle(const agent_event::ContextFailed& event) {
  if (context_ != ContextState::fetching) return;
  context_ = ContextState::failed;
  for (auto& [of, attempt] : attempts_) {
    if (attempt.is_waiting_for_context()) attempt.refuse({event.why.diagnostics, ErrorClass::host});
    take_actions(attempt);
  }
}

void Agent::handle(const agent_event::HostChecked& event) {
  AgentAttempt* attempt = find(event.of);
  if (attempt == nullptr) return;
  attempt->on(event, now_);
  take_actions(*attempt);
}

// Leases belong to the trial: an earlier attempt must not release what a later one holds, nor what
// processes of another attempt may still use.
void Agent::receive(const message::DropLeases& m) {
  const auto newest = newest_.find(m.of.trial);
  if (newest == newest_.end() || m.of.attempt < newest->second) return;
  AgentAttempt* attempt = find(m.of);
  if (attempt != nullptr && !attempt->is_finished()) {
    attempt->drop_leases();
    return take_actions(*attempt);
  }
  if (!leftovers_of(m.of.trial) && holding_.erase(m.of.trial) > 0)
    act(agent_action::EndLeases{m.of.trial});
}

void Agent::receive(const message::Go& m) {
  AgentAttempt* attempt = find(m.of);
  if (attempt == nullptr) return;
  // A supervisor that says Go has heard that this host is ready.
  trusted_at_ = std::max(trusted_at_, attempt->ready_at());
  // The message may have travelled so long that the supervisor has given this host up.
  const bool is_late = window_.count() > 0 && window_ < for_ever && now_ >= fence_at();
  if (is_late)
    attempt->go_too_late(now_);
  else
    attempt->go(m);
  has_started_ = has_started_ || attempt->status().has_started;
  take_actions(*attempt);
}

RankCommand Agent::command_of(AttemptId of, int rank) const {
  const auto found = attempts_.find(of);
  assert(found != attempts_.end());
  return found->second.command_of(rank);
}

// A Stop may overtake the Prepare on another connection: then the attempt ends before it begins.
void Agent::receive(const message::Stop& m) {
  AgentAttempt* attempt = find(m.of);
  if (attempt == nullptr) {
    const auto newest = newest_.find(m.of.trial);
    const bool is_forgotten = newest != newest_.end() && m.of.attempt <= newest->second;
    if (is_forgotten || attempts_.size() >= most_attempts)
      return send(about(message::Finished{}, m.of));
    newest_[m.of.trial] = m.of.attempt;
    attempt = &attempts_.emplace(m.of, AgentAttempt(m.of, {})).first->second;
  }
  attempt->stop(m, now_);
  take_actions(*attempt);
}

void Agent::receive(const message::Forget& m) {
  const AgentAttempt* attempt = find(m.of);
  if (attempt == nullptr || !attempt->is_finished()) return;
  // The supervisor may not have heard of the survivor yet.
  if (attempt->survivor()) return;
  attempts_.erase(m.of);
  output_.forget(m.of);
  act(agent_action::ForgetAttempt{m.of});
  send_output();
}

// The last actions may not have been carried out, so those that end attempts are repeated.
void Agent::handle(const agent_event::Failed& event) { fail_attempts(event.reason); }

void Agent::fail_attempts(const std::string& reason) {
  if (!failure_) failure_ = message::AgentFailed{reason};
  send(message::AgentFailed{reason});
  for (auto& [of, attempt] : attempts_) {
    attempt.fail(now_);
    take_actions(attempt);
  }
  send_output();
}

void Agent::handle(const agent_event::RankPrinted& event) {
  const AgentAttempt* attempt = find(event.of);
  const bool is_expected = attempt != nullptr && attempt->has_processes();
  if (state_ == AgentState::abandoned || !is_expected) return;  // there is no reader
  output_.push({event.of, event.rank}, event.stream, event.bytes, now_);
  send_output();
}

// All output of the rank has been pushed by now.
void Agent::handle(const agent_event::RankEnded& event) {
  output_.keep_last_words_of(event.of, event.rank);
  pass_to_attempt(event);
  send_output();
}

void Agent::handle(const agent_event::TreeKilled& event) {
  AgentAttempt* attempt = find(event.of);
  if (attempt == nullptr || !attempt->on(event)) return;
  if (!has_processes()) idle_since_ = now_;
  if (!link_ && !is_awaited() && !has_processes()) return leave();
  send_output();
}

void Agent::receive(const message::Acknowledge& m) {
  const bool was_empty = output_.empty();
  if (!output_.acknowledge(m.chunk, m.credit, m.synced)) return give_up_supervisor();
  if (!was_empty && output_.empty()) all_taken_at_ = now_;
  send_output();
}

void Agent::handle(const agent_event::Spooled& event) {
  output_.answered(event.answer, now_);
  send_output();
}

void Agent::send_output() {
  while (auto chunk = may_send_output() ? output_.take() : nullptr)
    act(agent_action::SendOutput{std::move(chunk), output_packing_});
  for (auto& [of, attempt] : attempts_) {
    // The remaining output of ranks being killed is not dropped, so it waits even if others' output
    // is dropped.
    const bool has_room = attempt.is_running() ? !output_.full() : output_.has_room();
    if (!has_room)
      attempt.pause_reading();
    else
      attempt.resume_reading();
    take_actions(attempt);
  }
  send_blocked();
  for (auto& [of, attempt] : attempts_) {
    if (attempt.awaits_output() && output_.empty(of)) attempt.output_is_written();
    take_actions(attempt);
  }
}

// Only reported when there is no room on the disk either: any other pause is over in a moment.
void Agent::send_blocked() {
  const bool is_any_paused = std::any_of(attempts_.begin(), attempts_.end(), [](const auto& entry) {
    return entry.second.is_reading_paused();
  });
  const bool is_blocked = is_any_paused && output_.out_of_room();
  if (!link_ || is_blocked == has_reported_blocked_) return;
  has_reported_blocked_ = is_blocked;
  send(message::OutputBlocked{is_blocked, output_.kept()});
}

void Agent::receive(const message::Bye&) {
  if (has_processes()) return give_up_supervisor();
  leave();
}

void Agent::handle(const agent_event::Tick&) {
  for (auto& [of, attempt] : attempts_) {
    attempt.go_on_stopping(now_);
    take_actions(attempt);
  }
  watch_supervisor();
}

void Agent::leave() {
  state_.become(AgentState::gone);
  act(agent_action::Leave{});
}

}  // namespace train
