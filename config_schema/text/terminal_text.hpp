// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace train {

// How text from outside is shown. There is one rule, `append_escaped`; all others are based on it:
// - lines and sentences of train accept such text only through `TerminalText`;
// - text from a host is quoted by `printable`;
// - JSON has its own escapes for the same characters: `shown_json`, `json_quoted`.
// Escaping twice gives the same result as once. A command that users can paste is made by
// `shell_line` of shell_words.hpp.

/// Appends text from outside (a host, a file, a command line) as one line that cannot control a
/// terminal: control characters (including newlines) and bytes that are not UTF-8 are shown as
/// `\x1b`; C1 control characters, the line and paragraph separators and characters that change the
/// writing direction as `\u202e`. Tabs and all other UTF-8 are kept.
void append_escaped(std::string& text, std::string_view outside);
std::string escaped(std::string_view outside);

/// The number of leading bytes that `append_escaped` leaves unchanged.
std::size_t plain_length(std::string_view outside);

/// `escaped`, but only the beginning and the end of a text of thousands of bytes, so that neither a
/// long value nor a hostile host fills a terminal.
std::string escaped_and_shortened(std::string_view outside);

/// The output of a host or program, to be quoted in a sentence: at most the last `limit` bytes of
/// `text`, on one line with single blanks, and `escaped`.
std::string printable(std::string_view text, std::size_t limit);

/// Types that are shown as digits.
template <class Part>
concept Number = std::floating_point<Part> ||(std::integral<Part> && !std::same_as<Part, char>);

/// Text that may be shown on a terminal: train's own words and lines, and text from outside that
/// was escaped when it was added, so that it can neither control the terminal nor imitate train's
/// lines.
class TerminalText {
 public:
  TerminalText() = default;
  /// A literal: train's own words.
  template <std::size_t size>
  TerminalText(const char (&literal)[size]) : text_(literal, size - 1) {}
  template <std::size_t size>
  TerminalText(char (&)[size]) = delete;
  /// Text from outside, `escaped_and_shortened`.
  explicit TerminalText(std::string_view outside) : text_(escaped_and_shortened(outside)) {}

  TerminalText& operator+=(const TerminalText& more) {
    text_ += more.text_;
    return *this;
  }
  friend TerminalText operator+(TerminalText front, const TerminalText& more) {
    return front += more;
  }
  bool operator==(const TerminalText&) const = default;

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }

 private:
  template <class... Parts>
  friend TerminalText terminal_text(
      fmt::format_string<std::conditional_t<Number<Parts>, Parts, std::string>...> sentence,
      const Parts&... parts);

  std::string text_;
};

/// The form of a part inside a sentence: numbers and `TerminalText` unchanged, other text
/// `escaped_and_shortened`.
inline std::string shown_part(const TerminalText& part) { return part.text(); }
inline std::string shown_part(std::string_view part) { return escaped_and_shortened(part); }
inline auto shown_part(Number auto part) { return part; }

/// A sentence of train (a literal, which may have newlines) about text from outside:
/// `terminal_text("task {}: {}", id, name)`.
template <class... Parts>
TerminalText terminal_text(
    fmt::format_string<std::conditional_t<Number<Parts>, Parts, std::string>...> sentence,
    const Parts&... parts) {
  TerminalText shown;
  shown.text_ = fmt::format(sentence, shown_part(parts)...);
  return shown;
}

/// JSON with terminal control characters written as `\u009b`: the same data. Newlines between
/// values are kept.
std::string shown_json(std::string json);

/// A string in JSON's quotes. Bytes that are not UTF-8 become U+FFFD, because JSON has no bytes.
std::string json_quoted(std::string_view text);

}  // namespace train
