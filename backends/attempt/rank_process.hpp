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

/// What ranks execute on this host. What was found for one rank is taken for all others that need
/// the same; if it is gone by the time that such a rank starts, executing it fails.
class RankProcesses {
 public:
  /// `tools`: a folder in which programs and modules are found behind all else that there is;
  /// empty: none.
  explicit RankProcesses(std::string tools = {});

  /// A rank's program, looked up in its own PATH from its working directory: an absolute path.
  /// Class `missing` when directory or program is not there or cannot be used, `host` when the host
  /// cannot tell.
  Result<std::string> program_of(const RankCommand& command, FileCalls* calls = nullptr);

  /// Looks whether the script is there that the rank's program, an interpreter, is told to run;
  /// only of a rank whose program was found. `hint` is for where nothing like it is there. Class
  /// `missing` or `host`.
  Result<void> check_script_of(const RankCommand& command, const std::string& hint,
                               FileCalls* calls = nullptr);

  /// The program with its arguments and environment: that of this process, without what other
  /// launchers have left in it, and with the variables of the rank over it; PATH and PYTHONPATH end
  /// with the tools. It is bound as the rank is. Errors are those of `program_of`.
  Result<ProcessSpec> process_of(const RankCommand& command, FileCalls* calls = nullptr);

  /// The rank's PATH, without the tools.
  std::string path_of(const RankCommand& command) const;

 private:
  using Question = std::tuple<std::string, std::string, std::string>;
  using Environment = std::map<std::string, std::string>;
  Environment environment_of(const RankCommand& command) const;
  void add_tools(Environment& environment) const;

  const std::string tools_;
  Environment session_;                       ///< without what other launchers left in it
  std::map<Question, std::string> programs_;  ///< by working directory, PATH and name
  std::set<Question> scripts_;                ///< that are there, likewise
};

}  // namespace train
