// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config_schema/text/quantity.hpp"
#include "launcher/live/live_hosts.hpp"

namespace train {

/// A task as those who hold slots for it say, or its tickets where it waits: all that others know
/// of it.
struct HeldTask {
  std::string id;
  std::string name = {};
  std::string user = {};      ///< on the hosts; "user 1000" where it has no name there
  std::string launcher = {};  ///< where it was launched: "process 4711 on 'head'"
  std::int64_t held_ms = 0;   ///< for how long, on the host where it is longest; 0: not known
  bool is_running = false;    ///< its ranks were told to start
  bool is_waiting = false;    ///< it holds nothing, and waits in line; `held_ms` is for how long
  bool is_own = false;        ///< its user is the one who asks
  Quantity slots = {};        ///< of all its hosts; each machine counts once
  std::string wants = {};     ///< how many slots one that waits says it wants
  std::vector<std::string> hosts = {};

  bool operator==(const HeldTask&) const = default;
};

/// The tasks that hold or wait for anything of these hosts, the newest first. Whoever says to be
/// one and has no task's id is none.
std::vector<HeldTask> held_tasks(const std::vector<LiveHost>& hosts);

/// "running", "starting" or "waiting".
std::string state_of(const HeldTask& task);
/// What it holds, or wants where it waits: "2.5".
std::string slots_text(const HeldTask& task);

/// What is held by nobody that `held_tasks` names: "slot 3 held by a process that belongs to no
/// task".
std::vector<std::string> unknown_holdings(const LiveHost& host);
/// The same of processes outside of train alone, as far as `live_notes` has nothing of them.
std::vector<std::string> foreign_holdings(const LiveHost& host);

}  // namespace train
