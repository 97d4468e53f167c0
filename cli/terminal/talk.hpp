// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/surroundings/exit_code.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// Says something to the user, on stderr, each line as "train: <line>" but for indented ones, which
/// belong to the line above. What came from a host, a file or a command line gets in through
/// `TerminalText` alone, so that it never makes such a line itself.
void talk(const TerminalText& said);

/// What `talk` writes for this, for those who write it elsewhere.
std::string talk_text(const TerminalText& said);

/// Says what is legal but worth a line: each as "train: warning: <text>".
void talk_warnings(const std::vector<Diagnostic>& warnings);

/// Writes an answer to stdout, whole; false when nobody reads any more (a closed pipe). Anything
/// else that goes wrong, such as a full disk, is an error of class `no_input`.
Result<bool> pass_on(std::string_view text);

/// Writes the one answer of a command and returns the code of the command: success also when nobody
/// reads it.
ExitCode answer(std::string_view text);

}  // namespace train
