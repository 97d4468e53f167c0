// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "backends/process/file_calls.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/ports/process_spawner.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// Finds out what ranks execute on this host. Results are cached: a program found for one rank is
/// used for all ranks with the same lookup; if it has vanished by the time such a rank starts,
/// executing it fails.
class RankProcesses {
 public:
  /// `tools`: a folder that is appended to PATH and PYTHONPATH of the ranks; empty: none.
  explicit RankProcesses(std::string tools = {});

  /// A rank's program, looked up in its own PATH from its working directory: an absolute path.
  /// Class `missing` when directory or program does not exist or cannot be used, `host` when this
  /// host cannot find out.
  Result<std::string> program_of(const RankCommand& command, FileCalls* calls = nullptr);

  /// Checks that the script which the rank's interpreter is to run exists. Call it only for a rank
  /// whose program was found. `hint` is for the error when nothing similar exists. Class `missing`
  /// or `host`.
  Result<void> check_script_of(const RankCommand& command, const std::string& hint,
                               FileCalls* calls = nullptr);

  /// The program with its arguments, CPUs and environment. The environment is that of this process,
  /// without variables left by other launchers, overridden by the variables of the rank; PATH and
  /// PYTHONPATH end with the tools folder. Errors are those of `program_of`.
  Result<ProcessSpec> process_of(const RankCommand& command, FileCalls* calls = nullptr);

  /// The rank's PATH, without the tools.
  std::string path_of(const RankCommand& command) const;

 private:
  using Question = std::tuple<std::string, std::string, std::string>;
  using Environment = std::map<std::string, std::string>;
  Environment environment_of(const RankCommand& command) const;
  void add_tools(Environment& environment) const;

  const std::string tools_;
  Environment session_;                       ///< without variables left by other launchers
  std::map<Question, std::string> programs_;  ///< by working directory, PATH and name
  std::set<Question> scripts_;                ///< that exist, by the same key
};

}  // namespace train
