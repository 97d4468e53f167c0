// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "launcher/run/run_driver.hpp"
#include "tests/launcher/simulation/fake_host.hpp"
#include "tests/launcher/simulation/ports.hpp"

namespace train::simulation {

/// One scenario, played until nothing happens any more: the driver of the launch command over fake
/// ports, and the real agents.
class World {
 public:
  explicit World(Scenario scenario);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void play();

  /// What must hold whatever has happened, and does not; a line each.
  std::vector<std::string> broken_promises() const;
  /// Nothing of a launcher that died.
  const RunOutcome& outcome() const { return transport_.is_dead() ? unknown_ : driver_->outcome(); }
  std::uint64_t events() const { return events_; }
  const Run& run() const { return driver_->run(); }
  const std::deque<FakeHost>& hosts() const { return hosts_; }

 private:
  void make_driver();
  void plan_events();

  void check_losses();
  void check_flow(int host, Instant healed);

  using Lines = std::vector<std::string>;
  void check_end(Lines& broken) const;
  void check_verdict(Lines& broken) const;
  void check_cause(Lines& broken) const;
  void check_order(Lines& broken) const;
  void check_ranks(Lines& broken) const;
  void check_leftovers(Lines& broken) const;
  void check_output(Lines& broken) const;
  void check_logins(Lines& broken) const;
  const FakeProcess* process(int rank) const;

  Scenario scenario_;
  Plan plan_;
  const Trial& trial_ = plan_.trial;
  Chance chance_;
  VirtualTime time_;
  Readiness readiness_;
  Lines complaints_;
  std::deque<FakeHost> hosts_;
  FakeTimers timers_;
  FakeTransport transport_;
  CheckedOutput output_;
  std::optional<RunDriver> driver_;
  std::optional<Instant> over_at_;
  const RunOutcome unknown_ = {};
  std::uint64_t events_ = 0;
  bool endless_ = false;
  std::size_t losses_seen_ = 0;
};

}  // namespace train::simulation
