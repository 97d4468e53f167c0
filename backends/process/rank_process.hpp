// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "backends/process/file_calls.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/ports/process_spawner.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// What ranks execute on this host. What was found for one rank serves all that ask for the same.
/// Should it be gone by the time of theirs, executing it says so.
class RankProcesses {
 public:
  RankProcesses();

  /// A rank's program, looked up in its own PATH from its working directory: an absolute path.
  /// Class `missing` when directory or program is not there or cannot be used, `host` when the host
  /// cannot tell.
  Result<std::string> program_of(const RankCommand& command, FileCalls* calls = nullptr);

  /// Its program, in the session environment of this process, without what other launchers left in
  /// it, with the rank's variables over it. Errors are those of `program_of`.
  Result<ProcessSpec> process_of(const RankCommand& command, FileCalls* calls = nullptr);

 private:
  using Question = std::tuple<std::string, std::string, std::string>;
  using Environment = std::map<std::string, std::string>;
  Environment environment_of(const RankCommand& command) const;
  std::string path_of(const RankCommand& command) const;

  Environment session_;                       ///< without what other launchers left in it
  std::map<Question, std::string> programs_;  ///< by working directory, PATH and name
};

}  // namespace train
