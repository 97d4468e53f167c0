// SPDX-License-Identifier: Apache-2.0
#include "config_schema/search/search_parameter.hpp"

namespace train {

namespace {

using parameter::Choice;
using parameter::Constant;
using parameter::GridSearch;
using parameter::Group;
using parameter::Range;
using parameter::WholeRange;

// The product of `values_of` over all parameters that are not groups.
template <class Values>
std::optional<std::int64_t> product(const SearchGroup& group, const Values& values_of) {
  std::int64_t points = 1;
  for (const auto& [name, member] : group) {
    const auto* inner = std::get_if<Group>(&member.kind);
    const auto values =
        inner ? product(inner->members, values_of) : std::optional<std::int64_t>(values_of(member));
    if (!values || __builtin_mul_overflow(points, *values, &points)) return std::nullopt;
  }
  return points;
}

}  // namespace

bool parameter::Group::operator==(const Group& other) const { return members == other.members; }

std::optional<std::int64_t> grid_values(const SearchParameter& parameter) {
  if (const auto* choice = std::get_if<Choice>(&parameter.kind))
    return static_cast<std::int64_t>(choice->values.size());
  if (const auto* range = std::get_if<Range>(&parameter.kind)) return range->count;
  if (const auto* whole = std::get_if<WholeRange>(&parameter.kind)) {
    if (!whole->count) return std::nullopt;
    // Unsigned: the distance of the ends may overflow a signed number.
    const std::uint64_t distance =
        static_cast<std::uint64_t>(whole->high) - static_cast<std::uint64_t>(whole->low);
    const bool has_all = static_cast<std::uint64_t>(*whole->count) > distance;
    return has_all ? static_cast<std::int64_t>(distance + 1) : *whole->count;
  }
  if (std::holds_alternative<Constant>(parameter.kind)) return 1;
  return std::nullopt;
}

std::optional<std::int64_t> grid_points(const SearchGroup& group) {
  return product(group, [](const SearchParameter& each) { return grid_values(each).value_or(1); });
}

std::optional<std::int64_t> tune_points(const SearchGroup& group) {
  return product(group, [](const SearchParameter& each) -> std::int64_t {
    const auto* grid = std::get_if<GridSearch>(&each.kind);
    return grid ? static_cast<std::int64_t>(grid->values.size()) : 1;
  });
}

}  // namespace train
