// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace train {

/// Splits one stream of a rank's output into lines. Holds at most one line of bounded length: a
/// longer one is passed on in pieces.
class LineSplitter {
 public:
  static constexpr std::size_t longest_line = 16u << 10;

  /// Calls `on_line(std::string_view)` for every line that `bytes` completes, without its newline.
  template <class OnLine>
  void add(std::string_view bytes, OnLine on_line) {
    while (!bytes.empty()) {
      const std::size_t newline = bytes.substr(0, longest_line - rest_.size() + 1).find('\n');
      if (newline == std::string_view::npos && rest_.size() + bytes.size() <= longest_line) break;
      const bool is_whole = newline != std::string_view::npos;
      const std::string_view line =
          bytes.substr(0, is_whole ? newline : longest_line - rest_.size());
      bytes.remove_prefix(line.size() + (is_whole ? 1 : 0));
      // A line that came in one piece is not copied.
      if (rest_.empty()) {
        on_line(line);
        continue;
      }
      rest_ += line;
      on_line(std::string_view(rest_));
      rest_.clear();
    }
    rest_ += bytes;
  }
  /// The same for the rest without a newline when the stream ends.
  template <class OnLine>
  void end(OnLine on_line) {
    if (!rest_.empty()) on_line(std::string_view(rest_));
    rest_.clear();
  }
  /// The line that is not complete yet.
  std::string_view rest() const { return rest_; }

 private:
  std::string rest_;
};

/// Appends a line of a rank as a terminal would show it: text that a carriage return overwrote is
/// removed (progress bars print one line over and over), and the rest is escaped like all text from
/// outside (config_schema/text/terminal_text.hpp).
void append_for_terminal(std::string& text, std::string_view line);
std::string for_terminal(std::string_view line);

/// The last lines of a stream: at most `lines` of them, each cut at 500 bytes.
class Tail {
 public:
  explicit Tail(std::size_t lines) : limit_(lines) {}
  void add(std::string_view line);
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::size_t limit_;
  std::vector<std::string> lines_;
};

}  // namespace train
