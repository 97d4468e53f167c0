// SPDX-License-Identifier: Apache-2.0
#include "config_schema/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace train {

std::string_view to_string(ErrorClass error_class) {
  switch (error_class) {
    case ErrorClass::usage:
      return "usage";
    case ErrorClass::no_input:
      return "no_input";
    case ErrorClass::never:
      return "never";
    case ErrorClass::bug:
      return "bug";
    case ErrorClass::missing:
      return "missing";
    case ErrorClass::busy:
      return "busy";
    case ErrorClass::host:
      return "host";
    case ErrorClass::config:
      return "config";
    case ErrorClass::hosts:
      return "hosts";
    case ErrorClass::worker:
      return "worker";
    case ErrorClass::interrupted:
      return "interrupted";
  }
  return "bug";
}

Error make_error(ErrorClass error_class, std::string message, std::string hint) {
  return {error_class,
          {{.place = {}, .key = {}, .message = std::move(message), .hint = std::move(hint)}}};
}

tl::unexpected<Error> fail(ErrorClass error_class, std::string message, std::string hint) {
  return tl::make_unexpected(make_error(error_class, std::move(message), std::move(hint)));
}

Error with_context(Error error, std::string_view context) {
  for (Diagnostic& diagnostic : error.diagnostics)
    diagnostic.message = fmt::format("{}: {}", context, diagnostic.message);
  return error;
}

namespace {

// What a user wrote, or a host sent, may hold bytes that steer a terminal: `\x1b`. A line end is
// part of some texts.
std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool is_second = byte == 0xc2 && next >= 0x80 && next < 0xa0;  // U+0080 to U+009F
    if (is_second) {
      shown += fmt::format("\\u{:04x}", next);
      ++i;
    } else if ((byte < 0x20 && byte != '\t' && byte != '\n') || byte == 0x7f) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown += text[i];
    }
  }
  return shown;
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// A message may quote a value of megabytes; its begin and its end say what it is about.
std::string shortened(std::string text) {
  constexpr std::size_t longest = 3000;
  constexpr std::size_t kept_end = 800;
  if (text.size() <= longest) return text;
  std::size_t begin = longest - kept_end;
  std::size_t end = text.size() - kept_end;
  while (begin > 0 && is_continuation(text[begin])) --begin;
  while (end < text.size() && is_continuation(text[end])) ++end;
  return text.substr(0, begin) + " ... " + text.substr(end);
}

std::string shown(std::string_view text) { return shortened(printable(text)); }

// A flag, or a variable ("$PATH"), is one line: its number would say nothing.
bool is_one_line(const Place& place) {
  // "-" alone is standard input.
  return place.source.size() > 1 && (place.source.front() == '-' || place.source.front() == '$');
}

std::string render_place(const Place& place) {
  if (place.source.empty()) return {};
  if (place.line == 0 || is_one_line(place)) return fmt::format("{}: ", place.source);
  if (place.column == 0) return fmt::format("{}:{}: ", place.source, place.line);
  return fmt::format("{}:{}:{}: ", place.source, place.line, place.column);
}

std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> characters;
  for (const char c : text) {
    if (is_continuation(c) && !characters.empty())
      characters.back() += c;
    else
      characters.emplace_back(1, c);
  }
  // One sign for each, so that the caret stays where it belongs.
  for (std::string& character : characters)
    if (character != "\t" && (character == "\n" || printable(character) != character))
      character = "?";
  return characters;
}

// The caret stands under the column; tabs of the line are kept so that both lines indent alike. Of
// a long line only what is around the column is shown.
std::string render_caret(const Place& place) {
  constexpr std::size_t longest = 100;
  constexpr std::size_t before = 60;
  const std::vector<std::string> characters = characters_of(place.text);
  const auto column = static_cast<std::size_t>(place.column - 1);
  const bool is_long = characters.size() > longest;
  const std::size_t begin = is_long && column > before ? column - before : 0;
  const std::size_t end =
      std::min(characters.size(), is_long ? begin + longest : std::string::npos);
  std::string line = begin > 0 ? "..." : "";
  std::string caret = begin > 0 ? "   " : "";
  for (std::size_t i = begin; i < end; ++i) line += characters[i];
  if (end < characters.size()) line += "...";
  for (std::size_t i = begin; i < column; ++i)
    caret += i < end && characters[i] == "\t" ? '\t' : ' ';
  const std::string number = is_one_line(place) ? "" : std::to_string(place.line);
  const std::string gap(number.size(), ' ');
  const std::string space = number.empty() ? "" : " ";
  return fmt::format("\n  {}{}| {}\n  {}{}| {}^", number, space, line, gap, space, caret);
}

}  // namespace

std::string render(const Diagnostic& diagnostic) {
  std::string text = render_place(diagnostic.place) + shown(diagnostic.message);
  if (diagnostic.place.line > 0 && diagnostic.place.column > 0 && !diagnostic.place.text.empty())
    text += render_caret(diagnostic.place);
  if (!diagnostic.hint.empty()) text += "\n  " + shown(diagnostic.hint);
  return text;
}

std::string render(const Error& error, std::size_t limit) {
  std::string text;
  std::size_t shown = 0;
  for (const Diagnostic& diagnostic : error.diagnostics) {
    if (shown == limit) break;
    if (shown++ > 0) text += '\n';
    text += render(diagnostic);
  }
  if (shown < error.diagnostics.size())
    text += fmt::format("\n... and {} more", error.diagnostics.size() - shown);
  return text;
}

}  // namespace train
