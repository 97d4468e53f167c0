// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/measured_checks.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "cli/commands/measuring_task.hpp"
#include "config_schema/text/shell_words.hpp"

namespace train {

namespace {

// The index of the checked host of this name; the number of hosts if there is none.
std::size_t index_of(const std::vector<CheckedHost>& hosts, const std::string& name) {
  const auto host = std::find_if(hosts.begin(), hosts.end(),
                                 [&](const CheckedHost& each) { return each.host.name == name; });
  return static_cast<std::size_t>(host - hosts.begin());
}

Result<std::optional<LinkCheck>> links_of(const Measured& measured,
                                          const std::vector<CheckedHost>& hosts) {
  LinkCheck check;
  std::set<std::string> names;
  for (const PlannedRank& rank : measured.plan.trial.ranks) {
    const std::string& name =
        measured.plan.trial.hosts[static_cast<std::size_t>(rank.host)].host.name;
    const std::size_t host = index_of(hosts, name);
    if (host == hosts.size() || !names.insert(name).second)
      return fail(ErrorClass::busy, "there was no free slot on every host",
                  "check again when there is: 'train hosts list' shows which are held");
    check.hosts.push_back(host);
  }
  auto links = decode_link_report(measured.line, static_cast<int>(check.hosts.size()));
  if (!links) return tl::make_unexpected(links.error());
  check.links = std::move(*links);
  return check;
}

Result<std::optional<AllReduceCheck>> allreduce_of(const Measured& measured,
                                                   const std::vector<CheckedHost>& hosts) {
  AllReduceCheck check;
  for (const PlannedHost& host : measured.plan.trial.hosts)
    check.hosts.push_back(index_of(hosts, host.host.name));
  for (const PlannedRank& rank : measured.plan.trial.ranks) {
    check.host_of_rank.push_back(rank.host);
    check.gpu_of_rank.push_back(rank.slots.front());
  }
  auto groups = decode_allreduce_groups(measured.line, static_cast<int>(check.host_of_rank.size()));
  if (!groups) return tl::make_unexpected(groups.error());
  check.groups = std::move(*groups);
  return check;
}

int slots_of(const Host& host) {
  return host.slot_indices.empty() ? slot_count(host).value_or(0)
                                   : static_cast<int>(host.slot_indices.size());
}

// The Python of the experiment, else the one that a rank finds.
std::string python_of(const std::vector<CheckedHost>& hosts) {
  for (const CheckedHost& host : hosts)
    if (host.fitness && host.fitness->python) return host.fitness->python->program;
  return "python3";
}

}  // namespace

bool has_nvidia_slots(const CheckedHost& host) {
  return host.fitness && !host.fitness->devices.devices.empty() && slots_of(host.host) > 0 &&
         host.host.slot_type != SlotType::cpu;
}

Result<std::optional<LinkCheck>> check_links(const HostFlags& flags,
                                             const std::vector<CheckedHost>& hosts,
                                             const std::vector<HostFinding>& findings,
                                             std::optional<StopSignals>& signals) {
  std::vector<Host> fit;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    if (fitness_of(findings, i) == Fitness::fit) fit.push_back(hosts[i].host);
  const int count = static_cast<int>(fit.size());
  if (count < 2) return std::nullopt;
  // One rank per host, independent of its slots.
  const auto measured = run_measuring({.flags = flags,
                                       .hosts = std::move(fit),
                                       .slots = count,
                                       .command = "train measure-links",
                                       .settings = {"resources.placement=spread"},
                                       .longest_line = longest_link_report},
                                      signals);
  if (!measured) return tl::make_unexpected(measured.error());
  return links_of(*measured, hosts);
}

Result<std::optional<AllReduceCheck>> check_allreduce(
    const HostFlags& flags, const std::vector<EnvironmentEntry>& environment,
    const std::vector<CheckedHost>& hosts, const std::vector<HostFinding>& findings,
    std::optional<StopSignals>& signals) {
  std::vector<Host> able;
  int slots = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (!has_nvidia_slots(hosts[i]) || fitness_of(findings, i) != Fitness::fit) continue;
    able.push_back(hosts[i].host);
    slots += slots_of(hosts[i].host);
  }
  if (able.empty()) return std::nullopt;
  const auto measured =
      run_measuring({.flags = flags,
                     .hosts = std::move(able),
                     .slots = slots,
                     .command = "train measure-allreduce " + shell_quoted(python_of(hosts)),
                     .environment = environment,
                     .longest_line = longest_allreduce_groups},
                    signals);
  if (!measured) return tl::make_unexpected(measured.error());
  return allreduce_of(*measured, hosts);
}

}  // namespace train
