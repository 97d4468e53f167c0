// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/line_splitter.hpp"

#include <fmt/format.h>

#include <utility>

namespace train {

std::vector<std::string> LineSplitter::add(std::string_view bytes) {
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::size_t room = longest_line - rest_.size();
    const std::size_t length = std::min(newline, bytes.size());
    if (length > room) {
      rest_ += bytes.substr(0, room);
      bytes.remove_prefix(room);
      lines.push_back(std::exchange(rest_, {}));
      continue;
    }
    rest_ += bytes.substr(0, length);
    if (newline == std::string_view::npos) break;
    lines.push_back(std::exchange(rest_, {}));
    bytes.remove_prefix(newline + 1);
  }
  return lines;
}

std::vector<std::string> LineSplitter::end() {
  if (rest_.empty()) return {};
  return {std::exchange(rest_, {})};
}

std::string for_terminal(std::string_view line) {
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const std::size_t overwritten = line.rfind('\r');
  if (overwritten != std::string_view::npos) line.remove_prefix(overwritten + 1);
  std::string shown;
  shown.reserve(line.size());
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto byte = static_cast<unsigned char>(line[i]);
    const bool c1_control =
        byte == 0xc2 && i + 1 < line.size() && static_cast<unsigned char>(line[i + 1]) < 0xa0;
    if (c1_control) {
      fmt::format_to(std::back_inserter(shown), "\\x{:02x}", static_cast<unsigned char>(line[++i]));
    } else if ((byte < 0x20 && byte != '\t') || byte == 0x7f) {
      fmt::format_to(std::back_inserter(shown), "\\x{:02x}", byte);
    } else {
      shown += static_cast<char>(byte);
    }
  }
  return shown;
}

void Tail::add(std::string line) {
  constexpr std::size_t longest = 500;
  if (line.size() > longest) line.replace(longest, std::string::npos, "...");
  if (lines_.size() == limit_) lines_.erase(lines_.begin());
  lines_.push_back(std::move(line));
}

}  // namespace train
