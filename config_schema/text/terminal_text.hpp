// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace train {

// How text from outside is shown. There is one rule, that of `append_escaped`; all others go by it:
// - lines and sentences of ours take it through `TerminalText`, which cannot be made without;
// - what a host said is quoted by `printable`;
// - JSON says the same characters in its own way: `shown_json`, `json_quoted`.
// Escaping twice is the same as once. A command that people can paste is `shell_line` of
// shell_words.hpp.

/// Appends text that came from outside (a host, a file, a command line) as one line that cannot
/// control a terminal: control characters, line ends among them, and bytes that are no UTF-8 are
/// shown as `\x1b`; C1 control characters, the line and paragraph separators and what changes the
/// direction of writing as `\u202e`. Tabs and all other UTF-8 stay.
void append_escaped(std::string& text, std::string_view outside);
std::string escaped(std::string_view outside);

/// How many bytes at the front `append_escaped` leaves as they are.
std::size_t plain_length(std::string_view outside);

/// `escaped`, and of a text of thousands of bytes only the beginning and the end, so that neither a
/// long value nor a hostile host fills a terminal.
std::string escaped_and_shortened(std::string_view outside);

/// What a host or a program said, to be quoted in a sentence: the last `limit` bytes of `text` at
/// most, on one line with single blanks, and `escaped`.
std::string printable(std::string_view text, std::size_t limit);

/// What is shown as digits.
template <class Part>
concept Number = std::floating_point<Part> ||(std::integral<Part> && !std::same_as<Part, char>);

/// Text that may be shown on a terminal: our own words and lines, and text from outside that was
/// escaped when it was put in, so that it can neither control the terminal nor look like our lines.
class TerminalText {
 public:
  TerminalText() = default;
  /// A literal: our own words.
  template <std::size_t size>
  TerminalText(const char (&literal)[size]) : text_(literal, size - 1) {}
  template <std::size_t size>
  TerminalText(char (&)[size]) = delete;
  /// What came from outside, `escaped_and_shortened`.
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

/// A part of a sentence as it is put in: numbers, and `TerminalText`, as they are, other text
/// `escaped_and_shortened`.
inline std::string shown_part(const TerminalText& part) { return part.text(); }
inline std::string shown_part(std::string_view part) { return escaped_and_shortened(part); }
inline auto shown_part(Number auto part) { return part; }

/// A sentence of ours (a literal, whose line ends count) about what came from outside:
/// `terminal_text("task {}: {}", id, name)`.
template <class... Parts>
TerminalText terminal_text(
    fmt::format_string<std::conditional_t<Number<Parts>, Parts, std::string>...> sentence,
    const Parts&... parts) {
  TerminalText shown;
  shown.text_ = fmt::format(sentence, shown_part(parts)...);
  return shown;
}

/// JSON with the characters that would control a terminal as `\u009b`: the same data. Line ends
/// between values stay.
std::string shown_json(std::string json);

/// A string in JSON's quotes. For each byte that is no UTF-8 there is U+FFFD: JSON has no bytes.
std::string json_quoted(std::string_view text);

}  // namespace train
