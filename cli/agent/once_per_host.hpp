// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// What is run, and by which name it is known: the same for all ranks that mean the same.
struct OnceCommand {
  std::vector<std::string> words;
  std::string name;  ///< letters, digits, '.', '_' and '-'; empty: the words
};

/// Runs the command on this host once in an attempt of a trial: by the first of its ranks that
/// asks. The others wait until it has ended, and get its exit code. Outside of a task it is simply
/// run. Class `usage` without a command or with a name that is none, `missing` where it cannot be
/// executed, `host` where the rank that ran it was killed, or the run directory cannot be used.
Result<int> run_once_per_host(const OnceCommand& command);

/// Of all that follows `once-per-host` on a command line.
Result<int> run_once_per_host(const std::vector<std::string>& arguments);

}  // namespace train
