// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "launcher/run/run.hpp"
#include "tests/catch.hpp"
#include "tests/launcher/run/trial_of.hpp"

namespace train {

/// A run with a hand on its clock, whose hosts say what the test wants. Clocks of hosts agree with
/// the launcher's unless a test answers pings otherwise.
class RunBench {
 public:
  explicit RunBench(const std::vector<int>& ranks_per_host,
                    milliseconds grace = milliseconds(10'000), PortNeeds needs = {},
                    Run::Delivery delivery = Run::Delivery::nothing,
                    milliseconds reconnect_window = milliseconds(0))
      : trial(trial_of(ranks_per_host)),
        ports(needs),
        run(trial, ports, grace, timing_with(reconnect_window), delivery) {}

  void on(const RunEvent& event) { last = run.on(event, now); }
  void say(int host, Message m) { on(run_event::HostSaid{host, std::move(m)}); }
  void wait(nanoseconds time) { now += time; }
  void tick() { on(run_event::Tick{}); }

  void open(int host) {
    on(run_event::HostOpened{host, "10.0.0." + std::to_string(host + 1)});
    pong(host);
  }
  /// Answers the pings of the last actions, without delay.
  void pong(int host) {
    for (const auto& send : all<run_action::Send>())
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
    on(run_event::HostClosed{host, make_error(ErrorClass::host, "connection reset")});
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
    for (const RunAction& action : last)
      if (const auto* a = std::get_if<Action>(&action)) found.push_back(*a);
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
    for (const auto& send : all<run_action::Send>())
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
    for (const auto& close : all<run_action::CloseHost>()) found.push_back(close.host);
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
  Run run;
  Instant now = std::chrono::seconds(1000);
  std::vector<RunAction> last;

 private:
  static Run::Timing timing_with(milliseconds reconnect_window) {
    Run::Timing timing;
    timing.reconnect_window = reconnect_window;
    return timing;
  }
  void say_and_keep(int host, Message m) {
    auto kept = last;
    say(host, std::move(m));
    last = std::move(kept);
  }
};

}  // namespace train
