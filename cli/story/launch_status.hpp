// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace train {

/// What a launch in the foreground does at one moment, for the rows below its output.
struct LaunchStatus {
  enum class Phase { starting, running, stopping };
  Phase phase = Phase::starting;
  /// The hosts by what they do, such as "connecting", in the order of the steps of a start.
  std::vector<std::pair<std::string, std::vector<std::string>>> hosts;
  int ranks = 0;
  int ranks_left = 0;                    ///< ranks whose end is not known
  std::chrono::milliseconds elapsed{0};  ///< since the attempt has begun; while running, since Go
  int restart = 0;
  int max_restarts = 0;
  std::string last_report;                  ///< of rank 0: a JSON object on one line; empty: none
  std::optional<double> cpus;               ///< cores that the ranks have used lately
  std::optional<std::uint64_t> memory;      ///< bytes of all ranks
  std::optional<double> gpus;               ///< GPUs in use now
  int slots_with_gpus = 0;                  ///< GPUs of the ranks of which that is known
  std::optional<std::uint64_t> gpu_memory;  ///< bytes in use of those
  std::vector<std::string> unfinished;      ///< lines that ranks rewrite, such as progress bars
};

/// One row for each progress bar, one for the hosts that are not ready while starting, and a last
/// one that sums up the launch.
std::vector<std::string> launch_status_rows(const LaunchStatus& status);

}  // namespace train
