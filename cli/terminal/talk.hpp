// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/surroundings/exit_code.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// Prints a message for the user on stderr, each line as "train: <line>" except for indented lines,
/// which continue the line above. Text from a host, a file or a command line must come as
/// `TerminalText`, so that it cannot forge such a line.
void talk(const TerminalText& said);

/// The text that `talk` writes, for callers that write it elsewhere.
std::string talk_text(const TerminalText& said);

/// Prints warnings: each as "train: warning: <text>".
void talk_warnings(const std::vector<Diagnostic>& warnings);

/// Writes an answer to stdout, completely; false if the reader is gone (a closed pipe). Any other
/// failure, such as a full disk, is an error of class `no_input`.
Result<bool> pass_on(std::string_view text);

/// Writes the only answer of a command and returns the command's exit code: success also if the
/// reader is gone.
ExitCode answer(std::string_view text);

}  // namespace train
