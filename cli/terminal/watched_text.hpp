// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/terminal/bottom_rows.hpp"

namespace train {

/// The terminal on standard output; nothing where it is none.
std::optional<ScreenSize> screen_of_stdout();

/// A text that is shown on standard output again and again.
class WatchedText {
 public:
  /// What to write next: on a terminal always, over what was written before, as much as it shows at
  /// once; else the text where `facts` are others than before, which leave out how time passes.
  std::string next(const std::string& text, std::string facts);

 private:
  std::string shown_;
};

/// Whether nobody reads standard output any more.
bool has_no_reader();

}  // namespace train
