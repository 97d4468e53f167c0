// SPDX-License-Identifier: Apache-2.0
#include "launcher/hyperparameters/varied_values.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace train {

using nlohmann::json;

namespace {

std::string text_of(const json& value) {
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

void add(const SearchGroup& space, const json& values, const std::string& path,
         std::vector<VariedValue>& varied) {
  for (const auto& [name, parameter] : space) {
    const auto value = values.find(name);
    if (value == values.end() || std::holds_alternative<parameter::Constant>(parameter.kind))
      continue;
    std::string here = path;
    if (!here.empty()) here += '.';
    here += name;
    const auto* inner = std::get_if<parameter::Group>(&parameter.kind);
    if (!inner)
      varied.push_back({here, text_of(*value)});
    else if (value->is_object())
      add(inner->members, *value, here, varied);
  }
}

}  // namespace

std::vector<VariedValue> varied_values(const SearchGroup& space,
                                       const std::string& hyperparameters_json) {
  const json values = json::parse(hyperparameters_json, nullptr, false);
  std::vector<VariedValue> varied;
  if (values.is_object()) add(space, values, "", varied);
  return varied;
}

std::string varied_text(const std::vector<VariedValue>& varied) {
  std::string text;
  for (const VariedValue& each : varied)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", each.name, each.text);
  return text;
}

}  // namespace train
