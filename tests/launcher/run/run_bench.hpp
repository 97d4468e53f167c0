// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <any>
#include <optional>
#include <type_traits>
#include <vector>

#include "launcher/run/run.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/run/trial_of.hpp"

namespace train {

/// A run and its connections with a hand on their clock, whose hosts say what the test wants.
/// Clocks of hosts agree with the launcher's unless a test answers pings otherwise.
class RunBench {
 public:
  explicit RunBench(const std::vector<int>& ranks_per_host,
                    milliseconds grace = milliseconds(10'000), PortNeeds needs = {},
                    Run::Delivery delivery = Run::Delivery::nothing,
                    milliseconds reconnect_window = milliseconds(0),
                    Run::Hosts hosts = Run::Hosts::dismissed,
                    milliseconds launcher_wait = brief_launcher_wait,
                    milliseconds notice = milliseconds(0), bool looks_for_networks = false,
                    milliseconds gpu_wait = milliseconds(0),
                    milliseconds hang_timeout = milliseconds(0))
      : trial(trial_of(ranks_per_host)),
        ports(needs),
        connections(names_of(trial), timing_with(reconnect_window, launcher_wait)),
        run(trial, {connections, TrialHosts::all(connections.count())},
            {ports,
             grace,
             delivery,
             hosts,
             {},
             notice,
             {},
             {},
             looks_for_networks,
             gpu_wait,
             hang_timeout}) {}

  /// Either of the two takes this event; both take a Tick.
  template <class Event>
  void on(const Event& event) {
    last.clear();
    if constexpr (std::is_constructible_v<ConnectionEvent, Event>)
      carry_out(connections.on(event, now));
    else
      feed(event);
  }
  void say(int host, Message m) { on(connection_event::HostSaid{host, std::move(m)}); }
  void try_now() {
    last.clear();
    carry_out(connections.try_now(now));
  }
  void wait(nanoseconds time) { now += time; }
  void tick() {
    on(connection_event::Tick{});
    feed(run_event::Tick{});
  }
  std::optional<Instant> next_deadline() const {
    if (run.over()) return std::nullopt;
    const auto one = connections.next_deadline();
    const auto other = run.next_deadline();
    return one && other ? std::min(*one, *other) : (one ? one : other);
  }

  void open(int host) {
    on(connection_event::HostOpened{host, "10.0.0." + std::to_string(host + 1)});
    pong(host);
  }
  /// Answers the pings of the last actions, without delay.
  void pong(int host) {
    for (const auto& send : all<host_action::Send>())
      if (const auto* ping = std::get_if<message::Ping>(&send.message); ping && send.host == host)
        return say_and_keep(host, message::Pong{ping->sent, now});
  }
  /// As many ports as it was asked for: 1000 for host 0, 1010 for host 1, and those that follow.
  void ready(int host) {
    std::vector<int> held;
    while (static_cast<int>(held.size()) < held_ports(ports, trial, host))
      held.push_back(1'000 + 10 * host + static_cast<int>(held.size()));
    say(host, message::Ready{held, "/run"});
  }
  void lose(int host) {
    on(connection_event::HostClosed{host, make_error(ErrorClass::host, "connection reset")});
  }
  void interrupt() { on(run_event::StopRequested{2}); }
  void ended(int rank, std::optional<int> code, bool after_stop = false) {
    ended_at(rank, code, now, after_stop);
  }
  void ended_at(int rank, std::optional<int> code, Instant at, bool after_stop = false) {
    const std::optional<int> signal = code ? std::nullopt : std::optional(9);
    say(trial.ranks[rank].host, message::RankEnded{rank, code, signal, false, after_stop, at, {}});
  }
  void finished(int host) { say(host, message::Finished{}); }

  /// Every host open, ready and told to go, every rank started.
  void start() {
    for (int host = 0; host < hosts(); ++host) open(host);
    for (int host = 0; host < hosts(); ++host) ready(host);
    for (const PlannedRank& rank : trial.ranks)
      say(rank.host, message::RankStarted{rank.rank, 100 + rank.rank});
  }
  int hosts() const { return static_cast<int>(trial.hosts.size()); }

  template <class Action>
  std::vector<Action> all() const {
    std::vector<Action> found;
    for (const std::any& action : last)
      if (const auto* a = std::any_cast<Action>(&action)) found.push_back(*a);
    return found;
  }
  template <class Action>
  bool has() const {
    return !all<Action>().empty();
  }
  /// The hosts that the last actions sent such a message to.
  template <class M>
  std::vector<int> told() const {
    std::vector<int> found;
    for (const auto& send : all<host_action::Send>())
      if (std::holds_alternative<M>(send.message)) found.push_back(send.host);
    return found;
  }
  /// The hosts that were told to start their ranks.
  std::vector<int> started() const {
    std::vector<int> found;
    for (const auto& go : all<run_action::SendGo>()) found.push_back(go.host);
    return found;
  }
  std::vector<int> closed() const {
    std::vector<int> found;
    for (const auto& close : all<host_action::CloseHost>()) found.push_back(close.host);
    return found;
  }
  const RunOutcome& outcome() const {
    REQUIRE(run.over());
    return run.outcome();
  }
  std::string cause() const {
    REQUIRE(outcome().cause);
    return outcome().cause->error.diagnostics.front().message;
  }

  Trial trial;
  PortNeeds ports;
  Connections connections;
  Run run;
  Instant now = std::chrono::seconds(1000);
  std::vector<std::any> last;  ///< what both want since the last event

 private:
  // As the driver does.
  void feed(const RunEvent& event) {
    for (const RunAction& action : run.on(event, now))
      std::visit([this](const auto& a) { perform(a); }, action);
    connections.give_up_by(run.gives_up_by());
  }
  void carry_out(const std::vector<ConnectionAction>& actions) {
    for (const ConnectionAction& action : actions)
      std::visit([this](const auto& a) { perform(a); }, action);
  }
  template <class Action>
  void perform(const Action& action) {
    if constexpr (std::is_same_v<Action, HostNews>) return feed(action);
    last.emplace_back(action);
    if constexpr (std::is_same_v<Action, run_action::LetGo>)
      carry_out(connections.let_go(action.host));
    if constexpr (std::is_same_v<Action, run_action::Dismiss>)
      carry_out(connections.dismiss(action.host));
    if constexpr (std::is_same_v<Action, run_action::Keep>) connections.end_ranks(action.host);
    if constexpr (std::is_same_v<Action, run_action::SendGo>)
      connections.begin_ranks(action.host, now);
  }
  static std::vector<std::string> names_of(const Trial& trial) {
    std::vector<std::string> names;
    for (const PlannedHost& host : trial.hosts) names.push_back(host.host.name);
    return names;
  }
  static Connections::Timing timing_with(milliseconds reconnect_window,
                                         milliseconds launcher_wait) {
    Connections::Timing timing;
    timing.reconnect_window = reconnect_window;
    timing.launcher_wait = launcher_wait;
    return timing;
  }
  void say_and_keep(int host, Message m) {
    auto kept = last;
    say(host, std::move(m));
    last = std::move(kept);
  }
};

}  // namespace train
