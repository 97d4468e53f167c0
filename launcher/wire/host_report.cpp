// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/host_report.hpp"

#include <nlohmann/json.hpp>

#include "launcher/wire/gpu_fields.hpp"
#include "launcher/wire/json_fields.hpp"
#include "launcher/wire/lease_fields.hpp"
#include "launcher/wire/message_limits.hpp"
#include "launcher/wire/ticket_fields.hpp"

namespace train {

using nlohmann::json;

namespace {

constexpr std::size_t longest_text = 4'096;
constexpr int most_cpus = 1 << 20;

json short_text(const std::string& text) { return from_bytes(cut_to_json(text, longest_text)); }

json json_of_names(const std::vector<std::string>& names) {
  json list = json::array();
  for (const std::string& name : names)
    if (list.size() < most_gpus)
      list.push_back(from_bytes(cut_to_json(name, longest_resource_name)));
  return list;
}

std::vector<std::string> names_of_json(const json& object, const char* name) {
  std::vector<std::string> names;
  for (const json& each : array_field(object, name, most_gpus)) {
    names.push_back(to_bytes(each));
    if (names.back().size() > longest_resource_name) throw Malformed{"a device with a long name"};
  }
  return names;
}

std::uint64_t bytes_field(const json& object, const char* name) {
  return static_cast<std::uint64_t>(number_field(object, name));
}

}  // namespace

HostReport host_report_of(const json& value) {
  HostReport report;
  const json& leases = field(value, "leases");
  report.lease_folder = text_field(leases, "folder", longest_text);
  report.lease_identity = text_field(leases, "identity", longest_text);
  report.lease_trouble = text_field(leases, "trouble", longest_text);
  for (const json& holder : array_field(leases, "holders", most_reported_holders))
    report.holders.push_back(lease_holder_of(holder, most_leases));
  report.untold_holders = int_field(leases, "untold");
  for (const json& ticket : array_field(leases, "tickets", most_tickets))
    report.tickets.push_back(ticket_of(ticket));
  report.gpus = gpus_of_json(field(value, "gpus"));
  report.cuda_names = names_of_json(value, "cuda_names");
  report.rocm_names = names_of_json(value, "rocm_names");
  report.cpus = int_field(value, "cpus", 0, most_cpus);
  report.memory = bytes_field(value, "memory");
  report.available = bytes_field(value, "available");
  report.load_permil = number_field(value, "load_permil");
  report.driver = text_field(value, "driver", longest_text);
  return report;
}

json json_of(const HostReport& report) {
  json holders = json::array();
  std::size_t bytes = 0;
  for (const LeaseHolder& holder : report.holders) {
    if (holders.size() == most_reported_holders) break;
    json one = json_of(holder, most_leases);
    bytes += one.dump().size();
    if (bytes > longest_host_report / 2) break;
    holders.push_back(std::move(one));
  }
  json tickets = json::array();
  for (const Ticket& ticket : report.tickets)
    if (tickets.size() < most_tickets) tickets.push_back(json_of(ticket));
  const auto untold =
      report.untold_holders + static_cast<int>(report.holders.size() - holders.size());
  return {{"leases",
           {{"folder", short_text(report.lease_folder)},
            {"identity", short_text(report.lease_identity)},
            {"trouble", short_text(report.lease_trouble)},
            {"holders", std::move(holders)},
            {"untold", untold},
            {"tickets", std::move(tickets)}}},
          {"gpus", json_of_gpus(report.gpus)},
          {"cuda_names", json_of_names(report.cuda_names)},
          {"rocm_names", json_of_names(report.rocm_names)},
          {"cpus", report.cpus},
          {"memory", report.memory},
          {"available", report.available},
          {"load_permil", report.load_permil},
          {"driver", short_text(report.driver)}};
}

std::string encode_host_report(const HostReport& report) { return json_of(report).dump() + "\n"; }

Result<HostReport> decode_host_report(std::string_view line) {
  return decode_document<HostReport>(
      line, longest_host_report, "what the host says of itself is not understood", host_report_of);
}

}  // namespace train
