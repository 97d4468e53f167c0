// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/wire/message.hpp"

namespace train {

/// The environment of a rank with everything that only a launch can know filled in; without the
/// variables that are not to be set on hosts like this one. `threads`: as in `CpuShare`.
std::vector<EnvironmentEntry> fill_in(std::vector<EnvironmentEntry> environment,
                                      const message::Go& go, const std::string& task_id,
                                      const std::string& run_directory, int rank,
                                      const HostGpus& gpus = {}, int threads = 0);

/// What one of these ranks executes, to name it by; arguments with spaces between them.
std::string words_of(const std::vector<RankCommand>& ranks, int rank);

/// Where in the run directory a rank may append what it measures, a line of JSON each.
std::string metrics_file_name(int rank);

/// What appears in the run directory when the ranks of this attempt are to stop: one file for all
/// ranks of a host, so that none of them sees it long before another.
std::string stop_file_name(int attempt);

/// Where in the run directory a rank may write what went wrong.
std::string error_file_name(int rank);

}  // namespace train
