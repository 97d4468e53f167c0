// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "tests/launcher/simulation/fake_host.hpp"
#include "tests/launcher/simulation/fake_launcher.hpp"

namespace train::simulation {

/// One scenario, played until nothing happens any more.
class World {
 public:
  explicit World(Scenario scenario);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void play();

  /// What must hold whatever has happened, and does not; a line each.
  std::vector<std::string> broken_promises() const;
  const RunOutcome& outcome() const { return launcher_.run().outcome(); }
  std::uint64_t events() const { return events_; }

 private:
  struct Connection {
    OneWay to_host;
    OneWay from_host;
  };
  void connect(int host);
  void break_link(int host);

  using Lines = std::vector<std::string>;
  void check_end(Lines& broken) const;
  void check_verdict(Lines& broken) const;
  void check_cause(Lines& broken) const;
  void check_order(Lines& broken) const;
  void check_ranks(Lines& broken) const;
  void check_leftovers(Lines& broken) const;
  void check_output(Lines& broken) const;
  const FakeProcess* process(int rank) const;

  Scenario scenario_;
  Trial trial_;
  Chance chance_;
  VirtualTime time_;
  Readiness readiness_;
  Lines complaints_;
  FakeLauncher launcher_;
  std::deque<FakeHost> hosts_;
  std::deque<Connection> connections_;
  std::uint64_t events_ = 0;
  bool endless_ = false;
};

}  // namespace train::simulation
