// SPDX-License-Identifier: Apache-2.0
// The agent and its launcher: which connection counts, what a new one is told, and what becomes of
// the ranks when there is none.
#include <algorithm>

#include "launcher/agent/agent.hpp"
#include "launcher/wire/message_limits.hpp"

namespace train {

namespace {

// The guard hears of a fence that has moved by so much of the window.
constexpr int fence_step = 20;
// Of all error files that are kept in case they have to be told again. Further ones are told once.
constexpr std::size_t most_kept_error_files = 4u << 20;

// Where a message takes the place of an earlier one rather than being a further fact.
bool is_same_fact(const Message& one, const Message& other) {
  if (const auto* port = std::get_if<message::PortTaken>(&one)) {
    const auto* also = std::get_if<message::PortTaken>(&other);
    return also != nullptr && also->port == port->port;
  }
  const bool comes_once = std::holds_alternative<message::Finished>(one) ||
                          std::holds_alternative<message::AgentFailed>(one);
  return comes_once && one.index() == other.index();
}

}  // namespace

void Agent::say(Message message) {
  if (link_) act(agent_action::SendMessage{within_limits(std::move(message))});
}

void Agent::state_fact(Message message) {
  say(message);
  const bool is_known = std::any_of(facts_.begin(), facts_.end(), [&](const Message& known) {
    return is_same_fact(known, message);
  });
  if (is_known) return;
  message = within_limits(std::move(message));
  if (auto* ended = std::get_if<message::RankEnded>(&message)) {
    const std::size_t size = ended->error_file.size();
    if (kept_error_files_ + size > most_kept_error_files) ended->error_file.clear();
    kept_error_files_ += ended->error_file.size();
  }
  facts_.push_back(std::move(message));
}

void Agent::handle(const agent_event::Received& event) {
  if (const auto* attach_message = std::get_if<message::Attach>(&event.message))
    return attach(event.link, *attach_message);
  if (!is_heard(event.link)) return;
  std::visit([this](const auto& m) { receive(m); }, event.message);
}

// Whoever says something else before Attach is no launcher. One that was given up is not listened
// to any more, but need not be told: its connection ends with this process.
bool Agent::is_heard(LinkId link) {
  if (link_ == link) {
    last_heard_ = now_;
    return true;
  }
  if (!has_given_up_) act(agent_action::CloseLink{link});
  return false;
}

// A connection may be found dead by one side long before the other: the newer one counts.
void Agent::attach(LinkId link, const message::Attach& m) {
  const bool is_same_epoch = epoch_ > 0 && m.epoch == epoch_;
  const bool is_newer = m.epoch > epoch_ || (is_same_epoch && m.connection > connection_);
  if (has_given_up_ || link_ == link || !is_newer) {
    if (link_ == link) return give_up_launcher();
    return act(agent_action::CloseLink{link});
  }
  if (link_) act(agent_action::CloseLink{*link_});
  link_ = link;
  epoch_ = m.epoch;
  connection_ = m.connection;
  last_heard_ = attached_at_ = now_;
  launcher_died_at_.reset();
  act(agent_action::UseLink{link});
  say(message::Hello{wire_version, identity_.host_name, identity_.boot_id, identity_.pid,
                     has_started_, own_stop_});
  for (const Message& fact : facts_) say(fact);
  if (!output_.resume(m.positions, m.credit)) return give_up_launcher();
  send_output();
}

bool Agent::has_window() const { return has_started_ && prepare_.reconnect_window.count() > 0; }

bool Agent::is_window_open() const { return has_window() && !has_given_up_; }

Instant Agent::fence_at() const { return trusted_at_ + prepare_.reconnect_window; }

// The ranks are told to end before they have to be dead.
Instant Agent::last_call_at() const {
  return fence_at() - std::min(prepare_.stop_grace, prepare_.reconnect_window / 4);
}

bool Agent::is_awaited() const {
  if (!is_window_open() || now_ >= fence_at()) return false;
  return !launcher_died_at_ || now_ < *launcher_died_at_ + death_wait;
}

void Agent::receive(const message::Ping& m) {
  // Only what we have said ourselves is believed.
  trusted_at_ = std::max(trusted_at_, std::min(m.newest_pong, now_));
  say(message::Pong{m.sent, now_});
  send_output();
}

// Answers to pings travel behind the output. While none has got through for long, as on a slow
// line, what they wait behind does not grow, or the fence would end ranks for printing too much.
bool Agent::may_send_output() const {
  constexpr milliseconds least_lag{6'000};  // a ping and its answer are up to 4 s old as they are
  if (!link_) return false;
  const nanoseconds lag = now_ - std::max(trusted_at_, attached_at_);
  return !is_window_open() ||
         lag < std::max(nanoseconds(prepare_.reconnect_window) / 4, nanoseconds(least_lag));
}

void Agent::handle(const agent_event::LinkDown& event) {
  if (epoch_ == 0) return leave();  // whoever started this agent has gone without a word
  if (link_ != event.link) return;
  if (!is_window_open()) return give_up_launcher();
  link_.reset();
  if (now_ - last_heard_ <= sign_of_life) launcher_died_at_ = now_;
}

void Agent::handle(const agent_event::Dismissed&) { give_up_launcher(); }

void Agent::give_up_launcher() {
  link_.reset();
  has_given_up_ = true;
  // Nobody will read what the ranks print; a full pipe must not keep them from ending.
  output_.clear();
  resume_reading();
  switch (state_) {
    case AgentState::waiting:
    case AgentState::fetching:
    case AgentState::checking:
    case AgentState::ready:
    case AgentState::flushing:
    case AgentState::finished:
      leave();
      break;
    case AgentState::running:
      stop_ranks(prepare_.stop_grace);
      break;
    case AgentState::killing:
    case AgentState::gone:
      break;
  }
}

// Time has passed.
void Agent::watch_launcher() {
  // Whoever has given up whom: by now the launcher may say that the ranks are dead.
  if (has_window() && state_ == AgentState::running && now_ >= fence_at()) {
    if (own_stop_ == message::OwnStop::none) own_stop_ = message::OwnStop::silence;
    return stop_ranks(milliseconds(0));
  }
  if (!is_window_open()) {
    if (link_ && now_ >= last_heard_ + silence_limit) give_up_launcher();
    return;
  }
  const bool is_dead = launcher_died_at_ && now_ >= *launcher_died_at_ + death_wait;
  if (state_ == AgentState::running) {
    if (stopped_at_) return;
    if (is_dead) {
      own_stop_ = message::OwnStop::launcher;
      stop_ranks(prepare_.stop_grace);
    } else if (now_ >= last_call_at()) {
      own_stop_ = message::OwnStop::silence;
      stop_ranks(std::chrono::ceil<milliseconds>(fence_at() - now_));
    }
    return;
  }
  const bool is_over = state_ == AgentState::flushing || state_ == AgentState::finished;
  if (is_over && (now_ >= fence_at() || (!link_ && is_dead))) leave();
}

std::optional<Instant> Agent::next_deadline() const {
  if (state_ == AgentState::gone) return std::nullopt;
  std::optional<Instant> deadline;
  const auto consider = [&](Instant instant) {
    if (!deadline || instant < *deadline) deadline = instant;
  };
  if (kill_at_) consider(*kill_at_);
  if (has_window() && state_ == AgentState::running) consider(fence_at());
  if (!is_window_open()) {
    if (link_) consider(last_heard_ + silence_limit);
    return deadline;
  }
  if (state_ == AgentState::killing) return deadline;  // it takes what it takes
  if (state_ != AgentState::running) consider(fence_at());
  // Ranks that are being stopped for another reason end without these.
  const bool is_stopping = state_ == AgentState::running && stopped_at_;
  if (state_ == AgentState::running && !is_stopping) consider(last_call_at());
  if (launcher_died_at_ && !is_stopping) consider(*launcher_died_at_ + death_wait);
  return deadline;
}

void Agent::tell_fence() {
  std::optional<Instant> fence;
  if (has_window() && state_ == AgentState::running) fence = fence_at();
  const bool is_close =
      fence && told_fence_ && *fence - *told_fence_ < prepare_.reconnect_window / fence_step;
  if (fence == told_fence_ || is_close) return;
  told_fence_ = fence;
  act(agent_action::SetFence{fence});
}

}  // namespace train
