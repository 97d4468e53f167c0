// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/agent/agent.hpp"

namespace train::testing {

/// An agent with a hand on its clock and a launcher that says what a test wants; keeps what the
/// agent did in its last step.
class Bench {
 public:
  explicit Bench(std::size_t capacity = OutputQueue::usual_capacity,
                 std::uint64_t output_credit = 1u << 30)
      : credit(output_credit), agent({"node1", "boot", 42, 1'000}, capacity) {}

  std::vector<AgentAction> on(const AgentEvent& event) { return last = agent.on(event, now); }
  std::vector<AgentAction> say(Message m) { return on(agent_event::Received{link, std::move(m)}); }
  std::vector<AgentAction> tick(Instant at) {
    now = at;
    return on(agent_event::Tick{});
  }

  /// A new link, and Attach on it.
  std::vector<AgentAction> connect(std::vector<message::OutputPosition> positions = {}) {
    ++link;
    return say(message::Attach{wire_version, 1, ++connection, std::move(positions), credit});
  }
  std::vector<AgentAction> lose_link() { return on(agent_event::LinkDown{link}); }
  /// A ping that echoes a pong of that instant.
  std::vector<AgentAction> ping(Instant newest_pong) {
    return say(message::Ping{std::chrono::seconds(5), newest_pong});
  }
  std::vector<AgentAction> print(int rank, std::string_view bytes) {
    return on(agent_event::RankPrinted{rank, OutputStream::out, bytes});
  }

  void prepare(const std::vector<int>& ranks) {
    message::Prepare m{"taskid", {}, 1, {}, std::chrono::seconds(7), window, launcher_wait};
    for (const int rank : ranks) {
      m.ranks.push_back({rank, {"true", {}}, "/", {}});
      m.ranks.back().environment = {{"PORT", "", AtLaunch::rendezvous_port, false}};
    }
    m.spool = spool;
    m.stop_notice = stop_notice;
    m.stop_signal = stop_signal;
    say(m);
  }
  void make_ready(const std::vector<int>& ranks) {
    connect();
    prepare(ranks);
    on(agent_event::HostChecked{{}, {29'500}, "/tmp/run"});
  }
  void start(const std::vector<int>& ranks) {
    make_ready(ranks);
    say(message::Go{"10.0.0.1", 29'500});
    for (const int rank : ranks) on(agent_event::RankStarted{rank, 100 + rank});
  }
  std::vector<AgentAction> end(int rank, int code) {
    return on(agent_event::RankEnded{rank, code, std::nullopt, false, now, {}});
  }
  /// Every rank has ended, and what they left is gone.
  void end_all(const std::vector<int>& ranks) {
    for (const int rank : ranks) end(rank, 0);
    on(agent_event::TreeKilled{});
  }

  milliseconds window{0};  ///< reconnect_window
  milliseconds launcher_wait = brief_launcher_wait;
  milliseconds stop_notice{0};
  int stop_signal = 15;
  SpoolRule spool;
  std::uint64_t credit;
  LinkId link = 0;  ///< the last one
  std::uint64_t connection = 0;
  Agent agent;
  Instant now = std::chrono::seconds(1000);
  std::vector<AgentAction> last;
};

template <class Action>
std::vector<Action> all(const std::vector<AgentAction>& actions) {
  std::vector<Action> found;
  for (const AgentAction& action : actions)
    if (const auto* a = std::get_if<Action>(&action)) found.push_back(*a);
  return found;
}

template <class Action>
bool has(const std::vector<AgentAction>& actions) {
  return !all<Action>(actions).empty();
}

template <class M>
std::optional<M> said(const std::vector<AgentAction>& actions) {
  for (const auto& send : all<agent_action::SendMessage>(actions))
    if (const auto* m = std::get_if<M>(&send.message)) return *m;
  return std::nullopt;
}

inline std::vector<int> terminated(const std::vector<AgentAction>& actions) {
  std::vector<int> ranks;
  for (const auto& action : all<agent_action::TerminateRank>(actions)) ranks.push_back(action.rank);
  return ranks;
}

inline std::vector<LinkId> closed(const std::vector<AgentAction>& actions) {
  std::vector<LinkId> links;
  for (const auto& action : all<agent_action::CloseLink>(actions)) links.push_back(action.link);
  return links;
}

/// All bytes that are sent, of whichever rank.
inline std::string output(const std::vector<AgentAction>& actions) {
  std::string bytes;
  for (const auto& send : all<agent_action::SendOutput>(actions)) bytes += send.chunk->bytes;
  return bytes;
}

}  // namespace train::testing
