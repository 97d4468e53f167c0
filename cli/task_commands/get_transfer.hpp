// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "backends/results/result_writer.hpp"
#include "cli/record/task_hosts.hpp"
#include "cli/surroundings/exit_code.hpp"
#include "launcher/talks/get_talk.hpp"

namespace train {

/// The destination of a file or folder: a name in an existing folder.
struct GetTarget {
  std::string folder;
  std::string name;
  IfThere if_there;
};

/// Copies what `start` requests from the host of a rank, to standard output if there is no target,
/// and reports what was received and what was not.
ExitCode transfer_results(const RankHost& where, const get_talk::Start& start,
                          const std::optional<GetTarget>& target);

}  // namespace train
