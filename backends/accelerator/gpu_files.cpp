// SPDX-License-Identifier: Apache-2.0
#include "backends/accelerator/gpu_files.hpp"

#include <unistd.h>

#include <charconv>

#include "backends/posix/files.hpp"

namespace train {

namespace {

constexpr std::size_t most_names = 4096;
constexpr std::size_t longest_text = std::size_t{16} << 10;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace

std::vector<std::string> visible_names_in(const std::string& folder) {
  std::vector<std::string> names;
  FolderReader reader(folder);
  while (const char* name = reader && names.size() < most_names ? reader.next() : nullptr)
    if (name[0] != '.') names.emplace_back(name);
  return names;
}

std::string small_text(const std::string& file) { return read_small_file(file, longest_text); }

bool may_use(const std::string& device) { return ::access(device.c_str(), R_OK | W_OK) == 0; }

bool is_there(const std::string& file) { return ::access(file.c_str(), F_OK) == 0; }

std::string_view value_of(std::string_view text, std::string_view key, char between) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == between)
      return trimmed(line.substr(key.size() + 1));
  }
  return {};
}

std::optional<unsigned long long> number_of(std::string_view text) {
  unsigned long long number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace train
