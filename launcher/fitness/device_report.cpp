// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/device_report.hpp"

#include "launcher/frames/fields.hpp"
#include "launcher/rendezvous/host_gpus.hpp"

namespace train {

using nlohmann::json;

namespace {

// Bytes in JSON, as many as NVML has for a name and for a UUID; with this limit, `most_gpus`
// devices fit into a line.
constexpr std::size_t longest_device_text = 96;
constexpr std::size_t longest_report_trouble = 1'024;
// No driver reports higher numbers: INT32_MAX and the like indicate an error.
constexpr int most_links = 1'024;

// With as many processes as a report has room for, and the first of each device.
DeviceReport within_limits(DeviceReport report) {
  if (report.devices.size() > most_gpus) report.devices.resize(most_gpus);
  std::size_t bytes = 0;
  for (DeviceFacts& device : report.devices) {
    if (!device.processes) continue;
    std::size_t kept = 0;
    for (const DeviceProcess& process : *device.processes) {
      if (kept == most_device_processes) break;
      if (kept > 0) bytes += json_of_fields(process).dump().size();
      if (kept > 0 && bytes > longest_device_processes) break;
      ++kept;
    }
    device.processes->resize(kept);
  }
  return report;
}

}  // namespace

void fields(auto& f, Described<DeviceProcess> auto& process) {
  f.number("pid", process.pid);
  f.number("used", process.used);
}

void fields(auto& f, Described<RemappedRows> auto& rows) {
  f.number("correctable", rows.correctable);
  f.number("uncorrectable", rows.uncorrectable);
  f.flag("pending", rows.pending);
  f.flag("failed", rows.failed);
}

void fields(auto& f, Described<NvLinks> auto& links) {
  f.number("up", links.up, 0, most_links);
  f.number("down", links.down, 0, most_links);
}

void fields(auto& f, Described<PeerAccess> auto& peers) {
  f.number("reached", peers.reached, 0, most_gpus);
  f.number("not_reached", peers.not_reached, 0, most_gpus);
  f.number("why", peers.why);
}

void fields(auto& f, Described<LastXid> auto& xid) {
  f.number("code", xid.code);
  f.number("seconds_ago", xid.seconds_ago);
}

void fields(auto& f, Described<DeviceFacts> auto& device) {
  f.number("index", device.index, 0, most_gpus - 1);
  f.words("uuid", device.uuid, longest_device_text);
  f.words("name", device.name, longest_device_text);
  f.words("pci_bus_id", device.pci_bus_id, longest_device_text);
  f.words("trouble", device.trouble, longest_device_text);
  f.number("memory_total", device.memory_total);
  f.number("memory_free", device.memory_free);
  f.number("memory_used", device.memory_used);
  f.list("processes", device.processes, most_device_processes);
  f.number("ecc_uncorrected", device.ecc_uncorrected);
  f.object("remapped", device.remapped);
  f.number("clock_reasons", device.clock_reasons);
  f.flag("mig", device.mig);
  f.object("nvlinks", device.nvlinks);
  f.object("peers", device.peers);
  f.number("recovery_action", device.recovery_action);
  f.object("xid", device.xid);
}

void fields(auto& f, Described<DeviceReport> auto& report) {
  f.words("driver", report.driver, longest_device_text);
  f.words("cuda", report.cuda, longest_device_text);
  f.words("trouble", report.trouble, longest_report_trouble);
  f.words("verbs_trouble", report.verbs_trouble, longest_report_trouble);
  f.list("devices", report.devices, most_gpus);
}

json json_of_devices(const DeviceReport& report) { return json_of_fields(within_limits(report)); }

DeviceReport devices_of_json(const json& value) { return struct_of_json<DeviceReport>(value); }

std::string encode_device_report(const DeviceReport& report) {
  return json_of_devices(report).dump() + "\n";
}

Result<DeviceReport> decode_device_report(std::string_view line) {
  return decode_document<DeviceReport>(line, longest_device_report,
                                       "what the host says of its devices is not understood",
                                       devices_of_json);
}

}  // namespace train
