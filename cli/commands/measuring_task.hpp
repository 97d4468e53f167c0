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

/// A task whose ranks measure something on hosts. It shares the hosts with other tasks like any
/// other task.
struct MeasuringTask {
  const HostFlags& flags;   ///< how the hosts are reached
  std::vector<Host> hosts;  ///< it runs on these hosts only
  int slots = 0;            ///< number of ranks
  std::string command;      ///< for a shell on the host
  std::vector<std::string> settings = {};
  std::vector<EnvironmentEntry> environment = {};
  std::size_t longest_line = 0;
};

/// The result of a measuring task.
struct Measured {
  Plan plan;
  std::string line;  ///< last line that rank 0 printed, without the newline
};

/// Runs the task to its end; it can be stopped and ends like any other. Returns an error if it
/// could not be launched, or has failed.
Result<Measured> run_measuring(const MeasuringTask& task, std::optional<StopSignals>& signals);

}  // namespace train
