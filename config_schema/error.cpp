// SPDX-License-Identifier: Apache-2.0
#include "config_schema/error.hpp"

#include <fmt/format.h>

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

std::string render_place(const Place& place) {
  if (place.source.empty()) return {};
  if (place.line == 0) return fmt::format("{}: ", place.source);
  if (place.column == 0) return fmt::format("{}:{}: ", place.source, place.line);
  return fmt::format("{}:{}:{}: ", place.source, place.line, place.column);
}

// The caret stands under the column; tabs of the line are kept so that both lines indent alike.
std::string render_caret(const Place& place) {
  const std::string number = std::to_string(place.line);
  std::string caret;
  for (int i = 0; i + 1 < place.column; ++i) {
    const bool is_tab = i < static_cast<int>(place.text.size()) && place.text[i] == '\t';
    caret += is_tab ? '\t' : ' ';
  }
  return fmt::format("\n  {} | {}\n  {} | {}^", number, place.text, std::string(number.size(), ' '),
                     caret);
}

}  // namespace

std::string render(const Diagnostic& diagnostic) {
  std::string text = render_place(diagnostic.place) + diagnostic.message;
  if (diagnostic.place.line > 0 && diagnostic.place.column > 0 && !diagnostic.place.text.empty())
    text += render_caret(diagnostic.place);
  if (!diagnostic.hint.empty()) text += "\n  " + diagnostic.hint;
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
