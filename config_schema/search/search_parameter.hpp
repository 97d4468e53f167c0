// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace train {

struct SearchParameter;
/// Hyperparameters by name, in byte order: all walks use this order.
using SearchGroup = std::map<std::string, SearchParameter>;

/// How the value of a hyperparameter is chosen. Values are JSON, each on one line.
namespace parameter {
/// One value.
struct Constant {
  std::string value;

  bool operator==(const Constant&) const = default;
};
/// int, randint: both ends included.
struct WholeRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::optional<std::int64_t> count = {};  ///< number of values in a grid, >= 1

  bool operator==(const WholeRange&) const = default;
};
/// double, uniform; log: the range of the exponent. The ends and their distance are finite.
struct Range {
  double low = 0;
  double high = 0;
  std::optional<double> base = {};  ///< above 0
  std::optional<std::int64_t> count = {};

  bool operator==(const Range&) const = default;
};
/// loguniform: the range of the logarithm.
struct LogRange {
  double low = 0;
  double high = 0;

  bool operator==(const LogRange&) const = default;
};
/// quniform: multiples of `step`, from the lowest to the highest one of the range.
struct StepRange {
  double low = 0;
  double high = 0;
  double step = 1;

  bool operator==(const StepRange&) const = default;
};
struct Normal {
  double mean = 0;
  double deviation = 1;

  bool operator==(const Normal&) const = default;
};
/// categorical, choice: one of these; never empty.
struct Choice {
  std::vector<std::string> values;

  bool operator==(const Choice&) const = default;
};
/// grid_search: all of these; never empty.
struct GridSearch {
  std::vector<std::string> values;

  bool operator==(const GridSearch&) const = default;
};
/// A nested group of hyperparameters.
struct Group {
  SearchGroup members;

  bool operator==(const Group& other) const;
};
}  // namespace parameter

/// One hyperparameter of a search.
struct SearchParameter {
  std::variant<parameter::Constant, parameter::WholeRange, parameter::Range, parameter::LogRange,
               parameter::StepRange, parameter::Normal, parameter::Choice, parameter::GridSearch,
               parameter::Group>
      kind;

  /// Whether its value is sampled.
  bool is_drawn() const {
    return !std::holds_alternative<parameter::Constant>(kind) &&
           !std::holds_alternative<parameter::GridSearch>(kind) &&
           !std::holds_alternative<parameter::Group>(kind);
  }
  bool operator==(const SearchParameter&) const = default;
};

/// The number of values of a parameter (not a group) in Determined's grid: all of a list, one for a
/// constant, `count` for a range, but for whole numbers at most as many as the range has. Nothing:
/// not given, or a parameter of Tune's.
std::optional<std::int64_t> grid_values(const SearchParameter& parameter);
/// Points of Determined's grid: the product of the numbers of values of all parameters, where an
/// unknown number counts as one. Nothing: more than 2^63 - 1.
std::optional<std::int64_t> grid_points(const SearchGroup& group);
/// Points of Ray Tune's grid_search: the product of its lists' lengths, 1 if there is none.
/// Nothing: more than 2^63 - 1.
std::optional<std::int64_t> tune_points(const SearchGroup& group);

}  // namespace train
