// SPDX-License-Identifier: Apache-2.0
#include "launcher/talks/host_report.hpp"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "launcher/frames/json_fields.hpp"
#include "launcher/wire/gpu_fields.hpp"
#include "launcher/wire/lease_fields.hpp"
#include "launcher/wire/message_limits.hpp"
#include "launcher/wire/ticket_fields.hpp"

namespace train {

using nlohmann::json;

namespace {

constexpr std::size_t longest_report_text = 4'096;
constexpr int most_counted_cpus = 1 << 20;
constexpr std::size_t most_tasks_without_locks = 64;
constexpr std::size_t most_squats = 8;

constexpr std::string_view usual_look = "look";
constexpr std::string_view named_look = "in-";

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-';
}

json report_text(const std::string& text) {
  return from_bytes(cut_to_json(text, longest_report_text));
}

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

}  // namespace

HostReport host_report_of(const json& value) {
  HostReport report;
  const json& leases = field(value, "leases");
  report.lease_folder = text_field(leases, "folder", longest_report_text);
  report.lease_identity = text_field(leases, "identity", longest_report_text);
  report.lease_trouble = text_field(leases, "trouble", longest_report_text);
  for (const json& holder : array_field(leases, "holders", most_reported_holders))
    report.holders.push_back(lease_holder_of(holder, most_leases));
  report.untold_holders = int_field(leases, "untold");
  if (leases.contains("without_locks"))
    for (const json& task : array_field(leases, "without_locks", most_tasks_without_locks))
      report.without_locks.push_back(to_bytes(task));
  if (leases.contains("squats"))
    for (const json& squat : array_field(leases, "squats", most_squats))
      report.squats.push_back(to_bytes(squat));
  report.uid = number_field(value, "uid", -1);
  for (const json& ticket : array_field(leases, "tickets", most_tickets))
    report.tickets.push_back(ticket_of(ticket));
  report.gpus = gpus_of_json(field(value, "gpus"));
  report.cuda_names = names_of_json(value, "cuda_names");
  report.rocm_names = names_of_json(value, "rocm_names");
  report.gpu_type = text_field(value, "gpu_type", longest_resource_name);
  report.cpus = int_field(value, "cpus", 0, most_counted_cpus);
  report.memory = bytes_field(value, "memory");
  report.available = bytes_field(value, "available");
  report.load_permil = number_field(value, "load_permil");
  report.driver = text_field(value, "driver", longest_report_text);
  return report;
}

std::string look_word(const std::string& lease_directory) {
  if (lease_directory.empty()) return std::string(usual_look);
  std::string word(named_look);
  for (const char c : lease_directory)
    word += is_plain(c) ? std::string(1, c) : fmt::format("_{:02X}", static_cast<unsigned char>(c));
  return word;
}

Result<std::string> lease_directory_of_look(std::string_view word) {
  if (word == usual_look) return std::string();
  const auto refuse = [&] {
    return fail(ErrorClass::host, fmt::format("'{}' names no folder", escaped(word)));
  };
  if (!word.starts_with(named_look)) return refuse();
  word.remove_prefix(named_look.size());
  std::string path;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (is_plain(word[i])) {
      path += word[i];
      continue;
    }
    unsigned byte = 0;
    const char* begin = word.data() + i + 1;
    if (word[i] != '_' || i + 2 >= word.size() ||
        std::from_chars(begin, begin + 2, byte, 16).ptr != begin + 2 || byte == 0)
      return refuse();
    path += static_cast<char>(byte);
    i += 2;
  }
  if (path.empty() || path.size() > longest_lease_directory) return refuse();
  return path;
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
  json without_locks = json::array();
  for (const std::string& task : report.without_locks)
    if (without_locks.size() < most_tasks_without_locks) without_locks.push_back(report_text(task));
  json squats = json::array();
  for (const std::string& squat : report.squats)
    if (squats.size() < most_squats) squats.push_back(report_text(squat));
  json tickets = json::array();
  for (const Ticket& ticket : report.tickets)
    if (tickets.size() < most_tickets) tickets.push_back(json_of(ticket));
  const auto untold =
      report.untold_holders + static_cast<int>(report.holders.size() - holders.size());
  return {{"leases",
           {{"folder", report_text(report.lease_folder)},
            {"identity", report_text(report.lease_identity)},
            {"trouble", report_text(report.lease_trouble)},
            {"holders", std::move(holders)},
            {"untold", untold},
            {"without_locks", std::move(without_locks)},
            {"squats", std::move(squats)},
            {"tickets", std::move(tickets)}}},
          {"uid", report.uid},
          {"gpus", json_of_gpus(report.gpus)},
          {"cuda_names", json_of_names(report.cuda_names)},
          {"rocm_names", json_of_names(report.rocm_names)},
          {"gpu_type", from_bytes(cut_to_json(report.gpu_type, longest_resource_name))},
          {"cpus", report.cpus},
          {"memory", report.memory},
          {"available", report.available},
          {"load_permil", report.load_permil},
          {"driver", report_text(report.driver)}};
}

std::string encode_host_report(const HostReport& report) { return json_of(report).dump() + "\n"; }

Result<HostReport> decode_host_report(std::string_view line) {
  return decode_document<HostReport>(
      line, longest_host_report, "what the host says of itself is not understood", host_report_of);
}

}  // namespace train
