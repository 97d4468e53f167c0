// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/report_writer.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "launcher/output/report_line.hpp"

namespace train {

Result<std::string> write_report(const std::vector<std::string>& words,
                                 const std::optional<std::string>& step) {
  const auto line = report_line(words, step);
  if (!line) return tl::make_unexpected(line.error());
  const char* const path = std::getenv("TRAIN_METRICS_FILE");
  if (path == nullptr || *path == '\0')
    return "this is no rank of a task (TRAIN_METRICS_FILE is not set): nothing is reported";
  const Descriptor file(::open(path, O_WRONLY | O_APPEND | O_CLOEXEC));
  // One write, so that no other report gets in between.
  const ssize_t count = file ? ::write(file.get(), line->data(), line->size()) : -1;
  if (count == static_cast<ssize_t>(line->size())) return std::string();
  return fail(ErrorClass::host, fmt::format("cannot append to '{}': {}", path,
                                            system_reason(count < 0 ? errno : ENOSPC)));
}

Result<std::string> write_report(const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  std::optional<std::string> step;
  constexpr std::string_view option = "--step";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == option && i + 1 < arguments.size())
      step = arguments[++i];
    else if (word.starts_with(std::string(option) + '='))
      step = word.substr(option.size() + 1);
    else
      words.push_back(word);
  }
  return write_report(words, step);
}

}  // namespace train
