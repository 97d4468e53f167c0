// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/request/request.hpp"
#include "cli/surroundings/stop_signals.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/placement/placement.hpp"

namespace train {

/// A task whose ranks measure something on hosts, which it shares with other tasks as any does.
struct MeasuringTask {
  const HostFlags& flags;   ///< how the hosts are reached
  std::vector<Host> hosts;  ///< on which it runs, and on no others
  int slots = 0;            ///< ranks
  std::string command;      ///< for a shell there
  std::vector<std::string> settings = {};
  std::vector<EnvironmentEntry> environment = {};
  std::size_t longest_line = 0;
};

/// What it has found.
struct Measured {
  Plan plan;
  std::string line;  ///< the last one that rank 0 has printed, without its end
};

/// Runs the task to its end; it is stopped and ended like any. An error: it could not be launched,
/// or has failed.
Result<Measured> run_measuring(const MeasuringTask& task, std::optional<StopSignals>& signals);

}  // namespace train
