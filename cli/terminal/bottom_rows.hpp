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

/// The size of the terminal on standard error, if rows can be drawn there: this process is in its
/// foreground and no secret is being asked for. Nothing if the terminal has no room, or cannot move
/// its cursor.
std::optional<ScreenSize> screen_of_stderr();

/// Rows at the bottom of a screen, below lines that scroll: makes the control sequences that draw
/// and remove them. While rows are drawn, only whole lines may be written.
class BottomRows {
 public:
  /// Removes the drawn rows, so that lines can be written in their place. Empty if the screen has
  /// changed so that the position of the rows is unknown: then they stay and scroll away.
  std::string taken_away(const std::optional<ScreenSize>& screen);
  /// Draws these rows below the written text, up to a third of the screen: the first ones and the
  /// last one, each cut at the right.
  std::string drawn(const std::vector<std::string>& rows, const ScreenSize& screen);
  bool is_drawn() const { return lines_ > 0; }

 private:
  std::size_t lines_ = 0;
  std::size_t widest_ = 0;
};

/// The number of rows that `drawn` draws at most.
std::size_t most_bottom_rows(const ScreenSize& screen);

}  // namespace train
