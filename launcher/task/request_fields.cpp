// SPDX-License-Identifier: Apache-2.0
#include "launcher/task/request_fields.hpp"

#include <nlohmann/json.hpp>

#include "launcher/frames/json_fields.hpp"

namespace train {

using nlohmann::json;

json or_null(const std::optional<int>& value) { return value ? json(*value) : json(nullptr); }

json or_null(const std::optional<std::uint64_t>& value) {
  return value ? json(*value) : json(nullptr);
}

json or_null(const std::optional<std::string>& bytes) {
  return bytes ? from_bytes(*bytes) : json(nullptr);
}

json json_of(const std::vector<std::string>& texts) {
  json list = json::array();
  for (const std::string& text : texts) list.push_back(from_bytes(text));
  return list;
}

std::vector<std::string> texts_of(const json& object, const char* name) {
  std::vector<std::string> texts;
  for (const json& text : array_field(object, name)) texts.push_back(to_bytes(text));
  return texts;
}

std::optional<int> int_or_null(const json& object, const char* name) {
  return field(object, name).is_null() ? std::nullopt : std::optional(int_field(object, name));
}

std::optional<std::uint64_t> count_or_null(const json& object, const char* name) {
  if (field(object, name).is_null()) return std::nullopt;
  return static_cast<std::uint64_t>(number_field(object, name));
}

void add_overrides(json& document, const ExperimentOverrides& overrides) {
  document["slots"] = or_null(overrides.slots);
  document["batch"] = or_null(overrides.global_batch);
  document["max_runtime"] = or_null(overrides.max_runtime);
  document["settings"] = json_of(overrides.settings);
  document["command"] = json_of(overrides.command);
  document["workers"] = or_null(overrides.workers);
}

ExperimentOverrides overrides_of(const json& document) {
  ExperimentOverrides overrides;
  overrides.slots = int_or_null(document, "slots");
  overrides.global_batch = count_or_null(document, "batch");
  overrides.settings = texts_of(document, "settings");
  overrides.command = texts_of(document, "command");
  // Earlier versions had no such default: one rank, and hosts as for a file.
  if (document.contains("workers")) overrides.workers = int_or_null(document, "workers");
  return overrides;
}

Result<void> read_request(std::string_view text, const char* words,
                          const std::function<void(const json& document)>& read) {
  const auto damaged = [words](const std::string& what) {
    return fail(ErrorClass::no_input, words + what);
  };
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object()) return damaged("no JSON");
  try {
    read(document);
  } catch (const Malformed& malformed) {
    return damaged(malformed.what);
  }
  return {};
}

}  // namespace train
