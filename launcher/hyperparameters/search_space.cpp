// SPDX-License-Identifier: Apache-2.0
#include "launcher/hyperparameters/search_space.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "config_schema/text/terminal_text.hpp"
#include "config_schema/yaml/yaml_writer.hpp"

namespace train {

namespace {

using parameter::Choice;
using parameter::Constant;
using parameter::GridSearch;
using parameter::Group;
using parameter::LogRange;
using parameter::Normal;
using parameter::Range;
using parameter::StepRange;
using parameter::WholeRange;

// Rounds halves to even, independent of the rounding mode of the process.
double nearest_even(double value) {
  const double below = std::floor(value);
  const double rest = value - below;
  if (rest != 0.5) return rest < 0.5 ? below : below + 1;
  return std::fmod(below, 2.0) == 0 ? below : below + 1;
}

// A group as a JSON object, with the result of `value_of` for each parameter.
template <class ValueOf>
std::string object_of(const SearchGroup& group, const ValueOf& value_of) {
  std::string object = "{";
  for (const auto& [name, member] : group) {
    if (object.size() > 1) object += ", ";
    object += json_quoted(name) + ": ";
    object += value_of(member);
  }
  return object + '}';
}

// A random sample.
class Draw {
 public:
  Draw(SearchRandom& random, std::int64_t tune_point) : random_(random), point_(tune_point) {}

  std::string of(const SearchGroup& group) {
    return object_of(group, [this](const SearchParameter& parameter) {
      return std::visit([this](const auto& kind) { return this->of(kind); }, parameter.kind);
    });
  }

 private:
  static std::string of(const Constant& constant) { return constant.value; }
  std::string of(const WholeRange& range) {
    // Unsigned: the distance of the ends may overflow a signed number.
    const auto low = static_cast<std::uint64_t>(range.low);
    const std::uint64_t drawn = random_.whole(static_cast<std::uint64_t>(range.high) - low);
    return fmt::format("{}", static_cast<std::int64_t>(low + drawn));
  }
  std::string of(const Range& range) {
    const double drawn = random_.uniform(range.low, range.high);
    return json_real(range.base ? std::pow(*range.base, drawn) : drawn);
  }
  std::string of(const LogRange& range) {
    return json_real(std::exp(random_.uniform(range.low, range.high)));
  }
  std::string of(const StepRange& range) {
    const double drawn = random_.uniform(range.low, range.high);
    return json_real(nearest_even(drawn / range.step) * range.step);
  }
  std::string of(const Normal& normal) {
    return json_real(normal.mean + normal.deviation * random_.normal());
  }
  std::string of(const Choice& choice) {
    return choice.values[random_.whole(choice.values.size() - 1)];
  }
  std::string of(const GridSearch& grid) {
    const auto size = static_cast<std::int64_t>(grid.values.size());
    const auto index = static_cast<std::size_t>(point_ % size);
    point_ /= size;
    return grid.values[index];
  }
  std::string of(const Group& group) { return of(group.members); }

  SearchRandom& random_;
  std::int64_t point_;
};

double evenly(double low, double high, std::int64_t index, std::int64_t size) {
  if (size == 1) return low / 2 + high / 2;  // their sum may overflow
  return low + static_cast<double>(index) * (high - low) / static_cast<double>(size - 1);
}

// Not every 64-bit whole number is a double: the ends are exact, and values between them are kept
// within them.
std::int64_t whole_between(const WholeRange& range, std::int64_t index, std::int64_t size) {
  if (size > 1 && index == 0) return range.low;
  if (size > 1 && index == size - 1) return range.high;
  const auto low = static_cast<double>(range.low);
  const auto high = static_cast<double>(range.high);
  const double value = std::round(evenly(low, high, index, size));
  if (value <= low) return range.low;
  if (value >= high) return range.high;
  return static_cast<std::int64_t>(value);
}

std::string axis_value(const SearchParameter& parameter, std::int64_t index, std::int64_t size) {
  if (const auto* choice = std::get_if<Choice>(&parameter.kind))
    return choice->values[static_cast<std::size_t>(index)];
  if (const auto* range = std::get_if<Range>(&parameter.kind)) {
    const double value = evenly(range->low, range->high, index, size);
    return json_real(range->base ? std::pow(*range->base, value) : value);
  }
  if (const auto* whole = std::get_if<WholeRange>(&parameter.kind))
    return fmt::format("{}", whole_between(*whole, index, size));
  return std::get<Constant>(parameter.kind).value;
}

std::int64_t points_of(const SearchParameter& parameter) {
  const auto* inner = std::get_if<Group>(&parameter.kind);
  return (inner ? train::grid_points(inner->members) : grid_values(parameter)).value_or(1);
}

std::string point_of(const SearchGroup& group, std::int64_t position) {
  // Later names vary faster.
  std::int64_t behind = train::grid_points(group).value_or(1);
  return object_of(group, [&](const SearchParameter& member) {
    const std::int64_t size = points_of(member);
    behind /= size;
    const std::int64_t index = position / behind % size;
    if (const auto* inner = std::get_if<Group>(&member.kind))
      return point_of(inner->members, index);
    return axis_value(member, index, size);
  });
}

// Calls `visit(path, parameter)` for every parameter that is not a group, in order.
template <class Visit>
void walk(const SearchGroup& group, const std::string& path, const Visit& visit) {
  for (const auto& [name, member] : group) {
    std::string here = path;
    here.append(1, '.').append(name);
    if (const auto* inner = std::get_if<Group>(&member.kind))
      walk(inner->members, here, visit);
    else
      visit(here, member);
  }
}

tl::unexpected<Error> too_many() {
  return fail(ErrorClass::config, "the grid has more points than 64 bits can count",
              "take fewer values of each hyperparameter");
}

}  // namespace

bool SearchSpace::has_draws() const {
  bool has_draws = false;
  walk(*group_, "", [&](const std::string&, const SearchParameter& parameter) {
    has_draws = has_draws || parameter.is_drawn();
  });
  return has_draws;
}

std::string SearchSpace::draw(SearchRandom& random, std::int64_t tune_point) const {
  return Draw(random, tune_point).of(*group_);
}

Result<std::int64_t> SearchSpace::tune_points() const {
  const auto points = train::tune_points(*group_);
  if (!points) return too_many();
  return *points;
}

Result<std::int64_t> SearchSpace::grid_points() const {
  int axes = 0;
  std::string uncounted;
  walk(*group_, "hyperparameters", [&](const std::string& path, const SearchParameter& parameter) {
    ++axes;
    if (!grid_values(parameter) && uncounted.empty()) uncounted = path;
  });
  if (axes == 0)
    return fail(ErrorClass::config, "a grid search without hyperparameters has no point",
                "add hyperparameters, or write 'name: single'");
  if (!uncounted.empty())
    return fail(ErrorClass::config, fmt::format("'{}' has no 'count'", uncounted),
                "say how many values a grid search takes of the range");
  const auto points = train::grid_points(*group_);
  if (!points) return too_many();
  return *points;
}

std::string SearchSpace::grid_point(std::int64_t position) const {
  return point_of(*group_, position);
}

}  // namespace train
