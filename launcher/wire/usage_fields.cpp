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

template <class Number>
json json_of(const std::optional<Number>& number) {
  return number ? json(*number) : json(nullptr);
}

// Nothing: it is not known.
template <class Number>
void read_at(const json& list, std::size_t index, std::optional<Number>& number) {
  if (!list[index].is_null()) number = static_cast<Number>(number_at(list, index));
}

}  // namespace

json json_of_usage(const UsageOfRank& used) {
  const RankUsage& usage = used.usage;
  json list = {used.rank, usage.cpu.count(), json_of(usage.memory), usage.memory_peak};
  if (!usage.gpu && !usage.gpu_memory) return list;
  list.push_back(json_of(usage.gpu));
  list.push_back(json_of(usage.gpu_memory));
  return list;
}

UsageOfRank usage_of_json(const json& value) {
  constexpr std::size_t fields = 4;
  constexpr std::size_t fields_with_gpus = 6;
  if (!value.is_array() || (value.size() != fields && value.size() != fields_with_gpus) ||
      number_at(value, 0) > INT32_MAX)
    throw Malformed{"a rank that uses what it cannot"};
  UsageOfRank used{static_cast<int>(number_at(value, 0)),
                   {milliseconds(number_at(value, 1)), {}, 0}};
  read_at(value, 2, used.usage.memory);
  used.usage.memory_peak = static_cast<std::uint64_t>(number_at(value, 3));
  if (value.size() == fields) return used;
  read_at(value, 4, used.usage.gpu);
  read_at(value, 5, used.usage.gpu_memory);
  return used;
}

}  // namespace train
