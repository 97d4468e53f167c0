// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/talk.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "backends/posix/files.hpp"
#include "config_schema/text/text.hpp"

namespace train {

std::string talk_text(const TerminalText& said) {
  std::string text;
  for (const std::string_view line : split(said.text(), '\n')) {
    if (!line.starts_with(' ')) text += "train: ";
    text += line;
    text += '\n';
  }
  return text;
}

void talk(const TerminalText& said) {
  write_whole(STDERR_FILENO, talk_text(said));  // a failure cannot be reported anywhere
}

void talk_warnings(const std::vector<Diagnostic>& warnings) {
  for (const Diagnostic& warning : warnings) talk("warning: " + terminal_text(warning));
}

Result<bool> pass_on(std::string_view text) {
  const int error = write_whole(STDOUT_FILENO, text);
  if (error == 0) return true;
  if (error == EPIPE) return false;
  return fail(ErrorClass::no_input,
              fmt::format("cannot write to standard output: {}", system_reason(error)));
}

ExitCode answer(std::string_view text) {
  const auto passed_on = pass_on(text);
  return passed_on ? ExitCode() : report(passed_on.error());
}

ExitCode report(const Error& error) {
  const ExitCode code = exit_code_of(error.error_class);
  talk(terminal_text(error));
  talk(verdict(error.error_class, code));
  return code;
}

TerminalText verdict(ErrorClass error_class, ExitCode code) {
  return terminal_text("failed: {} (exit {})", to_string(error_class), code.value());
}

}  // namespace train
