// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace train {

/// Splits bytes that come in pieces of any size into lines. Each byte is searched only once,
/// however small the pieces are.
class LineBuffer {
 public:
  void feed(std::string_view bytes) {
    text_.erase(0, begin_);
    searched_ -= begin_;
    begin_ = 0;
    text_ += bytes;
  }
  /// The next complete line, without its newline; valid until the next `feed`.
  std::optional<std::string_view> next() {
    const std::size_t end = text_.find('\n', searched_);
    if (end == text_.npos) {
      searched_ = text_.size();
      return std::nullopt;
    }
    const std::string_view line = std::string_view(text_).substr(begin_, end - begin_);
    begin_ = searched_ = end + 1;
    return line;
  }
  /// The incomplete line, once `next` has nothing more.
  std::string_view rest() const { return std::string_view(text_).substr(begin_); }

 private:
  std::string text_;
  std::size_t begin_ = 0;     ///< start of the next line
  std::size_t searched_ = 0;  ///< no newline of that line is before this position
};

}  // namespace train
