// SPDX-License-Identifier: Apache-2.0
#include "launcher/formats/formats.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config_schema/hosts/host_set.hpp"
#include "launcher/plan/summaries.hpp"

namespace train {
namespace {

// An IPv6 address needs brackets because a colon is the separator.
std::string written_name(const std::string& name) {
  return name.find(':') == name.npos ? name : "[" + name + "]";
}

struct HostLine {
  int slots = 0;
  std::vector<int> used;  // ascending; empty: all of them
};

HostLine line_of(const PlannedHost& host) {
  if (!host.slots_are_gpus || host.slots.empty())
    return {.slots = std::max(host.worker_count, 1), .used = {}};
  std::vector<int> devices = devices_of(host.host, host.slots);
  std::sort(devices.begin(), devices.end());
  const int slots = devices.back() + 1;
  const bool are_all = static_cast<int>(devices.size()) == slots;
  return {.slots = slots, .used = are_all ? std::vector<int>() : std::move(devices)};
}

std::string filter_of(const std::vector<PlannedHost>& hosts) {
  bool is_needed = false;
  std::string filter;
  for (const PlannedHost& host : hosts) {
    const HostLine line = line_of(host);
    is_needed = is_needed || !line.used.empty();
    filter += (filter.empty() ? "" : "@") + written_name(host.host.name);
    if (!line.used.empty()) filter += fmt::format(":{}", fmt::join(line.used, ","));
  }
  return is_needed ? filter : "";
}

// Lists the hosts on which a launcher with one process per slot would start a different number of
// processes.
std::string uneven_comment(const std::vector<PlannedHost>& hosts) {
  std::vector<HostAmount> amounts;
  for (const PlannedHost& host : hosts) {
    const HostLine line = line_of(host);
    const int slots = line.used.empty() ? line.slots : static_cast<int>(line.used.size());
    if (host.rank_count == slots) continue;
    amounts.push_back({host.host.name, fmt::format("{} on {}", host.rank_count,
                                                   counted(fmt::format("{}", slots), "slot"))});
  }
  if (amounts.empty()) return {};
  return fmt::format("# processes, which are not one per slot: {}\n", list_amounts(amounts));
}

std::string reach_comment(const Host& host) {
  std::string text;
  if (host.address != host.name) text += fmt::format(" is reached at {}", host.address);
  if (host.port) text += fmt::format("{} port {}", text.empty() ? " listens on" : ",", *host.port);
  return text.empty() ? text : fmt::format("# {}{}\n", host.name, text);
}

}  // namespace

std::string plan_to_hostfile(const Plan& plan, const std::optional<PlannedContext>& context) {
  const std::vector<PlannedHost>& hosts = plan.trial.hosts;
  std::string text = fmt::format("# {}\n", plan_title(plan, hosts.size()));
  if (const std::string filter = filter_of(hosts); !filter.empty())
    text += fmt::format("# not all slots are used: --include '{}'\n", filter);
  text += uneven_comment(hosts);
  if (context)
    text +=
        fmt::format("# the context does not travel with this file: {}\n", context_line(context));
  for (const PlannedHost& host : hosts) {
    const std::string user = host.host.user.empty() ? "" : host.host.user + "@";
    text += reach_comment(host.host);
    text += fmt::format("{}{} slots={}\n", user, written_name(host.host.name), line_of(host).slots);
  }
  return text;
}

}  // namespace train
