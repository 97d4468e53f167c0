// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_code.hpp"
#include "config_schema/error.hpp"

namespace train {

/// Says something to the user, on stderr, each line as "train: <line>" but for indented ones, which
/// belong to the line above. Text that came from a host or a file is
/// shown without bytes that steer a terminal.
void talk(std::string_view said);

/// Says what is legal but worth a line: each as "train: warning: <text>".
void talk_warnings(const std::vector<Diagnostic>& of_files,
                   const std::vector<std::string>& of_plan);

enum class Answered {
  yes,
  nobody_reads,  ///< the pipe was closed by its reader, who has seen enough
  no,            ///< a full disk, ...: it has been said
};

/// Writes an answer to stdout, whole.
Answered answer(std::string_view text);

/// What a command returns whose work was to answer.
ExitCode code_of(Answered answered);

}  // namespace train
