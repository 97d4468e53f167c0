// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/watched_text.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "config_schema/text/text.hpp"

namespace train {

namespace {

// As much of a text as fits on the terminal.
std::string screenful(const std::string& text, const ScreenSize& screen) {
  std::vector<std::string> lines = split_lines(text);
  const std::size_t most = std::max<std::size_t>(screen.lines, 3) - 1;
  if (lines.size() > most) {
    const std::size_t hidden = lines.size() - most + 1;
    lines.resize(most - 1);
    lines.push_back(fmt::format("and {} more", hidden));
  }
  std::string shown;
  for (const std::string& line : lines) {
    std::size_t end = 0;
    for (std::size_t column = 0; end < line.size() && column < screen.columns; ++column)
      end += std::max<std::size_t>(1, utf8_length(std::string_view(line).substr(end)));
    shown += line.substr(0, end) + "\n";
  }
  return shown;
}

}  // namespace

std::optional<ScreenSize> screen_of_stdout() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 ||
      size.ws_col == 0)
    return std::nullopt;
  return ScreenSize{size.ws_col, size.ws_row};
}

std::string WatchedText::next(const std::string& text, std::string facts) {
  if (const auto screen = screen_of_stdout()) return "\x1b[H\x1b[2J" + screenful(text, *screen);
  if (facts == shown_) return "";
  const bool is_first = shown_.empty();
  shown_ = std::move(facts);
  return (is_first ? "" : "\n") + text;
}

bool has_no_reader() {
  pollfd out = {STDOUT_FILENO, 0, 0};
  return ::poll(&out, 1, 0) > 0;
}

}  // namespace train
