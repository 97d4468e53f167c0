// SPDX-License-Identifier: Apache-2.0
#include "config_schema/text/diagnostics.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_set>

#include "config_schema/text/text.hpp"

namespace train {

namespace {

const Diagnostic& diagnostic_of(const Diagnostic& diagnostic) { return diagnostic; }
const Diagnostic& diagnostic_of(const Obstacle& obstacle) { return obstacle.diagnostic; }

template <class T>
std::vector<T> in_order(std::vector<T> found, const std::string& main_source) {
  const auto rank = [&](const T& one) {
    const Place& place = diagnostic_of(one).place;
    return std::make_tuple(place.source != main_source, place.line, place.column);
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const T& left, const T& right) { return rank(left) < rank(right); });
  std::vector<T> unique;
  std::unordered_set<std::string> seen;
  for (T& one : found) {
    const Place& place = diagnostic_of(one).place;
    const std::string identity = place.source + '\n' + std::to_string(place.line) + ':' +
                                 std::to_string(place.column) + ':' + diagnostic_of(one).message;
    if (seen.insert(identity).second) unique.push_back(std::move(one));
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

void Diagnostics::obstacle(Diagnostic diagnostic, bool blocks_plan) {
  if (refused_ == Refused::all || (refused_ == Refused::unplannable && blocks_plan))
    return error(std::move(diagnostic.place), std::move(diagnostic.key),
                 std::move(diagnostic.message), std::move(diagnostic.hint));
  if (obstacles_.size() >= max_faults) return;
  obstacles_.push_back({std::move(diagnostic), blocks_plan});
}

void Diagnostics::adopt_errors(Diagnostics other) {
  for (Diagnostic& found : other.errors_)
    error(std::move(found.place), std::move(found.key), std::move(found.message),
          std::move(found.hint));
  left_out_ += other.left_out_;
}

void Diagnostics::show_lines_of(const std::string& source, const std::vector<std::string>& lines) {
  const auto show = [&](Place& place) {
    const auto index = static_cast<std::size_t>(place.line) - 1;
    if (place.source == source && !place.text.empty() && index < lines.size())
      place.text = lines[index];
  };
  for (auto* found : {&errors_, &warnings_, &idle_})
    for (Diagnostic& diagnostic : *found) show(diagnostic.place);
  for (Obstacle& obstacle : obstacles_) show(obstacle.diagnostic.place);
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

void Diagnostics::note_idle(Place place, std::string key) {
  if (idle_.size() >= max_faults) return;
  const std::string message = "'" + key + "' has no effect here";
  idle_.push_back({std::move(place), std::move(key), message, {}});
}

std::vector<Diagnostic> Diagnostics::take_warnings(const std::string& main_source,
                                                   IdleKeys idle_keys) {
  std::vector<Diagnostic> idle = in_order(std::move(idle_), main_source);
  if (idle_keys == IdleKeys::each || idle.size() < 2) {
    warnings_.insert(warnings_.end(), idle.begin(), idle.end());
    return in_order(std::move(warnings_), main_source);
  }
  std::vector<Diagnostic> warnings = in_order(std::move(warnings_), main_source);
  Diagnostic all{{main_source, 0, 0, {}}, {}, {}, {}};
  std::vector<std::string> names;
  names.reserve(idle.size());
  for (const Diagnostic& key : idle)
    names.push_back("'" + key.key + "'" +
                    (key.place.source == main_source
                         ? " (line " + std::to_string(key.place.line) + ")"
                         : std::string()));
  all.message = join_words(names) + " have no effect here";
  warnings.push_back(std::move(all));
  return warnings;
}

std::vector<Obstacle> Diagnostics::take_obstacles(const std::string& main_source) {
  return in_order(std::move(obstacles_), main_source);
}

}  // namespace train
