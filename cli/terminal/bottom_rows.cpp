// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/bottom_rows.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "launcher/picture/columns.hpp"

namespace train {

namespace {

constexpr std::size_t least_columns = 40;
constexpr std::size_t least_lines = 12;

bool can_move_cursor() {
  const char* kind = std::getenv("TERM");
  return kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
}

}  // namespace

std::optional<ScreenSize> screen_of_stderr() {
  static const bool is_able = can_move_cursor();
  winsize size{};
  termios how{};
  if (!is_able || ::tcgetpgrp(STDERR_FILENO) != ::getpgrp() ||
      ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || ::tcgetattr(STDERR_FILENO, &how) != 0)
    return std::nullopt;
  if (size.ws_col < least_columns || size.ws_row < least_lines || (how.c_lflag & ECHO) == 0)
    return std::nullopt;
  return ScreenSize{size.ws_col, size.ws_row};
}

std::string BottomRows::taken_away(const std::optional<ScreenSize>& screen) {
  const std::size_t lines = lines_;
  lines_ = 0;
  // Rows wider than the screen were wrapped or cut, depending on the terminal.
  if (lines == 0 || !screen || screen->columns <= widest_ || screen->lines <= lines) return {};
  return fmt::format("\x1b[{}A\x1b[J", lines);
}

std::string BottomRows::drawn(const std::vector<std::string>& rows, const ScreenSize& screen) {
  const std::size_t most = most_bottom_rows(screen);
  widest_ = 0;
  lines_ = std::min(rows.size(), most);
  std::string text;
  for (std::size_t i = 0; i < lines_; ++i) {
    const bool is_last = i + 1 == lines_;
    const std::string row = shortened(is_last ? rows.back() : rows[i], screen.columns - 1);
    widest_ = std::max(widest_, count_columns(row));
    text += row + "\n";
  }
  return text;
}

std::size_t most_bottom_rows(const ScreenSize& screen) { return screen.lines / 3; }

}  // namespace train
