// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/device_report.hpp"

#include <nlohmann/json.hpp>

#include "launcher/frames/json_fields.hpp"
#include "launcher/rendezvous/host_gpus.hpp"
#include "launcher/wire/message_limits.hpp"

namespace train {

using nlohmann::json;

namespace {

// Bytes in JSON, as many as NVML has for a name and for a UUID; with this limit, `most_gpus`
// devices fit into a line.
constexpr std::size_t longest_device_text = 96;
constexpr std::size_t longest_report_trouble = 1'024;
// No driver reports higher numbers: INT32_MAX and the like indicate an error.
constexpr int most_links = 1'024;

json device_text(const std::string& text) {
  return from_bytes(cut_to_json(text, longest_device_text));
}

std::string device_text_of(const json& object, const char* name) {
  return text_field(object, name, longest_device_text);
}

std::optional<std::uint64_t> told_number(const json& object, const char* name) {
  if (!object.contains(name)) return std::nullopt;
  return static_cast<std::uint64_t>(number_field(object, name));
}

template <class Number>
void tell(json& object, const char* name, const std::optional<Number>& number) {
  if (number) object[name] = *number;
}

// `bytes`: the size of processes beyond the first of each device, so far.
json json_of_processes(const std::vector<DeviceProcess>& processes, std::size_t& bytes) {
  json list = json::array();
  for (const DeviceProcess& process : processes) {
    if (list.size() == most_device_processes) break;
    json one = {{"pid", process.pid}};
    tell(one, "used", process.used);
    if (!list.empty() && (bytes += one.dump().size()) > longest_device_processes) break;
    list.push_back(std::move(one));
  }
  return list;
}

std::vector<DeviceProcess> processes_of(const json& device) {
  std::vector<DeviceProcess> processes;
  for (const json& process : array_field(device, "processes", most_device_processes))
    processes.push_back({number_field(process, "pid"), told_number(process, "used")});
  return processes;
}

json json_of_device(const DeviceFacts& device, std::size_t& process_bytes) {
  json value = {{"index", device.index},
                {"uuid", device_text(device.uuid)},
                {"name", device_text(device.name)},
                {"pci_bus_id", device_text(device.pci_bus_id)},
                {"trouble", device_text(device.trouble)}};
  tell(value, "memory_total", device.memory_total);
  tell(value, "memory_free", device.memory_free);
  tell(value, "memory_used", device.memory_used);
  tell(value, "ecc_uncorrected", device.ecc_uncorrected);
  tell(value, "clock_reasons", device.clock_reasons);
  tell(value, "mig", device.mig);
  tell(value, "recovery_action", device.recovery_action);
  if (device.processes) value["processes"] = json_of_processes(*device.processes, process_bytes);
  if (device.remapped)
    value["remapped"] = {{"correctable", device.remapped->correctable},
                         {"uncorrectable", device.remapped->uncorrectable},
                         {"pending", device.remapped->pending},
                         {"failed", device.remapped->failed}};
  if (device.nvlinks)
    value["nvlinks"] = {{"up", device.nvlinks->up}, {"down", device.nvlinks->down}};
  if (device.peers)
    value["peers"] = {{"reached", device.peers->reached},
                      {"not_reached", device.peers->not_reached},
                      {"why", device.peers->why}};
  if (device.xid)
    value["xid"] = {{"code", device.xid->code}, {"seconds_ago", device.xid->seconds_ago}};
  return value;
}

DeviceFacts device_of(const json& value) {
  DeviceFacts device;
  device.index = int_field(value, "index", 0, static_cast<int>(most_gpus) - 1);
  device.uuid = device_text_of(value, "uuid");
  device.name = device_text_of(value, "name");
  device.pci_bus_id = device_text_of(value, "pci_bus_id");
  device.trouble = device_text_of(value, "trouble");
  device.memory_total = told_number(value, "memory_total");
  device.memory_free = told_number(value, "memory_free");
  device.memory_used = told_number(value, "memory_used");
  device.ecc_uncorrected = told_number(value, "ecc_uncorrected");
  device.clock_reasons = told_number(value, "clock_reasons");
  if (value.contains("mig")) device.mig = bool_field(value, "mig");
  device.recovery_action = optional_int_field(value, "recovery_action", 0, INT32_MAX);
  if (value.contains("processes")) device.processes = processes_of(value);
  if (value.contains("remapped")) {
    const json& rows = field(value, "remapped");
    device.remapped = RemappedRows{int_field(rows, "correctable"), int_field(rows, "uncorrectable"),
                                   bool_field(rows, "pending"), bool_field(rows, "failed")};
  }
  if (value.contains("nvlinks")) {
    const json& links = field(value, "nvlinks");
    device.nvlinks =
        NvLinks{int_field(links, "up", 0, most_links), int_field(links, "down", 0, most_links)};
  }
  if (value.contains("peers")) {
    const json& peers = field(value, "peers");
    const int most_peers = static_cast<int>(most_gpus);
    device.peers =
        PeerAccess{int_field(peers, "reached", 0, most_peers),
                   int_field(peers, "not_reached", 0, most_peers), int_field(peers, "why")};
  }
  if (value.contains("xid")) {
    const json& xid = field(value, "xid");
    device.xid = LastXid{int_field(xid, "code"), number_field(xid, "seconds_ago")};
  }
  return device;
}

}  // namespace

DeviceReport device_report_of(const json& value) {
  DeviceReport report;
  report.driver = device_text_of(value, "driver");
  report.cuda = device_text_of(value, "cuda");
  report.trouble = text_field(value, "trouble", longest_report_trouble);
  report.verbs_trouble = text_field(value, "verbs_trouble", longest_report_trouble);
  for (const json& device : array_field(value, "devices", most_gpus))
    report.devices.push_back(device_of(device));
  return report;
}

json json_of(const DeviceReport& report) {
  json devices = json::array();
  std::size_t process_bytes = 0;
  for (const DeviceFacts& device : report.devices)
    if (devices.size() < most_gpus) devices.push_back(json_of_device(device, process_bytes));
  return {{"driver", device_text(report.driver)},
          {"cuda", device_text(report.cuda)},
          {"trouble", from_bytes(cut_to_json(report.trouble, longest_report_trouble))},
          {"verbs_trouble", from_bytes(cut_to_json(report.verbs_trouble, longest_report_trouble))},
          {"devices", std::move(devices)}};
}

std::string encode_device_report(const DeviceReport& report) {
  return json_of(report).dump() + "\n";
}

Result<DeviceReport> decode_device_report(std::string_view line) {
  return decode_document<DeviceReport>(line, longest_device_report,
                                       "what the host says of its devices is not understood",
                                       device_report_of);
}

}  // namespace train
