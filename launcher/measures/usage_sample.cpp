// SPDX-License-Identifier: Apache-2.0
#include "launcher/measures/usage_sample.hpp"

#include "launcher/frames/fields.hpp"

namespace train {

namespace {

constexpr std::size_t longest_sample = 64u << 10;  // bytes

nlohmann::json json_of_value(const std::optional<std::int64_t>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

std::optional<std::int64_t> value_of_json(const nlohmann::json& value) {
  if (value.is_null()) return std::nullopt;
  if (!value.is_number_integer() || value.get<std::int64_t>() < 0)
    throw Malformed{"a use that is no number"};
  return value.get<std::int64_t>();
}

}  // namespace

void fields(auto& f, Described<UsageSample> auto& sample) {
  f.number("at_ms", sample.at);
  f.number("attempt", sample.attempt);
  f.list_as("cpu", sample.cpu, most_sampled_ranks, json_of_value, value_of_json);
  f.list_as("memory", sample.memory, most_sampled_ranks, json_of_value, value_of_json);
  // Earlier versions have none.
  const auto optional = [&](const char* name, auto& values) {
    f.optional(name, !values.empty(),
               [&] { f.list_as(name, values, most_sampled_ranks, json_of_value, value_of_json); });
  };
  optional("gpu", sample.gpu);
  optional("gpu_memory", sample.gpu_memory);
}

std::string encode_sample(const UsageSample& sample) { return line_of_fields(sample); }

Result<UsageSample> decode_sample(std::string_view line) {
  return decode_fields<UsageSample>(line, longest_sample, "a sample of usage is unreadable");
}

}  // namespace train
