// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace train {

/// Lines out of bytes that come in pieces of any size. However small they are, each byte is looked
/// at once.
class LineBuffer {
 public:
  void feed(std::string_view bytes) {
    text_.erase(0, begin_);
    searched_ -= begin_;
    begin_ = 0;
    text_ += bytes;
  }
  /// The next line that has ended, without its end; valid until the next `feed`.
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
  /// What has no end yet, once `next` has nothing more.
  std::string_view rest() const { return std::string_view(text_).substr(begin_); }

 private:
  std::string text_;
  std::size_t begin_ = 0;     ///< of the line that comes next
  std::size_t searched_ = 0;  ///< before it there is no end of that line
};

}  // namespace train
