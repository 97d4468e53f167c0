// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "launcher/drivers/task_driver.hpp"
#include "tests/launcher/simulation/ports.hpp"

namespace train::simulation {

/// A process that runs the driver of the task over fake ports.
struct Supervisor {
  Supervisor(VirtualTime& time, Chance& chance, const Scenario& scenario, const Plan& first,
             std::deque<FakeHost>& hosts, std::vector<std::string>& complaints, KeptLogs& logs,
             FakeDisk& disk, Instant booted_at, std::string boot, EventTime::Read wall)
      : plan(first),
        booted(booted_at),
        boot_id(std::move(boot)),
        timers(time, process, booted),
        events(timers, std::move(wall)),
        transport(time, chance, process, scenario, hosts),
        output(
            time, process, scenario, first.trial.world_size, complaints, logs,
            [this] {
              if (driver) driver->acknowledge_output();
            },
            [this] { driver->displace({}); }),
        journal(time, chance, process, scenario, disk) {}
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  bool acts() const { return !process.is_dead() && !process.is_frozen(); }

  Plan plan;                    ///< of its last attempt
  std::set<int> failed = {};    ///< hosts that have failed
  std::set<int> left_out = {};  ///< those of them that are not used
  MortalProcess process;
  Instant booted;
  std::string boot_id;
  FakeTimers timers;
  EventTime events;  ///< when they happen, by the wall clock
  FakeTransport transport;
  CheckedOutput output;
  FakeJournal journal;
  /// Of the journal that it has begun with, in its own time.
  std::vector<JournalEntry> entries = {};
  std::size_t entries_seen = 0;
  Instant replayed_at{0};
  milliseconds replayed_wall{0};  ///< the same by the wall clock
  std::string replayed = {};      ///< the state of the task that the journal tells of
  // Of the attempt that runs.
  std::map<int, std::uint64_t> reports = {};  ///< by rank: in the logs that it adopted, or told
  std::uint64_t ignored_lines = 0;            ///< told
  std::optional<Instant> thawed_at = {};
  std::optional<Instant> left_at = {};  ///< it has found that the task is another one's
  std::optional<TaskDriver> driver = {};
};

}  // namespace train::simulation
