// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// The maximum number of faults that are kept for one input; further ones are only counted.
inline constexpr std::size_t max_faults = 1000;

/// Something legal that this version cannot run: `launch` refuses it.
struct Obstacle {
  Diagnostic diagnostic;
  bool blocks_plan = false;  ///< `plan` refuses it as well

  bool operator==(const Obstacle&) const = default;
};

/// Collects faults and warnings while an input is read.
class Diagnostics {
 public:
  /// Which obstacles are errors: all, those that keep `plan` from planning, or none.
  enum class Refused { all, unplannable, none };
  explicit Diagnostics(Refused refused = Refused::all) : refused_(refused) {}

  void error(Place place, std::string key, std::string message, std::string hint = {});
  void warn(Place place, std::string key, std::string message, std::string hint = {});
  /// Notes a key that is legal and has no effect here.
  void note_idle(Place place, std::string key);

  /// An error if this kind of obstacle is refused, else kept.
  void obstacle(Diagnostic diagnostic, bool blocks_plan);

  /// Adds the errors of another.
  void adopt_errors(Diagnostics other);

  /// Replaces the lines that diagnostics show from a source.
  void show_lines_of(const std::string& source, const std::vector<std::string>& lines);

  bool has_errors() const { return !errors_.empty(); }
  /// Whether there are so many errors that reading further is pointless.
  bool is_full() const { return errors_.size() >= max_faults; }

  /// All errors by line; those of other sources (flags) after those of `main_source`. An error that
  /// is repeated through an alias appears once. Call only if there are errors.
  Error take_error(ErrorClass error_class, const std::string& main_source);
  /// Whether each key without effect gets a warning of its own, or all of a source share one.
  enum class IdleKeys { each, together };
  /// All warnings, in the same order.
  std::vector<Diagnostic> take_warnings(const std::string& main_source,
                                        IdleKeys idle_keys = IdleKeys::each);
  /// All obstacles, in the same order.
  std::vector<Obstacle> take_obstacles(const std::string& main_source);

 private:
  Refused refused_;
  std::vector<Diagnostic> errors_;
  std::vector<Diagnostic> warnings_;
  std::vector<Diagnostic> idle_;
  std::vector<Obstacle> obstacles_;
  std::size_t left_out_ = 0;
};

}  // namespace train
