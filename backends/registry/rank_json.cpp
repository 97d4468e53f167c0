// SPDX-License-Identifier: Apache-2.0
#include "backends/registry/rank_json.hpp"

#include "launcher/frames/fields.hpp"

namespace train {

using nlohmann::json;

void fields(auto& f, Described<RankRecord> auto& rank) {
  f.number("rank", rank.rank);
  f.text("host", rank.host);
  f.optional_text("slots", rank.slots);
  f.number("exit_code", rank.exit_code);
  f.number("signal", rank.signal);
  f.flag("stopped", rank.stopped);
  f.optional_text("oom", rank.oom);
  f.optional_text("core", rank.core);
  f.optional_text("log_file", rank.log_file);
  f.optional_text("cpus", rank.cpus);
  f.number("cpu_ms", rank.cpu_ms);
  f.number("memory", rank.memory);
  f.number("memory_peak", rank.memory_peak);
}

std::string ranks_to_json(const std::vector<RankRecord>& ranks) {
  json array = json::array();
  for (const RankRecord& rank : ranks) array.push_back(json_of_fields(rank));
  return array.dump();
}

std::optional<std::vector<RankRecord>> ranks_from_json(const std::string& text) {
  const json array = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!array.is_array()) return std::nullopt;
  std::vector<RankRecord> ranks;
  ranks.reserve(array.size());
  try {
    for (const json& rank : array) ranks.push_back(struct_of_json<RankRecord>(rank));
  } catch (const Malformed&) {
    return std::nullopt;
  }
  return ranks;
}

}  // namespace train
