// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "backends/results/result_writer.hpp"
#include "cli/record/task_hosts.hpp"
#include "cli/surroundings/exit_code.hpp"
#include "launcher/talks/get_talk.hpp"

namespace train {

/// Where a file or folder goes: a name in a folder that exists.
struct GetTarget {
  std::string folder;
  std::string name;
  IfThere if_there;
};

/// Copies what `start` asks for from the host of a rank, to standard output where there is no
/// target, and says what has come and what has not.
ExitCode transfer_results(const RankHost& where, const get_talk::Start& start,
                          const std::optional<GetTarget>& target);

}  // namespace train
