// SPDX-License-Identifier: Apache-2.0
#include "launcher/task/task_request.hpp"

#include <map>
#include <optional>
#include <utility>

#include "launcher/task/request_fields.hpp"

namespace train {

using nlohmann::json;

namespace {

constexpr std::size_t most_indices = 1'000'000;

using Texts = std::map<std::string, std::string>;
using Quantities = std::map<std::string, Quantity>;

const json& list_in(const json& value) {
  if (!value.is_array()) throw Malformed{"no list where one is expected"};
  return value;
}

json json_of_texts(const Texts& values) {
  json list = json::array();
  for (const auto& [name, value] : values)
    list.push_back({{"name", from_bytes(name)}, {"value", from_bytes(value)}});
  return list;
}

Texts texts_of_json(const json& list) {
  Texts values;
  for (const json& entry : list_in(list))
    values[text_field(entry, "name")] = text_field(entry, "value");
  return values;
}

// Stored in whole parts, so that no rounding occurs.
Quantity quantity_of_json(const json& value) {
  if (!value.is_number_unsigned()) throw Malformed{"a quantity that is no number"};
  const auto quantity =
      Quantity::from_double(value.get<double>() / static_cast<double>(Quantity::scale));
  if (!quantity) throw Malformed{"an impossible quantity"};
  return *quantity;
}

json json_of_quantities(const Quantities& quantities) {
  json list = json::array();
  for (const auto& [name, quantity] : quantities)
    list.push_back({{"name", from_bytes(name)}, {"parts", quantity.parts()}});
  return list;
}

Quantities quantities_of_json(const json& list) {
  Quantities quantities;
  for (const json& entry : list_in(list))
    quantities[text_field(entry, "name")] = quantity_of_json(field(entry, "parts"));
  return quantities;
}

json json_of_shares(const std::map<int, Quantity>& slots) {
  json list = json::array();
  for (const auto& [slot, share] : slots)
    list.push_back({{"slot", slot}, {"parts", share.parts()}});
  return list;
}

std::map<int, Quantity> shares_of_json(const json& list) {
  std::map<int, Quantity> slots;
  for (const json& slot : list_in(list))
    slots[int_field(slot, "slot")] = quantity_of_json(field(slot, "parts"));
  return slots;
}

double real_of_json(const json& value) {
  if (!value.is_number()) throw Malformed{"no number"};
  return value.get<double>();
}

}  // namespace

void fields(auto& f, Described<Quantity> auto& quantity) {
  f.value_as(
      "parts", quantity, [](Quantity of) { return of.parts(); }, quantity_of_json);
}

void fields(auto& f, Described<Host> auto& host) {
  using enum TransportKind;
  f.text("name", host.name);
  f.text("address", host.address);
  f.text("user", host.user);
  f.number("port", host.port);
  f.text("identity_file", host.identity_file);
  f.choice("transport", host.transport, {automatic, local, ssh, openssh, command},
           "unknown transport");
  f.optional("command", !host.command.empty(), [&] { f.texts("command", host.command); });
  f.number("slots", host.slots);
  f.choice("slot_type", host.slot_type,
           {SlotType::automatic, SlotType::cuda, SlotType::rocm, SlotType::cpu},
           "unknown type of slots");
  f.text("accelerator_type", host.accelerator_type);
  f.number("accelerators", host.accelerators);
  f.number("too_few_gpus", host.too_few_gpus);
  f.object("cpus", host.cpus);
  f.number("memory", host.memory);
  f.value_as("custom", host.custom, json_of_quantities, quantities_of_json);
  f.value_as("labels", host.labels, json_of_texts, texts_of_json);
  f.text("pool", host.pool);
  f.text("slice", host.slice);
  f.value_as(
      "weight", host.weight, [](double weight) { return weight; }, real_of_json);
  f.numbers("device_indices", host.device_indices, 0, INT32_MAX, most_indices);
  f.numbers("slot_indices", host.slot_indices, 0, INT32_MAX, most_indices);
  f.text("interface", host.interface);
  f.text("lease_directory", host.lease_directory);
  f.value_as("env", host.env, json_of_texts, texts_of_json);
}

// User variables have no at-launch values.
void fields(auto& f, Described<EnvironmentEntry> auto& entry) {
  f.text("name", entry.name);
  f.text("text", entry.text);
  f.flag("secret", entry.secret);
  f.flag("default", entry.is_default);
}

// The holder does not matter to a plan.
void fields(auto& f, Described<HostUse> auto& use) {
  f.text("host", use.host);
  f.value_as("slots", use.slots, json_of_shares, shares_of_json);
  f.object("cpus", use.cpus);
  f.number("memory", use.memory);
  f.value_as("custom", use.custom, json_of_quantities, quantities_of_json);
}

void fields(auto& f, Described<TaskRequest> auto& request) {
  f.text("config", request.config);
  f.text("experiment", request.experiment_text);
  fields(f, request.overrides);
  f.text("hosts_source", request.inventory.source);
  f.list("hosts", request.inventory.hosts);
  f.list("forwarded", request.user_variables.forwarded);
  f.list("environment", request.user_variables.of_experiment);
  f.text("context", request.context_directory);
  f.text("directory", request.directory);
  f.flag("is_detached", request.is_detached);
  f.flag("is_strict", request.is_strict);
  f.text("events_file", request.events_file);
  f.list("occupancy", request.occupancy);
}

std::string encode_request(const TaskRequest& request) { return line_of_fields(request); }

Result<TaskRequest> decode_request(std::string_view text) {
  TaskRequest request;
  const auto read =
      read_request(text, "what the task was asked for is damaged: ", [&](const json& document) {
        request = struct_of_json<TaskRequest>(document);
      });
  if (!read) return tl::make_unexpected(read.error());
  return request;
}

}  // namespace train
