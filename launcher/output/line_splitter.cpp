// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/line_splitter.hpp"

#include "config_schema/text/terminal_text.hpp"

namespace train {

void append_for_terminal(std::string& text, std::string_view line) {
  const std::size_t plain = plain_length(line);
  if (plain == line.size()) {
    text += line;
    return;
  }
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const std::size_t overwritten = line.rfind('\r');
  if (overwritten != std::string_view::npos) line.remove_prefix(overwritten + 1);
  append_escaped(text, line);
}

std::string for_terminal(std::string_view line) {
  std::string text;
  append_for_terminal(text, line);
  return text;
}

void Tail::add(std::string_view line) {
  constexpr std::size_t longest = 500;
  if (lines_.size() == limit_) lines_.erase(lines_.begin());
  lines_.emplace_back(line.substr(0, longest));
  if (line.size() > longest) lines_.back() += "...";
}

}  // namespace train
