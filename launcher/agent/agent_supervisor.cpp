// SPDX-License-Identifier: Apache-2.0
// The agent and its supervisor: which connection counts, what a new one is told, and what happens
// to the ranks without a supervisor.
#include <algorithm>

#include "launcher/agent/agent.hpp"
#include "launcher/wire/message_limits.hpp"

namespace train {

namespace {

// The guard is told of a fence that has moved by at least this fraction (1/20) of the window.
constexpr int fence_step = 20;

}  // namespace

void Agent::send(Message message) {
  if (link_) act(agent_action::SendMessage{within_limits(std::move(message))});
}

void Agent::handle(const agent_event::Received& event) {
  if (const auto* attach_message = std::get_if<message::Attach>(&event.message))
    return attach(event.link, *attach_message);
  if (!is_heard(event.link)) return;
  std::visit([this](const auto& m) { receive(m); }, event.message);
}

// A client that sends anything before Attach is not a supervisor. A supervisor that was given up is
// ignored; its connection ends with this process.
bool Agent::is_heard(LinkId link) {
  if (link_ == link) {
    last_heard_ = now_;
    return true;
  }
  if (state_ != AgentState::abandoned) act(agent_action::CloseLink{link});
  return false;
}

// One side may find a connection dead long before the other: the newer connection counts.
void Agent::attach(LinkId link, const message::Attach& m) {
  const bool is_same_epoch = epoch_ > 0 && m.epoch == epoch_;
  const bool is_newer = m.epoch > epoch_ || (is_same_epoch && m.connection > connection_);
  const bool is_foreign = epoch_ > 0 && m.version != wire_version;
  if (link_ == link) return give_up_supervisor();
  if (state_ == AgentState::abandoned || !is_newer || is_foreign) return refuse(link, m);
  if (link_) {
    agent_action::CloseLink close{*link_};
    if (m.epoch > epoch_) close.last_word = message::Displaced{m.epoch, m.launcher};
    act(std::move(close));
  }
  link_ = link;
  epoch_ = m.epoch;
  connection_ = m.connection;
  supervisor_ = m.launcher;
  last_heard_ = attached_at_ = now_;
  death_at_.reset();
  state_.become(AgentState::serving);
  act(agent_action::UseLink{link});
  message::Hello hello{wire_version, identity_.host_name, identity_.boot_id, identity_.pid};
  for (const auto& [of, attempt] : attempts_) hello.attempts.push_back(attempt.status());
  hello.holding.assign(holding_.begin(), holding_.end());
  send(std::move(hello));
  if (failure_) send(*failure_);
  has_reported_blocked_ = false;
  usage_sent_at_.reset();
  // Output of forgotten attempts is not sent.
  auto positions = m.positions;
  std::erase_if(positions, [this](const auto& at) { return !attempts_.contains(at.of); });
  if (!output_.resume(positions, m.credit)) return give_up_supervisor();
  send_facts();
  send_output();
}

// The epoch of a supervisor with another protocol version is not known: it gets only a Hello with
// this version. A supervisor that was given up, or its successor, may wait here for the end of the
// ranks: it gets no answer while that end may come soon, and has to try again.
void Agent::refuse(LinkId link, const message::Attach& m) {
  agent_action::CloseLink close{link};
  if (m.version != wire_version)
    close.last_word = message::Hello{wire_version, {}, {}, 0};
  else if (m.epoch < epoch_)
    close.last_word = message::Displaced{epoch_, supervisor_};
  else if (state_ == AgentState::abandoned && is_stuck())
    close.last_word = within_limits(left_behind());
  act(std::move(close));
}

bool Agent::is_stuck() const {
  return has_processes() && !is_any_running() && now_ >= killed_at_ + kill_patience;
}

message::LeftBehind Agent::left_behind() const {
  message::LeftBehind left;
  for (const auto& [of, attempt] : attempts_)
    for (message::Survivor& each : attempt.processes_left()) {
      each.uid = identity_.uid;
      left.survivors.push_back(std::move(each));
    }
  return left;
}

// A supervisor whose machine lost power may lack output that was acknowledged before: the end of an
// attempt is then told after that output.
void Agent::send_facts() {
  for (auto& [of, attempt] : attempts_) {
    attempt.require_end_again(!output_.empty(of));
    attempt.resend_usage();
    for (const Message& fact : attempt.facts()) act(agent_action::SendMessage{fact});
  }
}

bool Agent::has_window() const { return has_started_ && window_.count() > 0; }

bool Agent::is_window_open() const { return has_window() && state_ != AgentState::abandoned; }

Instant Agent::fence_at() const { return trusted_at_ + window_; }

// The ranks are told to end some time before they must be dead.
Instant Agent::last_call_of(const AgentAttempt& attempt) const {
  const message::Prepare& prepared = attempt.prepared();
  return fence_at() - std::min(prepared.stop_notice + prepared.stop_grace, window_ / 4);
}

bool Agent::is_awaited() const {
  return is_window_open() && now_ < fence_at() && (!death_at_ || now_ < *death_at_);
}

void Agent::receive(const message::Ping& m) {
  // A value from the future is not trusted: this agent cannot have sent that pong.
  trusted_at_ = std::max(trusted_at_, std::min(m.newest_pong, now_));
  send(message::Pong{m.sent, now_});
  send_usage(m);
  send_output();
}

// Sent after the pong, which serves to compare the clocks. Once a later pong has arrived at the
// supervisor, the usage sent before it has arrived too.
void Agent::send_usage(const message::Ping& m) {
  if (usage_sent_at_ && m.newest_pong <= *usage_sent_at_) return;
  for (auto& [of, attempt] : attempts_) {
    if (!attempt.has_unsent_usage()) continue;
    usage_sent_at_ = now_;
    attempt.send_usage();
    take_actions(attempt);
  }
}

// Pongs travel behind the output. While no pong has got through for long, as on a slow line, the
// amount of queued output must not grow: otherwise the fence would end ranks for printing too much.
bool Agent::may_send_output() const {
  constexpr milliseconds least_lag{6'000};  // a ping and its pong are up to 4 s old anyway
  if (!link_) return false;
  const nanoseconds lag = now_ - std::max(trusted_at_, attached_at_);
  return !is_window_open() || lag < std::max(nanoseconds(window_) / 4, nanoseconds(least_lag));
}

void Agent::handle(const agent_event::LinkDown& event) {
  if (state_ == AgentState::waiting) return leave();  // its starter has gone
  if (link_ != event.link) return;
  if (!is_window_open()) return give_up_supervisor();
  link_.reset();
  const bool has_died = now_ - last_heard_ <= sign_of_life;
  if (has_died && launcher_wait_ < for_ever) death_at_ = now_ + launcher_wait_;
}

// The output of the ranks reaches the supervisor until they have ended, however long that takes. A
// second dismissal ends all waiting.
void Agent::handle(const agent_event::Dismissed&) {
  const bool has_news =
      state_ == AgentState::serving && (has_processes() || !output_.empty() || has_unsent_news());
  if (dismissed_at_ || !has_news) return give_up_supervisor();
  dismissed_at_ = now_;
  fail_attempts("a signal has told it to end");
}

// Of a supervisor that is away it is not known whether it has heard of the ends.
bool Agent::has_unsent_news() const {
  const bool is_away = !link_ || now_ - last_heard_ > sign_of_life;
  return is_away ? is_awaited() && !attempts_.empty() : !output_.empty();
}

Instant Agent::dismissal_end() const {
  const Instant soonest = std::max(idle_since_, *dismissed_at_) + dismissal_limit;
  const Instant latest = std::max(soonest, *dismissed_at_ + longest_dismissal);
  if (has_unsent_news()) return latest;
  return std::clamp(std::max(attached_at_, all_taken_at_) + dismissal_limit, soonest, latest);
}

void Agent::give_up_supervisor() {
  link_.reset();
  // The output of the ranks is discarded from here on; the pipes are still drained, so that a full
  // pipe does not keep a rank from ending.
  output_.clear();
  if (!has_processes()) return leave();
  state_.become(AgentState::abandoned);
  for (auto& [of, attempt] : attempts_) {
    attempt.resume_reading();
    attempt.abandon(now_);
    take_actions(attempt);
  }
}

// Time has passed: checks the deadlines of the supervisor and of the attempts.
void Agent::watch_supervisor() {
  for (auto& [of, attempt] : attempts_) {
    watch_attempt(attempt);
    take_actions(attempt);
  }
  if (dismissed_at_ && !has_processes() && now_ >= dismissal_end()) return leave();
  if (!is_window_open()) {
    if (link_ && now_ >= last_heard_ + silence_limit) give_up_supervisor();
    return;
  }
  const bool is_dead = death_at_ && now_ >= *death_at_;
  const bool is_forgotten = !has_fence() && now_ >= idle_end();
  if (!has_processes() && (now_ >= fence_at() || (!link_ && is_dead) || is_forgotten)) leave();
}

void Agent::watch_attempt(AgentAttempt& attempt) {
  if (!has_window() || !attempt.is_running()) return;
  // Even after the supervisor was given up: from now on it may declare the ranks dead.
  if (now_ >= fence_at())
    return attempt.stop_by_itself(message::OwnStop::silence, milliseconds(0), now_);
  if (!is_window_open() || attempt.is_stopping()) return;
  if (death_at_ && now_ >= *death_at_)
    attempt.stop_by_itself(message::OwnStop::launcher, std::nullopt, now_);
  else if (now_ >= last_call_of(attempt))
    attempt.stop_by_itself(message::OwnStop::silence,
                           std::chrono::ceil<milliseconds>(fence_at() - now_), now_);
}

std::optional<Instant> Agent::next_deadline() const {
  if (state_ == AgentState::gone) return std::nullopt;
  std::optional<Instant> deadline;
  const auto consider = [&](Instant instant) {
    if (!deadline || instant < *deadline) deadline = instant;
  };
  for (const auto& [of, attempt] : attempts_) {
    if (const auto next = attempt.next_deadline()) consider(*next);
    if (!has_window() || !attempt.is_running()) continue;
    if (has_fence()) consider(fence_at());
    // Ranks that are already being stopped need no further deadline.
    if (!is_window_open() || attempt.is_stopping()) continue;
    if (has_fence()) consider(last_call_of(attempt));
    if (death_at_) consider(*death_at_);
  }
  if (dismissed_at_ && !has_processes()) consider(dismissal_end());
  if (!is_window_open()) {
    if (link_) consider(last_heard_ + silence_limit);
  } else if (!has_processes()) {  // a kill has no deadline of its own
    if (has_fence()) consider(fence_at());
    if (death_at_) consider(*death_at_);
    if (!has_fence()) consider(idle_end());
  }
  return deadline;
}

void Agent::send_fence() {
  std::optional<Instant> fence;
  if (has_fence() && is_any_running()) fence = fence_at();
  const bool is_close = fence && sent_fence_ && *fence - *sent_fence_ < window_ / fence_step;
  if (fence == sent_fence_ || is_close) return;
  sent_fence_ = fence;
  act(agent_action::SetFence{fence});
}

}  // namespace train
