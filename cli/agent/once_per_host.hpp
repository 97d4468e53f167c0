// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// A command and the name that identifies it: ranks that give the same name share one run.
struct OnceCommand {
  std::vector<std::string> words;
  std::string name;       ///< letters, digits, '.', '_' and '-'; empty: made from the words
  bool is_setup = false;  ///< it is the experiment's `setup`: its failure is reported as that
};

/// Runs the command on this host once per attempt of a trial, by the first of its ranks that calls
/// this. The others wait until it has ended, and get its exit code. Outside of a task the command
/// simply runs. Class `usage` without a command or with an invalid name, `missing` if the command
/// cannot be executed, `host` if the rank that ran it was killed, or the run directory cannot be
/// used.
Result<int> run_once_per_host(const OnceCommand& command);

/// The same for all arguments that follow `once-per-host` on a command line.
Result<int> run_once_per_host(const std::vector<std::string>& arguments);

}  // namespace train
