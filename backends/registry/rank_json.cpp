// SPDX-License-Identifier: Apache-2.0
#include "backends/registry/rank_json.hpp"

#include <nlohmann/json.hpp>

namespace train {

namespace {

using nlohmann::json;

json rank_to_json(const RankRecord& rank) {
  json object = {{"rank", rank.rank}, {"host", rank.host}};
  if (!rank.slots.empty()) object["slots"] = rank.slots;
  if (rank.exit_code) object["exit_code"] = *rank.exit_code;
  if (rank.signal) object["signal"] = *rank.signal;
  if (rank.stopped) object["stopped"] = true;
  if (!rank.oom.empty()) object["oom"] = rank.oom;
  if (!rank.core.empty()) object["core"] = rank.core;
  if (!rank.log_file.empty()) object["log_file"] = rank.log_file;
  // Earlier versions of train neither write nor read these.
  if (!rank.cpus.empty()) object["cpus"] = rank.cpus;
  if (rank.cpu_ms) object["cpu_ms"] = *rank.cpu_ms;
  if (rank.memory) object["memory"] = *rank.memory;
  if (rank.memory_peak) object["memory_peak"] = *rank.memory_peak;
  return object;
}

/// The member `key`, or nothing when it is missing; sets `bad` when it has another type.
template <class T>
std::optional<T> member(const json& object, const char* key, bool& bad) {
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  const T* value = nullptr;
  if constexpr (std::is_same_v<T, std::int64_t>) {
    if (found->is_number_integer()) return found->template get<std::int64_t>();
  } else {
    value = found->template get_ptr<const T*>();
  }
  if (value != nullptr) return *value;
  bad = true;
  return std::nullopt;
}

std::optional<RankRecord> rank_from_json(const json& object) {
  if (!object.is_object()) return std::nullopt;
  bool bad = false;
  const auto number = [&](const char* key) -> std::optional<int> {
    const auto value = member<std::int64_t>(object, key, bad);
    return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
  };
  const auto text = [&](const char* key) {
    return member<std::string>(object, key, bad).value_or("");
  };
  const auto rank = number("rank");
  if (!rank) return std::nullopt;
  RankRecord record{.rank = *rank,
                    .host = text("host"),
                    .slots = text("slots"),
                    .exit_code = number("exit_code"),
                    .signal = number("signal"),
                    .stopped = member<bool>(object, "stopped", bad).value_or(false),
                    .log_file = text("log_file"),
                    .oom = text("oom"),
                    .core = text("core"),
                    .cpus = text("cpus"),
                    .cpu_ms = member<std::int64_t>(object, "cpu_ms", bad),
                    .memory = member<std::int64_t>(object, "memory", bad),
                    .memory_peak = member<std::int64_t>(object, "memory_peak", bad)};
  if (bad) return std::nullopt;
  return record;
}

}  // namespace

std::string ranks_to_json(const std::vector<RankRecord>& ranks) {
  json array = json::array();
  for (const RankRecord& rank : ranks) array.push_back(rank_to_json(rank));
  return array.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<std::vector<RankRecord>> ranks_from_json(const std::string& text) {
  const json array = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!array.is_array()) return std::nullopt;
  std::vector<RankRecord> ranks;
  ranks.reserve(array.size());
  for (const json& object : array) {
    auto rank = rank_from_json(object);
    if (!rank) return std::nullopt;
    ranks.push_back(std::move(*rank));
  }
  return ranks;
}

}  // namespace train
