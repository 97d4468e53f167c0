// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launcher/wire/message.hpp"

namespace train {

/// The environment of a rank with all at-launch values filled in, without the variables that are
/// not to be set on hosts like this one. `threads`: as in `CpuShare`.
std::vector<EnvironmentEntry> fill_in(std::vector<EnvironmentEntry> environment,
                                      const message::Go& go, const std::string& task_id,
                                      const std::string& run_directory, int rank,
                                      const HostGpus& gpus = {}, int threads = 0);

/// The command of one of these ranks, as text for messages; arguments separated by spaces.
std::string words_of(const std::vector<RankCommand>& ranks, int rank);

/// File in the run directory to which a rank may append its metrics, one line of JSON each.
std::string metrics_file_name(int rank);

/// File in the run directory that a rank may touch to say that it makes progress. It is not there
/// before.
std::string heartbeat_file_name(int rank);

/// File that appears in the run directory when the ranks of this attempt are to stop: one file for
/// all ranks of a host, so that none of them sees it long before another.
std::string stop_file_name(int attempt);

/// File in the run directory into which a rank may write its error.
std::string error_file_name(int rank);

}  // namespace train
