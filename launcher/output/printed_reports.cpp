// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/printed_reports.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>

#include "config_schema/text/terminal_text.hpp"
#include "launcher/output/report_line.hpp"

namespace train {

namespace {

constexpr char escape = '\x1b';

bool is_within(char byte, char first, char last) { return byte >= first && byte <= last; }

// The length of the escape sequence at the beginning of a text (ECMA-48): a control sequence,
// "\x1b[0m"; a string, such as a title, up to its end; or one of two or three bytes.
std::size_t escape_length(std::string_view text) {
  std::size_t at = 1;
  if (text.size() == at) return at;
  const char kind = text[at++];
  if (kind == '[') {
    while (at < text.size() && is_within(text[at], ' ', '?')) ++at;
    return at < text.size() ? at + 1 : at;
  }
  constexpr std::string_view begin_strings = "]PX^_";
  if (begin_strings.find(kind) != std::string_view::npos) {
    const std::size_t end = text.find_first_of("\a\x1b", at);
    if (end == std::string_view::npos) return text.size();
    return text[end] == escape ? std::min(end + 2, text.size()) : end + 1;
  }
  while (is_within(kind, ' ', '/') && at < text.size() && is_within(text[at], ' ', '/')) ++at;
  return is_within(kind, ' ', '/') && at < text.size() ? at + 1 : at;
}

std::string without_escapes(std::string_view line) {
  std::string plain;
  while (!line.empty()) {
    const std::size_t begin = std::min(line.find(escape), line.size());
    plain += line.substr(0, begin);
    line.remove_prefix(begin);
    if (!line.empty()) line.remove_prefix(escape_length(line));
  }
  return plain;
}

std::string_view take_digits(std::string_view& text) {
  const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

bool take_one_of(std::string_view& text, std::string_view bytes) {
  if (text.empty() || bytes.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// The number in JSON syntax.
std::optional<std::string> number_of(std::string_view text) {
  std::string number = text.starts_with('-') ? "-" : "";
  (void)take_one_of(text, "+-");
  std::string_view whole = take_digits(text);
  const bool has_point = take_one_of(text, ".");
  const std::string_view fraction = has_point ? take_digits(text) : std::string_view();
  if (whole.empty() && fraction.empty()) return std::nullopt;
  whole.remove_prefix(std::min(whole.find_first_not_of('0'), whole.size()));
  number += whole.empty() ? "0" : whole;
  if (has_point) number.append(".").append(fraction.empty() ? "0" : fraction);
  if (take_one_of(text, "eE")) {
    number += text.starts_with('-') ? "e-" : "e";
    (void)take_one_of(text, "+-");
    const std::string_view exponent = take_digits(text);
    if (exponent.empty()) return std::nullopt;
    number += exponent;
  }
  const bool is_held = text.empty() && std::isfinite(std::strtod(number.c_str(), nullptr));
  return is_held ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string printed_value(std::string_view text) {
  if (auto number = number_of(text)) return *number;
  return report_value(std::string(text));
}

PrintedReports::PrintedReports(const std::vector<std::string>& patterns)
    : patterns_(patterns), is_idle_(patterns.empty()) {}

std::vector<MetricsReport> PrintedReports::look(const OutputChunk& chunk) {
  std::vector<MetricsReport> reports;
  if (is_idle_ || chunk.stream == OutputStream::metrics) return reports;
  // It is not known which stream the missing bytes belong to.
  if (chunk.dropped > 0)
    for (const OutputStream stream : {OutputStream::out, OutputStream::err})
      lines_[{chunk.rank, stream}].is_lost = true;
  Line& line = lines_[{chunk.rank, chunk.stream}];
  std::string_view bytes = chunk.bytes;
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    line.add(bytes.substr(0, newline));
    if (newline == bytes.npos) break;
    end_line(chunk.rank, std::exchange(line, {}), reports);
    bytes.remove_prefix(newline + 1);
  }
  return reports;
}

// Overwritten text is not kept: a progress bar may be one line for hours.
void PrintedReports::Line::add(std::string_view piece) {
  if (piece.empty()) return;
  const std::size_t size = piece.find_last_not_of('\r') + 1;
  const bool ends_returned = size < piece.size();
  piece = piece.substr(0, size);
  const std::size_t overwritten = piece.rfind('\r');
  if (overwritten != piece.npos || (is_returned && !piece.empty())) *this = {};
  if (overwritten != piece.npos) piece.remove_prefix(overwritten + 1);
  is_returned = is_returned || ends_returned;
  is_lost = is_lost || begin.size() + piece.size() > longest_report_line;
  if (is_lost)
    begin.clear();
  else
    begin += piece;
}

void PrintedReports::end_line(int rank, const Line& line,
                              std::vector<MetricsReport>& reports) const {
  if (line.is_lost) return;
  const bool has_escapes = line.begin.find(escape) != std::string::npos;
  const std::string plain = has_escapes ? without_escapes(line.begin) : std::string();
  std::string object = "{";
  std::set<std::string> names;
  for (const auto& [name, text] : patterns_.found_in(has_escapes ? plain : line.begin)) {
    if (!names.insert(name).second) continue;
    object += object.size() > 1 ? ", " : "";
    object += json_quoted(name) + ": " + printed_value(text);
  }
  if (names.empty()) return;
  if (auto metrics = metrics_of_line(object + "}")) reports.push_back({rank, std::move(*metrics)});
}

}  // namespace train
