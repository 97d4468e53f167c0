// SPDX-License-Identifier: Apache-2.0
#include "launcher/task/task_request.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "launcher/frames/json_fields.hpp"
#include "launcher/task/request_fields.hpp"

namespace train {

using nlohmann::json;

namespace {

// Requests of earlier versions lack this field.
std::optional<std::string> text_or_null(const json& object, const char* name) {
  const bool is_there = object.contains(name) && !object[name].is_null();
  return is_there ? std::optional(text_field(object, name)) : std::nullopt;
}

double real_field(const json& object, const char* name) {
  const json& value = field(object, name);
  if (!value.is_number()) throw Malformed{fmt::format("field '{}' is no number", name)};
  return value.get<double>();
}

// Stored in whole parts, so that no rounding occurs.
Quantity quantity_field(const json& object, const char* name) {
  const auto quantity = Quantity::from_double(static_cast<double>(number_field(object, name)) /
                                              static_cast<double>(Quantity::scale));
  if (!quantity) throw Malformed{fmt::format("field '{}' is no quantity", name)};
  return *quantity;
}

json json_of(const std::map<std::string, std::string>& values) {
  json list = json::array();
  for (const auto& [name, value] : values)
    list.push_back({{"name", from_bytes(name)}, {"value", from_bytes(value)}});
  return list;
}

std::map<std::string, std::string> map_of(const json& object, const char* name) {
  std::map<std::string, std::string> values;
  for (const json& entry : array_field(object, name))
    values[text_field(entry, "name")] = text_field(entry, "value");
  return values;
}

json json_of(const std::map<std::string, Quantity>& quantities) {
  json list = json::array();
  for (const auto& [name, quantity] : quantities)
    list.push_back({{"name", from_bytes(name)}, {"parts", quantity.parts()}});
  return list;
}

std::map<std::string, Quantity> quantities_of(const json& object, const char* name) {
  std::map<std::string, Quantity> quantities;
  for (const json& entry : array_field(object, name))
    quantities[text_field(entry, "name")] = quantity_field(entry, "parts");
  return quantities;
}

json json_of(const Host& host) {
  return {{"name", from_bytes(host.name)},
          {"address", from_bytes(host.address)},
          {"user", from_bytes(host.user)},
          {"port", or_null(host.port)},
          {"identity_file", from_bytes(host.identity_file)},
          {"transport", to_string(host.transport)},
          {"slots", or_null(host.slots)},
          {"slot_type", to_string(host.slot_type)},
          {"accelerator_type", from_bytes(host.accelerator_type)},
          {"accelerators", or_null(host.accelerators)},
          {"too_few_gpus", or_null(host.too_few_gpus)},
          {"cpu_parts", host.cpus ? json(host.cpus->parts()) : json(nullptr)},
          {"memory", or_null(host.memory)},
          {"custom", json_of(host.custom)},
          {"labels", json_of(host.labels)},
          {"pool", from_bytes(host.pool)},
          {"slice", from_bytes(host.slice)},
          {"weight", host.weight},
          {"device_indices", host.device_indices},
          {"slot_indices", host.slot_indices},
          {"interface", from_bytes(host.interface)},
          {"lease_directory", from_bytes(host.lease_directory)},
          {"env", json_of(host.env)}};
}

constexpr std::size_t most_indices = 1'000'000;

Host host_of(const json& value) {
  Host host;
  host.name = text_field(value, "name");
  host.address = text_field(value, "address");
  host.user = text_field(value, "user");
  host.port = int_or_null(value, "port");
  host.identity_file = text_field(value, "identity_file");
  const auto transport = transport_of(text_field(value, "transport"));
  const auto slot_type = slot_type_of(text_field(value, "slot_type"));
  if (!transport || !slot_type) throw Malformed{"unknown transport or type of slots"};
  host.transport = *transport;
  host.slot_type = *slot_type;
  host.slots = int_or_null(value, "slots");
  host.accelerator_type = text_field(value, "accelerator_type");
  host.accelerators = int_or_null(value, "accelerators");
  host.too_few_gpus = int_or_null(value, "too_few_gpus");
  if (!field(value, "cpu_parts").is_null()) host.cpus = quantity_field(value, "cpu_parts");
  host.memory = count_or_null(value, "memory");
  host.custom = quantities_of(value, "custom");
  host.labels = map_of(value, "labels");
  host.pool = text_field(value, "pool");
  host.slice = text_field(value, "slice");
  host.weight = real_field(value, "weight");
  host.device_indices = int_list_field(value, "device_indices", 0, INT32_MAX, most_indices);
  host.slot_indices = int_list_field(value, "slot_indices", 0, INT32_MAX, most_indices);
  host.interface = text_field(value, "interface");
  if (value.contains("lease_directory"))  // requests of earlier versions lack it
    host.lease_directory = text_field(value, "lease_directory");
  host.env = map_of(value, "env");
  return host;
}

json json_of(const std::vector<EnvironmentEntry>& entries) {
  json list = json::array();
  for (const EnvironmentEntry& entry : entries)
    list.push_back({{"name", from_bytes(entry.name)},
                    {"text", from_bytes(entry.text)},
                    {"secret", entry.secret},
                    {"default", entry.is_default}});
  return list;
}

// User variables have no at-launch values.
std::vector<EnvironmentEntry> entries_of(const json& object, const char* name) {
  std::vector<EnvironmentEntry> entries;
  for (const json& entry : array_field(object, name))
    entries.push_back({text_field(entry, "name"), text_field(entry, "text"), AtLaunch::no,
                       bool_field(entry, "secret"), bool_field(entry, "default")});
  return entries;
}

json json_of(const HostUse& use) {
  json slots = json::array();
  for (const auto& [slot, share] : use.slots)
    slots.push_back({{"slot", slot}, {"parts", share.parts()}});
  return {{"host", from_bytes(use.host)},
          {"slots", std::move(slots)},
          {"cpu_parts", use.cpus.parts()},
          {"memory", use.memory},
          {"custom", json_of(use.custom)}};
}

// The holder does not matter to a plan.
HostUse use_of(const json& value) {
  HostUse use{.host = text_field(value, "host"), .holder = {}, .slots = {}};
  for (const json& slot : array_field(value, "slots"))
    use.slots[int_field(slot, "slot")] = quantity_field(slot, "parts");
  use.cpus = quantity_field(value, "cpu_parts");
  use.memory = static_cast<std::uint64_t>(number_field(value, "memory"));
  use.custom = quantities_of(value, "custom");
  return use;
}

TaskRequest request_of(const json& value) {
  TaskRequest request;
  request.config = text_field(value, "config");
  request.experiment_text = text_field(value, "experiment");
  request.overrides = overrides_of(value);
  request.overrides.max_runtime = text_or_null(value, "max_runtime");
  request.inventory.source = text_field(value, "hosts_source");
  for (const json& host : array_field(value, "hosts"))
    request.inventory.hosts.push_back(host_of(host));
  request.user_variables.forwarded = entries_of(value, "forwarded");
  request.user_variables.of_experiment = entries_of(value, "environment");
  request.context_directory = text_field(value, "context");
  request.directory = text_field(value, "directory");
  request.is_detached = bool_field(value, "is_detached");
  // Requests of earlier versions lack the fields below.
  if (value.contains("is_strict")) request.is_strict = bool_field(value, "is_strict");
  if (value.contains("occupancy"))
    for (const json& use : array_field(value, "occupancy"))
      request.occupancy.push_back(use_of(use));
  return request;
}

}  // namespace

std::string encode_request(const TaskRequest& request) {
  json hosts = json::array();
  for (const Host& host : request.inventory.hosts) hosts.push_back(json_of(host));
  json occupancy = json::array();
  for (const HostUse& use : request.occupancy) occupancy.push_back(json_of(use));
  json document{{"config", from_bytes(request.config)},
                {"experiment", from_bytes(request.experiment_text)},
                {"hosts_source", from_bytes(request.inventory.source)},
                {"hosts", std::move(hosts)},
                {"forwarded", json_of(request.user_variables.forwarded)},
                {"environment", json_of(request.user_variables.of_experiment)},
                {"context", from_bytes(request.context_directory)},
                {"directory", from_bytes(request.directory)},
                {"is_detached", request.is_detached},
                {"is_strict", request.is_strict},
                {"occupancy", std::move(occupancy)}};
  add_overrides(document, request.overrides);
  return document.dump() + "\n";
}

Result<TaskRequest> decode_request(std::string_view text) {
  TaskRequest request;
  const auto read = read_request(text, "what the task was asked for is damaged: ",
                                 [&](const json& document) { request = request_of(document); });
  if (!read) return tl::make_unexpected(read.error());
  return request;
}

}  // namespace train
