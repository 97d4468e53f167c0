// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "config_schema/text/error.hpp"

namespace train {

/// Lines and columns of one text. Asked for in rising order, all of them cost one pass, however
/// long the text or one of its lines is.
class PlaceCursor {
 public:
  /// `text` must live as long as the cursor.
  PlaceCursor(std::string source, std::string_view text)
      : source_(std::move(source)), text_(text) {}

  /// Where byte `offset` is, without the text of its line.
  Place at(std::size_t offset);
  /// The same with the text of its line, unless that is too long to be shown.
  Place shown_at(std::size_t offset);
  /// The line of the last place.
  std::string_view line();

 private:
  std::string source_;
  std::string_view text_;
  std::size_t offset_ = 0;  ///< of the last place, and its line and column
  std::size_t line_begin_ = 0;
  std::optional<std::size_t> line_end_;  ///< once it was looked for
  int line_ = 1;
  int column_ = 1;
};

}  // namespace train
