// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace train {

/// Columns and lines of a terminal.
struct ScreenSize {
  std::size_t columns = 0;
  std::size_t lines = 0;
};

/// What rows can be drawn on below other text: the terminal on standard error, where this process
/// is in its foreground and nobody is being asked there for something secret. Nothing where it has
/// no room, or cannot move its cursor.
std::optional<ScreenSize> screen_of_stderr();

/// Rows that stand at the bottom of a screen, below lines that scroll: as the control sequences
/// that draw them and take them away. In between, only lines that end may be written.
class BottomRows {
 public:
  /// Takes away what is drawn, so that lines can be written in its place. Nothing where the screen
  /// has changed so that it is not known any more where the rows are: they stay where they are, and
  /// scroll away like all else.
  std::string taken_away(const std::optional<ScreenSize>& screen);
  /// Draws these below what was written, as far as they fit into a third of the screen: the first
  /// of them and the last, each cut at the right.
  std::string drawn(const std::vector<std::string>& rows, const ScreenSize& screen);
  bool is_drawn() const { return lines_ > 0; }

 private:
  std::size_t lines_ = 0;
  std::size_t widest_ = 0;
};

/// So many rows are drawn of any number.
std::size_t most_bottom_rows(const ScreenSize& screen);

}  // namespace train
