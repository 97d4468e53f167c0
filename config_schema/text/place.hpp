// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace train {

/// A text that a user wrote, with its name for messages. The caller has read the file: no file is
/// opened here.
struct SourceText {
  std::string name;  ///< file name as given, or the flag the text came from ("-H")
  std::string text;
};

/// Longer lines are not shown, because every place keeps a copy of its line.
inline constexpr std::size_t max_shown_line = 4096;

/// A place in a text that the user wrote. Lines and columns count from 1; 0 means "not known".
struct Place {
  /// File name as the user wrote it, or the flag ("--set", "-H"), or "$VARIABLE".
  std::string source;
  int line = 0;
  int column = 0;
  std::string text;  ///< the line itself, for the caret; may be empty

  bool operator==(const Place&) const = default;
};

/// The place of another value in a message: "on line 3", or "from --set" for a flag.
std::string line_or_flag(const Place& place);

/// Finds the lines and columns of byte offsets of one text. For ascending offsets all calls
/// together take one pass, however long the text or its lines are.
class PlaceCursor {
 public:
  /// `text` must live as long as the cursor.
  PlaceCursor(std::string source, std::string_view text)
      : source_(std::move(source)), text_(text) {}

  /// The place of byte `offset`, without the text of its line.
  Place at(std::size_t offset);
  /// The same with the text of its line, unless that is too long to be shown.
  Place shown_at(std::size_t offset);
  /// The line of the last place.
  std::string_view line();

 private:
  std::string source_;
  std::string_view text_;
  std::size_t offset_ = 0;  ///< of the last place, which is at line_ and column_
  std::size_t line_begin_ = 0;
  std::optional<std::size_t> line_end_;  ///< once it was searched for
  int line_ = 1;
  int column_ = 1;
};

}  // namespace train
