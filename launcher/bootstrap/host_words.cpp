// SPDX-License-Identifier: Apache-2.0
#include "launcher/bootstrap/host_words.hpp"

namespace train {

std::string printable(std::string_view text, std::size_t limit) {
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  if (text.size() > limit) text.remove_prefix(text.size() - limit);
  std::string line;
  for (const char c : text) {
    if (!is_space(c))
      line += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  return line;
}

}  // namespace train
