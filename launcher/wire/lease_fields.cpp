// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/lease_fields.hpp"

#include <nlohmann/json.hpp>

#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/frames/json_fields.hpp"
#include "launcher/wire/message_limits.hpp"
#include "launcher/wire/ticket_fields.hpp"

namespace train {

using nlohmann::json;

namespace {

constexpr int most_index = 1 << 20;

json json_of(const LeaseKey& key) {
  json value{{"kind", to_string(key.kind)}, {"index", key.index}};
  if (!key.name.empty()) value["name"] = from_bytes(cut_to_json(key.name, longest_resource_name));
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

// A range is sent as its begin and its end; ranges are concatenated.
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

json holder_text(const std::string& text) {
  return from_bytes(cut_to_json(text, longest_holder_text));
}

json json_of(const LeaseRequest& request) {
  json wants = json::array();
  for (const LeaseWant& want : request.wants)
    wants.push_back(
        {{"of", json_of(want.key)}, {"amount", want.amount}, {"capacity", want.capacity}});
  json value{{"wants", std::move(wants)},
             {"slots", request.slots},
             {"name", holder_text(request.task_name)},
             {"launcher", holder_text(request.launcher)},
             {"directory", from_bytes(request.directory)},
             {"allow_busy", request.allow_busy}};
  if (request.order) value["order"] = json_of(*request.order);
  return value;
}

LeaseRequest lease_request_of(const json& value) {
  LeaseRequest request;
  for (const json& want : array_field(value, "wants", most_leases)) {
    const auto amount = static_cast<std::uint64_t>(number_field(want, "amount", 1));
    const auto capacity = static_cast<std::uint64_t>(number_field(want, "capacity", 1));
    if (amount > capacity) throw Malformed{"more is wanted than there is"};
    request.wants.push_back({key_of(field(want, "of")), amount, capacity});
  }
  request.slots = int_field(value, "slots");
  request.task_name = text_field(value, "name", longest_holder_text);
  request.launcher = text_field(value, "launcher", longest_holder_text);
  request.directory = text_field(value, "directory", longest_lease_directory);
  request.allow_busy = bool_field(value, "allow_busy");
  if (const auto order = value.find("order"); order != value.end())
    request.order = ticket_order_of(*order);
  return request;
}

json json_of(const LeaseHolder& holder, std::size_t most) {
  json leases = json::array();
  for (const LeaseHolder::Held& held : holder.leases)
    if (leases.size() < most)
      leases.push_back({{"of", json_of(held.key)}, {"amount", held.amount}});
  return {{"task", holder_text(holder.task)},
          {"name", holder_text(holder.name)},
          {"launcher", holder_text(holder.launcher)},
          {"uid", holder.uid},
          {"user", holder_text(holder.user)},
          {"held_ms", holder.held_ms},
          {"running", holder.is_running},
          {"waiting", holder.is_waiting},
          {"pid", holder.pid},
          {"command", holder_text(holder.command)},
          {"leases", std::move(leases)}};
}

LeaseHolder lease_holder_of(const json& value, std::size_t most) {
  LeaseHolder holder;
  holder.task = text_field(value, "task", longest_holder_text);
  holder.name = text_field(value, "name", longest_holder_text);
  holder.launcher = text_field(value, "launcher", longest_holder_text);
  holder.uid = number_field(value, "uid", -1);
  holder.user = text_field(value, "user", longest_holder_text);
  holder.held_ms = number_field(value, "held_ms");
  holder.is_running = bool_field(value, "running");
  holder.is_waiting = bool_field(value, "waiting");
  holder.pid = int_field(value, "pid");
  holder.command = text_field(value, "command", longest_holder_text);
  for (const json& held : array_field(value, "leases", most))
    holder.leases.push_back(
        {key_of(field(held, "of")), static_cast<std::uint64_t>(number_field(held, "amount"))});
  return holder;
}

json body(const message::TakeLeases&) { return {{"type", "take_leases"}}; }
Message read_take_leases(const json&) { return message::TakeLeases{}; }

json body(const message::DropLeases&) { return {{"type", "drop_leases"}}; }
Message read_drop_leases(const json&) { return message::DropLeases{}; }

json body(const message::Leases& m) {
  json holders = json::array();
  for (const LeaseHolder& holder : m.in_the_way)
    if (holders.size() < most_holders) holders.push_back(json_of(holder, most_told_leases));
  return {{"type", "leases"}, {"in_the_way", std::move(holders)}};
}
Message read_leases(const json& value) {
  message::Leases m;
  for (const json& holder : array_field(value, "in_the_way", most_holders))
    m.in_the_way.push_back(lease_holder_of(holder, most_told_leases));
  return m;
}

std::string encode_holder(const HolderRecord& record) {
  json value{{"task", holder_text(record.task)},
             {"name", holder_text(record.name)},
             {"launcher", holder_text(record.launcher)},
             {"since_ms", record.since_ms},
             {"running", record.is_running},
             {"leases", json::array()}};
  for (const HolderRecord::Held& held : record.leases)
    value["leases"].push_back({{"of", json_of(held.key)}, {"units", json_of(held.ranges)}});
  return value.dump() + "\n";
}

Result<HolderRecord> decode_holder(std::string_view text) {
  return decode_document<HolderRecord>(text, longest_holder_record,
                                       "what a holder says of itself is not understood", record_of);
}

}  // namespace train
