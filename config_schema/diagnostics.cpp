// SPDX-License-Identifier: Apache-2.0
#include "config_schema/diagnostics.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_set>

namespace train {

namespace {

std::vector<Diagnostic> in_order(std::vector<Diagnostic> diagnostics,
                                 const std::string& main_source) {
  const auto rank = [&](const Diagnostic& diagnostic) {
    const Place& place = diagnostic.place;
    return std::make_tuple(place.source != main_source, place.line, place.column);
  };
  std::stable_sort(
      diagnostics.begin(), diagnostics.end(),
      [&](const Diagnostic& left, const Diagnostic& right) { return rank(left) < rank(right); });
  std::vector<Diagnostic> unique;
  std::unordered_set<std::string> seen;
  for (Diagnostic& diagnostic : diagnostics) {
    const Place& place = diagnostic.place;
    const std::string identity = place.source + '\n' + std::to_string(place.line) + ':' +
                                 std::to_string(place.column) + ':' + diagnostic.message;
    if (seen.insert(identity).second) unique.push_back(std::move(diagnostic));
  }
  return unique;
}

}  // namespace

void Diagnostics::error(Place place, std::string key, std::string message, std::string hint) {
  if (is_full()) {
    ++left_out_;
    return;
  }
  errors_.push_back({std::move(place), std::move(key), std::move(message), std::move(hint)});
}

void Diagnostics::warn(Place place, std::string key, std::string message, std::string hint) {
  if (warnings_.size() >= max_faults) return;
  warnings_.push_back({std::move(place), std::move(key), std::move(message), std::move(hint)});
}

Error Diagnostics::take_error(ErrorClass error_class, const std::string& main_source) {
  Error error{error_class, in_order(std::move(errors_), main_source)};
  if (left_out_ > 0)
    error.diagnostics.push_back({{main_source, 0, 0, {}},
                                 {},
                                 "there are " + std::to_string(left_out_) + " more faults",
                                 {}});
  return error;
}

std::vector<Diagnostic> Diagnostics::take_warnings(const std::string& main_source) {
  return in_order(std::move(warnings_), main_source);
}

}  // namespace train
