// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/usage_fields.hpp"

#include <nlohmann/json.hpp>

#include "launcher/frames/json_fields.hpp"

namespace train {

using nlohmann::json;

namespace {

// An element of a list, as `number_field` reads an object. Values larger than any rank can use are
// refused, so that calculations with them cannot overflow.
std::int64_t number_at(const json& list, std::size_t index) {
  constexpr std::int64_t highest = std::int64_t{1} << 60;
  const json& number = list[index];
  const bool is_possible = number.is_number_integer() && number.get<std::int64_t>() >= 0 &&
                           number.get<std::uint64_t>() <= std::uint64_t{highest};
  if (!is_possible) throw Malformed{"a rank that uses what it cannot"};
  return number.get<std::int64_t>();
}

}  // namespace

json json_of_usage(const UsageOfRank& used) {
  const RankUsage& usage = used.usage;
  return {used.rank, usage.cpu.count(), usage.memory ? json(*usage.memory) : json(nullptr),
          usage.memory_peak};
}

UsageOfRank usage_of_json(const json& value) {
  constexpr std::size_t fields = 4;
  if (!value.is_array() || value.size() != fields || number_at(value, 0) > INT32_MAX)
    throw Malformed{"a rank that uses what it cannot"};
  UsageOfRank used{static_cast<int>(number_at(value, 0)),
                   {milliseconds(number_at(value, 1)), {}, 0}};
  if (!value[2].is_null()) used.usage.memory = static_cast<std::uint64_t>(number_at(value, 2));
  used.usage.memory_peak = static_cast<std::uint64_t>(number_at(value, 3));
  return used;
}

}  // namespace train
