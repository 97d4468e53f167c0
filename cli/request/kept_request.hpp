// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/request/request.hpp"
#include "launcher/task/rerun_request.hpp"

namespace train {

/// The flags of a launch that was kept, to launch it again from its directory. Secrets are not
/// kept: they are read from the files that they stood in, if these are as they were. `settings`
/// (--set) come after those of the launch, and give again what was withheld.
Result<RequestFlags> flags_of_kept(const std::string& task_id, const RerunRequest& kept,
                                   const std::vector<std::string>& settings = {});

/// "task k3wq cannot be launched again: ...", of class `no_input`.
tl::unexpected<Error> cannot_launch(const std::string& task_id, const std::string& why,
                                    std::string hint);

}  // namespace train
