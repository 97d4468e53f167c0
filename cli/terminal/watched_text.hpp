// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/terminal/bottom_rows.hpp"

namespace train {

/// The terminal on standard output; nothing if it is not a terminal.
std::optional<ScreenSize> screen_of_stdout();

/// A text that is shown on standard output repeatedly.
class WatchedText {
 public:
  /// What to write next. On a terminal: always the text, over the previous one, as much as fits on
  /// the screen. Otherwise: the text only if `facts` have changed; they omit elapsed times.
  std::string next(const std::string& text, std::string facts);

 private:
  std::string shown_;
};

/// Whether the reader of standard output is gone.
bool has_no_reader();

}  // namespace train
