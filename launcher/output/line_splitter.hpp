// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace train {

/// Takes what a rank prints on one stream apart into lines. Holds at most one line of bounded
/// length: a longer one is passed on in pieces.
class LineSplitter {
 public:
  static constexpr std::size_t longest_line = 16u << 10;

  /// The lines that `bytes` completes, without their newline.
  std::vector<std::string> add(std::string_view bytes);
  /// What is left when the stream ends: at most one line.
  std::vector<std::string> end();

 private:
  std::string rest_;
};

/// A line as a terminal would show it: what a carriage return overwrote is left out (progress bars
/// print one line over and over), and bytes that would steer the terminal are shown as `\x1b`. Tabs
/// and UTF-8 pass.
std::string for_terminal(std::string_view line);

/// The last lines of a stream, bounded in number and length.
class Tail {
 public:
  explicit Tail(std::size_t lines) : limit_(lines) {}
  void add(std::string line);
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::size_t limit_;
  std::vector<std::string> lines_;
};

}  // namespace train
