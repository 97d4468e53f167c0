// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config_schema/text/quantity.hpp"
#include "launcher/live/live_hosts.hpp"

namespace train {

/// A task as described by its holder files, or by its tickets if it waits: this is all that other
/// users know of it.
struct HeldTask {
  std::string id;
  std::string name = {};
  std::string user = {};      ///< on the hosts; "user 1000" if it has no name there
  std::string launcher = {};  ///< where it was launched: "process 4711 on 'head'"
  std::int64_t held_ms = 0;   ///< longest duration on any host; 0: not known
  bool is_running = false;    ///< its ranks were told to start
  /// It holds nothing, and waits in line; `held_ms` is the time of waiting.
  bool is_waiting = false;
  bool is_own = false;     ///< its user is the asking user
  Quantity slots = {};     ///< on all its hosts; each machine counts once
  std::string wants = {};  ///< for a waiting task: number of slots that it wants
  std::vector<std::string> hosts = {};

  bool operator==(const HeldTask&) const = default;
};

/// The tasks that hold or wait for anything on these hosts, newest first. Holders without a valid
/// task id do not count as tasks.
std::vector<HeldTask> held_tasks(const std::vector<LiveHost>& hosts);

/// "running", "starting" or "waiting".
std::string state_of(const HeldTask& task);
/// The slots that it holds, or wants if it waits: "2.5".
std::string slots_text(const HeldTask& task);

/// What is held by holders that `held_tasks` does not name: "slot 3 held by a process that belongs
/// to no task".
std::vector<std::string> unknown_holdings(const LiveHost& host);
/// The same, only for processes outside of train, and only what `live_notes` does not report.
std::vector<std::string> foreign_holdings(const LiveHost& host);

}  // namespace train
