// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/lease_fields.hpp"

#include <nlohmann/json.hpp>

#include "launcher/wire/json_fields.hpp"
#include "launcher/wire/message_limits.hpp"

namespace train {

using nlohmann::json;

namespace {

constexpr int most_index = 1 << 20;

json json_of(const LeaseKey& key) {
  json value{{"kind", to_string(key.kind)}, {"index", key.index}};
  if (!key.name.empty()) value["name"] = from_bytes(key.name);
  return value;
}

LeaseKey key_of(const json& value) {
  LeaseKey key;
  const auto kind = lease_kind_of(text_field(value, "kind", longest_holder_text));
  if (!kind) throw Malformed{"a resource of no known kind"};
  key.kind = *kind;
  key.index = int_field(value, "index", 0, most_index);
  if (const auto name = value.find("name"); name != value.end()) key.name = to_bytes(*name);
  if (key.name.size() > longest_resource_name) throw Malformed{"a resource with a long name"};
  return key;
}

// Ranges are sent as their ends, one after the other.
json json_of(const std::vector<LeaseRange>& ranges) {
  json ends = json::array();
  for (const LeaseRange& range : ranges) {
    ends.push_back(range.begin);
    ends.push_back(range.end);
  }
  return ends;
}

std::vector<LeaseRange> ranges_of(const json& ends) {
  constexpr std::int64_t last = INT64_MAX / 2;
  std::vector<LeaseRange> ranges;
  for (std::size_t i = 0; i + 1 < ends.size(); i += 2) {
    if (!ends[i].is_number_unsigned() || !ends[i + 1].is_number_unsigned())
      throw Malformed{"a range of units that are no numbers"};
    const LeaseRange range{ends[i].get<std::uint64_t>(), ends[i + 1].get<std::uint64_t>()};
    if (range.begin >= range.end || range.end > last) throw Malformed{"an empty range of units"};
    ranges.push_back(range);
  }
  return merged(std::move(ranges));
}

HolderRecord record_of(const json& value) {
  HolderRecord record;
  record.task = text_field(value, "task", longest_holder_text);
  record.name = text_field(value, "name", longest_holder_text);
  record.launcher = text_field(value, "launcher", longest_holder_text);
  record.since_ms = number_field(value, "since_ms");
  record.is_running = bool_field(value, "running");
  for (const json& held : array_field(value, "leases", most_leases))
    record.leases.push_back(
        {key_of(field(held, "of")), ranges_of(array_field(held, "units", 2 * most_lease_ranges))});
  return record;
}

}  // namespace

std::string encode_holder(const HolderRecord& record) {
  json value{{"task", cut_to_json(record.task, longest_holder_text)},
             {"name", cut_to_json(record.name, longest_holder_text)},
             {"launcher", cut_to_json(record.launcher, longest_holder_text)},
             {"since_ms", record.since_ms},
             {"running", record.is_running},
             {"leases", json::array()}};
  for (const HolderRecord::Held& held : record.leases)
    value["leases"].push_back({{"of", json_of(held.key)}, {"units", json_of(held.ranges)}});
  return value.dump() + "\n";
}

Result<HolderRecord> decode_holder(std::string_view text) {
  const auto refuse = [](const std::string& why) {
    return fail(ErrorClass::host, "what a holder says of itself is not understood: " + why);
  };
  if (text.size() > longest_holder_record) return refuse("it is too long");
  try {
    return record_of(json::parse(text));
  } catch (const Malformed& malformed) {
    return refuse(malformed.what);
  } catch (const json::exception&) {
    return refuse("it is no JSON");
  }
}

}  // namespace train
