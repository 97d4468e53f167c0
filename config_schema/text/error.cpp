// SPDX-License-Identifier: Apache-2.0
#include "config_schema/text/error.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config_schema/text/text.hpp"

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
    case ErrorClass::timeout:
      return "timeout";
    case ErrorClass::hang:
      return "hang";
    case ErrorClass::no_progress:
      return "no_progress";
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

Error with_hints(Error error, std::vector<std::string> hints) {
  Diagnostic& first = error.diagnostics.front();
  first.hint.clear();
  first.more_hints = std::move(hints);
  if (first.more_hints.empty()) return error;
  first.hint = std::move(first.more_hints.front());
  first.more_hints.erase(first.more_hints.begin());
  return error;
}

Error with_context(Error error, std::string_view context) {
  for (Diagnostic& diagnostic : error.diagnostics)
    diagnostic.message = fmt::format("{}: {}", context, diagnostic.message);
  return error;
}

namespace {

// A flag, or a variable ("$PATH"), is one line, so a line number is useless.
bool is_one_line(const Place& place) {
  // "-" alone is standard input.
  return place.source.size() > 1 && (place.source.front() == '-' || place.source.front() == '$');
}

TerminalText text_of_place(const Place& place) {
  if (place.source.empty()) return {};
  if (place.line == 0 || is_one_line(place)) return terminal_text("{}: ", place.source);
  if (place.column == 0) return terminal_text("{}:{}: ", place.source, place.line);
  return terminal_text("{}:{}:{}: ", place.source, place.line, place.column);
}

std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> characters;
  for (const char c : text) {
    if (is_continuation(c) && !characters.empty())
      characters.back() += c;
    else
      characters.emplace_back(1, c);
  }
  // One column for each, so that the caret stays in place.
  for (std::string& character : characters)
    if (plain_length(character) != character.size()) character = "?";
  return characters;
}

// Puts the caret under the column; keeps tabs of the line so that both lines indent alike. Of a
// long line, only the part around the column is shown.
TerminalText text_of_caret(const Place& place) {
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
  return terminal_text("\n  {}{}| {}\n  {}{}| {}^", number, space, line, gap, space, caret);
}

}  // namespace

TerminalText terminal_text(const Diagnostic& diagnostic) {
  TerminalText text = text_of_place(diagnostic.place) + TerminalText(diagnostic.message);
  if (diagnostic.place.line > 0 && diagnostic.place.column > 0 && !diagnostic.place.text.empty())
    text += text_of_caret(diagnostic.place);
  if (!diagnostic.hint.empty()) text += terminal_text("\n  {}", diagnostic.hint);
  for (const std::string& hint : diagnostic.more_hints) text += terminal_text("\n  {}", hint);
  return text;
}

TerminalText terminal_text(const Error& error, std::size_t limit) {
  TerminalText text;
  std::size_t shown = 0;
  for (const Diagnostic& diagnostic : error.diagnostics) {
    if (shown == limit) break;
    if (shown++ > 0) text += "\n";
    text += terminal_text(diagnostic);
  }
  if (shown < error.diagnostics.size())
    text += terminal_text("\n... and {} more", error.diagnostics.size() - shown);
  return text;
}

std::string render(const Diagnostic& diagnostic) { return terminal_text(diagnostic).text(); }

std::string render(const Error& error, std::size_t limit) {
  return terminal_text(error, limit).text();
}

std::string in_one_line(const Error& error) {
  std::string text;
  for (const Diagnostic& diagnostic : error.diagnostics) {
    text += (text.empty() ? "" : "; ") + diagnostic.message;
    if (!diagnostic.hint.empty()) text += "; " + diagnostic.hint;
    for (const std::string& hint : diagnostic.more_hints) text += "; " + hint;
  }
  return text;
}

}  // namespace train
