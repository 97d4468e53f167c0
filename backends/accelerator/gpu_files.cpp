// SPDX-License-Identifier: Apache-2.0
#include "backends/accelerator/gpu_files.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <memory>

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

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(folder.c_str()), ::closedir);
  if (!directory) return names;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (names.size() == most_names) break;
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  return names;
}

std::string small_text(const std::string& file) {
  std::string text;
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return text;
  std::array<char, 4096> buffer;
  while (text.size() < longest_text) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  ::close(fd);
  return text;
}

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
