// SPDX-License-Identifier: Apache-2.0
#include "cli/talk.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "launcher/output/line_splitter.hpp"

namespace train {

namespace {

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

void talk(std::string_view said) {
  LineSplitter splitter;
  std::vector<std::string> lines = splitter.add(said);
  for (auto& rest : splitter.end()) lines.push_back(std::move(rest));
  std::string text;
  for (const std::string& part : lines) {
    const bool continues = part.starts_with(' ');
    text += (continues ? "" : "train: ") + for_terminal(part) + '\n';
  }
  write_all(STDERR_FILENO, text);
}

void talk_warnings(const std::vector<Diagnostic>& of_files,
                   const std::vector<std::string>& of_plan) {
  for (const Diagnostic& warning : of_files) talk("warning: " + render(warning));
  for (const std::string& warning : of_plan) talk("warning: " + warning);
}

Answered answer(std::string_view text) {
  if (write_all(STDOUT_FILENO, text)) return Answered::yes;
  if (errno == EPIPE) return Answered::nobody_reads;
  talk(fmt::format("cannot write to stdout: {}", std::strerror(errno)));
  talk(verdict(ErrorClass::no_input, code_of(Answered::no)));
  return Answered::no;
}

ExitCode code_of(Answered answered) {
  return answered == Answered::no ? exit_code_of(ErrorClass::no_input) : ExitCode();
}

ExitCode report(const Error& error) {
  const ExitCode code = exit_code_of(error.error_class);
  talk(render(error));
  talk(verdict(error.error_class, code));
  return code;
}

std::string verdict(ErrorClass error_class, ExitCode code) {
  return fmt::format("failed: {} (exit {})", to_string(error_class), code.value());
}

}  // namespace train
