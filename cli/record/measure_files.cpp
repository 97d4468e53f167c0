// SPDX-License-Identifier: Apache-2.0
#include "cli/record/measure_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

constexpr mode_t only_own_file = 0600;

// From the last line backwards, so that the last one stays.
std::string halved(const std::string& text) {
  const std::vector<std::string> lines = split_lines(text);
  std::string kept;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if ((lines.size() - 1 - i) % 2 == 0) kept += lines[i] + "\n";
  return kept;
}

}  // namespace

Result<bool> append_halving(const std::string& file, std::string_view line, std::size_t most) {
  struct stat status {};
  {
    const Descriptor opened(
        ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, only_own_file));
    int error = opened ? write_whole(opened.get(), line) : errno;
    if (error == ENOSPC || error == EDQUOT) return false;
    if (error == 0 && ::fstat(opened.get(), &status) != 0) error = errno;
    if (error != 0)
      return fail(ErrorClass::no_input,
                  fmt::format("cannot write '{}': {}", file, system_reason(error)));
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size <= most) return false;
  if (auto written = write_file(file, halved(read_small_file(file, size)), only_own_file); !written)
    return tl::make_unexpected(written.error());
  return true;
}

std::vector<UsageSample> read_usage(const std::string& file) {
  std::vector<UsageSample> samples;
  for (const std::string& line : split_lines(read_small_file(file, 2 * longest_usage_file)))
    if (auto sample = decode_sample(line)) samples.push_back(std::move(*sample));
  return samples;
}

std::optional<AttemptStart> read_last_start(const std::string& file) {
  const auto lines = split_lines(read_small_file(file, 4 * longest_starts_file));
  for (auto line = lines.rbegin(); line != lines.rend(); ++line)
    if (auto start = decode_start(*line)) return std::move(*start);
  return std::nullopt;
}

}  // namespace train
