// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/report_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "config_schema/text/terminal_text.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/output/metrics_watch.hpp"

namespace train {

namespace {

std::size_t digits(std::string_view& text) {
  const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(count);
  return count;
}

bool take(std::string_view& text, std::string_view one_of) {
  if (text.empty() || one_of.find(text.front()) == one_of.npos) return false;
  text.remove_prefix(1);
  return true;
}

// A number in JSON syntax (RFC 8259, 6) that a double can hold.
bool is_number(std::string_view text) {
  const double value = std::strtod(std::string(text).c_str(), nullptr);
  if (!std::isfinite(value)) return false;
  take(text, "-");
  const bool begins_with_zero = text.starts_with('0');
  const std::size_t whole = digits(text);
  if (whole == 0 || (begins_with_zero && whole > 1)) return false;
  if (take(text, ".") && digits(text) == 0) return false;
  if (take(text, "eE")) {
    take(text, "+-");
    if (digits(text) == 0) return false;
  }
  return text.empty();
}

// Numbers that JSON lacks, as Python writes them.
std::optional<std::string> foreign_number(std::string text) {
  text = to_lower(text);
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.erase(0, 1);
  if (text == "nan") return "NaN";
  if (text == "inf" || text == "infinity") return is_negative ? "-Infinity" : "Infinity";
  return std::nullopt;
}

tl::unexpected<Error> no_report(std::string what, std::string hint) {
  return fail(ErrorClass::usage, std::move(what), std::move(hint));
}

}  // namespace

std::string report_value(const std::string& value) {
  if (const auto number = foreign_number(value)) return *number;
  const bool is_word = value == "true" || value == "false" || value == "null";
  return is_word || is_number(value) ? value : json_quoted(value);
}

Result<std::string> report_line(const std::vector<std::string>& words,
                                const std::optional<std::string>& step) {
  if (words.empty())
    return no_report("there is nothing to report", "train report validation_loss=0.3 --step 100");
  std::string line = "{";
  std::vector<std::string> names;
  if (step) {
    if (!is_number(*step))
      return no_report(fmt::format("--step: '{}' is no number", *step), "write --step 100");
    names.emplace_back("step");
    line += "\"step\": " + *step;
  }
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == word.npos || equals == 0)
      return no_report(fmt::format("'{}' is no NAME=VALUE", word),
                       "train report validation_loss=0.3 --step 100");
    const std::string name = word.substr(0, equals);
    if (std::find(names.begin(), names.end(), name) != names.end())
      return no_report(fmt::format("'{}' is given twice", name), "each name has one value");
    names.push_back(name);
    if (line.size() > 1) line += ", ";
    line += json_quoted(name) + ": ";
    line += report_value(word.substr(equals + 1));
  }
  line += "}\n";
  if (line.size() > longest_report_line + 1)
    return no_report(
        fmt::format("a report of {} bytes is longer than {}", line.size(), longest_report_line),
        "report numbers, and keep what is larger in files");
  return line;
}

}  // namespace train
