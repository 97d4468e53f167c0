// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "launcher/drivers/task_driver.hpp"
#include "tests/launcher/simulation/fake_host.hpp"
#include "tests/launcher/simulation/ports.hpp"
#include "tests/launcher/simulation/supervisor.hpp"

namespace train::simulation {

/// How often a launcher looks whether the registry knows of another one.
constexpr std::chrono::seconds registry_watch{5};

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
  const RunOutcome& outcome() const { return driver().over() ? driver().outcome() : unknown_; }
  std::uint64_t events() const { return events_; }
  std::optional<Instant> over_at() const { return over_at_; }
  const KeptLogs& logs() const { return logs_; }
  bool do_logs_hang() const { return scenario_.logs_hang.has_value(); }
  /// The first attempt of which the logs have lost something; more than there may be: none.
  int lost_in_attempt() const;
  bool has_run() const { return driver().has_run(); }
  const Run& run() const { return driver().run(); }
  const Task& task() const { return driver().task(); }
  /// The launcher and those that adopted its task.
  std::size_t supervisors() const { return supervisors_.size(); }
  /// What the adopted attempts were: "running", "failing", "prepared", "waiting".
  const std::vector<std::string>& adopted() const { return adopted_; }
  /// The last of them has died.
  bool is_unattended() const { return now().process.is_dead(); }
  /// How many launchers that were frozen have heard from a host that they were replaced.
  int told_by_hosts() const { return told_by_hosts_; }
  /// How many have begun.
  int attempts() const { return attempts_; }
  /// How often one began on other hosts than the one before.
  int moves() const { return moves_; }
  /// How many attempts had fewer ranks than the one before, or more.
  int shrunk() const { return shrunk_; }
  int grown() const { return grown_; }
  const std::deque<FakeHost>& hosts() const { return hosts_; }

 private:
  Supervisor& now() { return supervisors_.back(); }
  const Supervisor& now() const { return supervisors_.back(); }
  const TaskDriver& driver() const { return *now().driver; }
  void begin_supervisor(Instant booted, std::string boot_id,
                        std::optional<TaskDriver::Resumption> resume);
  TaskDriver::Hooks hooks_of(Supervisor& supervisor);
  void plan_events();
  bool is_all_gone();
  void plan_death(Supervisor& supervisor, const SupervisorDeath& death);
  void died(Supervisor& supervisor, const SupervisorDeath& when);
  bool have_ranks_met(const Supervisor& supervisor) const;
  void adopt(Supervisor& before, const SupervisorDeath& death);
  void thaw_later(Supervisor& frozen);
  void watch_registry(Supervisor& supervisor);
  void reported(Supervisor& supervisor, const MetricsReport& report);
  void take_over_metrics(TaskDriver::Resumption& resume) const;
  void displaced(Supervisor& supervisor, const TaskDriver::Displacement& by);
  void break_connections(int host, const Break& how);

  void check_replay();
  void check_start(const std::vector<JournalEntry>& entries);
  nanoseconds drift_of(int rank) const;

  void check_losses();
  void check_flow(int host, Instant healed);

  using Lines = std::vector<std::string>;
  void check_end(Lines& broken) const;
  void check_verdict(Lines& broken) const;
  void check_cause(Lines& broken) const;
  void check_order(Lines& broken) const;
  void check_ranks(Lines& broken) const;
  void check_leftovers(Lines& broken) const;
  void check_output(Lines& broken, int attempt, const RunOutcome& outcome) const;
  void check_reports(Lines& broken, int attempt) const;
  void check_restarts(Lines& broken) const;
  void check_survival(Lines& broken) const;
  void check_runtime(Lines& broken) const;
  void check_adoptions(Lines& broken) const;
  void check_displaced(Lines& broken) const;
  Instant last_attended() const;
  nanoseconds last_interrupt() const;
  std::optional<Instant> end_of_runtime() const;
  milliseconds on_the_wall() const;  ///< now
  nanoseconds output_time() const;
  void check_logins(Lines& broken) const;
  const FakeProcess* process(int rank) const;
  const Trial& trial() const { return now().plan.trial; }
  int host_of(int rank) const {
    const int node = trial().ranks[static_cast<std::size_t>(rank)].host;
    return driver().hosts().of_task(node);
  }
  int most_attempts() const;
  std::vector<Host> all_hosts() const;
  void note_place(int attempt, const Trial& trial);
  /// Of its last attempt.
  int ranks_of(const Replay& replay) const;
  std::optional<NextPlace> next_place(Supervisor& supervisor, const RunOutcome& outcome);

  Scenario scenario_;
  const Plan plan_;
  Chance chance_;
  VirtualTime time_;
  Readiness readiness_;
  Lines complaints_;
  KeptLogs logs_;
  std::deque<FakeHost> hosts_;
  FakeDisk disk_;
  std::deque<Supervisor> supervisors_;
  std::vector<std::string> adopted_;
  nanoseconds unattended_{0};       ///< how long nobody acted, in all
  std::optional<Instant> lost_at_;  ///< when the last launcher has died, and none came after it
  bool are_deaths_soft_ = true;  ///< ranks ran, on hosts that were there, and soon were met again
  bool is_ended_ = false;        ///< the journal of a launcher that died has the end
  std::optional<Instant> over_at_;
  const RunOutcome unknown_ = {};
  std::uint64_t events_ = 0;
  bool endless_ = false;
  std::size_t losses_seen_ = 0;
  int attempts_ = 1;
  int moves_ = 0;
  int shrunk_ = 0;
  int grown_ = 0;
  int told_by_hosts_ = 0;
};

}  // namespace train::simulation
