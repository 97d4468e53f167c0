// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/property.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "config_schema/text/diagnostics.hpp"
#include "config_schema/text/text.hpp"
#include "config_schema/yaml/yaml_node.hpp"

namespace train::fuzz {

namespace {

// Message, hint, and a line with its caret.
constexpr std::size_t most_shown_of_a_diagnostic = 8000;
constexpr std::size_t diagnostics_shown = 20;

// Sanitizers make everything several times slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
constexpr std::clock_t most_seconds = 5;
#else
constexpr std::clock_t most_seconds = 1;
#endif

std::string as_data(const Diagnostic& diagnostic) {
  const Place& place = diagnostic.place;
  return fmt::format("{}:{}:{} | {} | {} | {} | {}", place.source, place.line, place.column,
                     place.text, diagnostic.key, diagnostic.message, diagnostic.hint);
}

// Stars stand for secrets; of a text that cannot be read and may hold one no line is shown.
bool shows(const std::string& shown, const std::string& line) {
  if (shown.empty()) return true;
  const auto stars = std::count(shown.begin(), shown.end(), '*');
  return shown == line || (stars > 0 && count_characters(shown) == count_characters(line));
}

bool fits(const Place& place, const NamedText& text) {
  // A flag or a variable is shown as it is.
  const bool is_flag = text.name.front() == '-' || text.name.front() == '$';
  const std::vector<std::string> lines =
      split_lines(is_flag ? text.text : normalize_text(text.text));
  // The end of a text is where the line after its last would be.
  const bool is_end = static_cast<std::size_t>(place.line) == lines.size() + 1;
  if (is_end) return place.column <= 1 && place.text.empty();
  if (place.line < 1 || static_cast<std::size_t>(place.line) > lines.size()) return false;
  const std::string& line = lines[static_cast<std::size_t>(place.line - 1)];
  if (place.column < 0 || place.column > count_characters(line) + 1) return false;
  if (place.column == 0 || line.size() > max_shown_line) return place.text.empty();
  return shows(place.text, line);
}

bool points_into(const Place& place, const std::vector<NamedText>& texts) {
  const bool says_where = place.line != 0 || place.column != 0 || !place.text.empty();
  if (!says_where && place.source.empty()) return true;
  return std::any_of(texts.begin(), texts.end(), [&](const NamedText& text) {
    return text.name == place.source && (!says_where || fits(place, text));
  });
}

bool steers_terminal(const std::string& text) {
  const auto lines = split(text, '\n');
  return std::any_of(lines.begin(), lines.end(),
                     [](std::string_view line) { return plain_length(line) != line.size(); });
}

void check(const Diagnostic& diagnostic, const std::vector<NamedText>& texts) {
  require(!diagnostic.message.empty(), "a diagnostic says something", as_data(diagnostic));
  require(points_into(diagnostic.place, texts), "a place is in a text", as_data(diagnostic));
  const std::string shown = render(diagnostic);
  require(shown.size() <= most_shown_of_a_diagnostic, "a diagnostic is shown in bounded space",
          shown);
  require(!steers_terminal(shown), "what is shown steers no terminal", shown);
}

}  // namespace

void require(bool holds, std::string_view property, std::string_view about) {
  if (holds) return;
  const std::string line = fmt::format("does not hold: {}\n{}\n", property, about);
  std::fputs(line.c_str(), stderr);
  std::abort();
}

void check_diagnostics(const std::vector<Diagnostic>& diagnostics,
                       const std::vector<NamedText>& texts) {
  require(diagnostics.size() <= max_faults + 1, "there are not too many diagnostics");
  for (const Diagnostic& diagnostic : diagnostics) check(diagnostic, texts);
}

void check_error(const Error& error, ErrorClass expected, const std::vector<NamedText>& texts) {
  require(error.error_class == expected || error.error_class == ErrorClass::usage,
          "an error has the class of its input", to_string(error.error_class));
  require(!error.diagnostics.empty(), "an error has diagnostics");
  check_diagnostics(error.diagnostics, texts);
  require(render(error).size() <= (diagnostics_shown + 1) * most_shown_of_a_diagnostic,
          "an error is shown in bounded space");
}

CpuLimit::~CpuLimit() {
  require(std::clock() - begin_ < most_seconds * CLOCKS_PER_SEC, "an input is read in time");
}

}  // namespace train::fuzz
