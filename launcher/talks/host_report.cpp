// SPDX-License-Identifier: Apache-2.0
#include "launcher/talks/host_report.hpp"

#include <fmt/format.h>

#include <charconv>

#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "launcher/frames/fields.hpp"
#include "launcher/wire/gpu_fields.hpp"
#include "launcher/wire/lease_fields.hpp"
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

// With as many holders as a report has room for; the others are counted.
HostReport within_limits(HostReport report) {
  std::size_t bytes = 0;
  std::size_t kept = 0;
  for (const LeaseHolder& holder : report.holders) {
    bytes += json_of_fields(holder).dump().size();
    if (kept == most_reported_holders || bytes > longest_host_report / 2) break;
    ++kept;
  }
  report.untold_holders += static_cast<int>(report.holders.size() - kept);
  report.holders.resize(kept);
  return report;
}

}  // namespace

void fields(auto& f, Described<HostReport> auto& report) {
  f.group("leases", [&](auto& leases) {
    leases.words("folder", report.lease_folder, longest_report_text);
    leases.words("identity", report.lease_identity, longest_report_text);
    leases.words("trouble", report.lease_trouble, longest_report_text);
    leases.list("holders", report.holders, most_reported_holders);
    leases.number("untold", report.untold_holders);
    leases.cut_texts("without_locks", report.without_locks, most_tasks_without_locks,
                     longest_report_text);
    leases.cut_texts("squats", report.squats, most_squats, longest_report_text);
    leases.cut_list("tickets", report.tickets, most_tickets);
  });
  f.number("uid", report.uid, -1);
  f.object("gpus", report.gpus);
  f.cut_texts("cuda_names", report.cuda_names, most_gpus, longest_resource_name);
  f.cut_texts("rocm_names", report.rocm_names, most_gpus, longest_resource_name);
  f.words("gpu_type", report.gpu_type, longest_resource_name);
  f.number("cpus", report.cpus, 0, most_counted_cpus);
  f.number("memory", report.memory);
  f.number("available", report.available);
  f.number("load_permil", report.load_permil);
  f.words("driver", report.driver, longest_report_text);
}

json json_of_report(const HostReport& report) { return json_of_fields(within_limits(report)); }

HostReport report_of_json(const json& value) { return struct_of_json<HostReport>(value); }

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

std::string encode_host_report(const HostReport& report) {
  return json_of_report(report).dump() + "\n";
}

Result<HostReport> decode_host_report(std::string_view line) {
  return decode_document<HostReport>(
      line, longest_host_report, "what the host says of itself is not understood", report_of_json);
}

}  // namespace train
