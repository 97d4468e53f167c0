// SPDX-License-Identifier: Apache-2.0
#include "cli/link_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "backends/log/log_reader.hpp"
#include "cli/launch.hpp"
#include "cli/talk.hpp"
#include "launcher/placement/placement.hpp"
#include "launcher/placement/refusal.hpp"

namespace train {

namespace {

// All that the rank has printed on standard output.
Result<std::string> output_of(const TaskRecord& task, int rank) {
  LogDirectory directory(task.log_directory);
  if (auto listed = directory.refresh(); !listed) return tl::make_unexpected(listed.error());
  LogReader reader(directory, rank_log_file(task.log_directory, rank));
  std::string text;
  while (text.size() <= longest_link_report) {
    const auto next = reader.peek();
    if (!next) return tl::make_unexpected(next.error());
    if (!*next) break;
    const bool is_output = (*next)->record.stream == OutputStream::out;
    const auto bytes = reader.take();
    if (!bytes) return tl::make_unexpected(bytes.error());
    if (*bytes && is_output) text += **bytes;
  }
  return text;
}

// Of a session that greets its users nothing but the last line counts.
std::string_view last_line(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text.substr(text.rfind('\n') + 1);
}

// A rank on each host, whatever its slots are.
RequestFlags flags_for(const HostFlags& hosts, std::size_t count) {
  RequestFlags flags;
  static_cast<HostFlags&>(flags) = hosts;
  // Ranks find it by PATH, but their agent, which looks for the program, has another.
  flags.command = {"/bin/sh", "-c", "exec train measure-links"};
  flags.slots = static_cast<int>(count);
  flags.settings = {"name=check", "resources.placement=spread", "max_restarts=0"};
  flags.fills_hosts = false;
  return flags;
}

Result<LinkCheck> measured(const TaskRecord& task, const Plan& plan,
                           const std::vector<CheckedHost>& hosts) {
  LinkCheck check;
  std::set<std::string> names;
  for (const PlannedRank& rank : plan.trial.ranks) {
    const std::string& name = plan.trial.hosts[static_cast<std::size_t>(rank.host)].host.name;
    const auto host = std::find_if(hosts.begin(), hosts.end(),
                                   [&](const auto& each) { return each.host.name == name; });
    if (host == hosts.end() || !names.insert(name).second)
      return fail(ErrorClass::busy, "there was no free slot on every host",
                  "check again when there is: 'train hosts list' shows which are held");
    check.hosts.push_back(static_cast<std::size_t>(host - hosts.begin()));
  }
  const auto text = output_of(task, 0);
  if (!text) return tl::make_unexpected(text.error());
  auto links = decode_link_report(last_line(*text), static_cast<int>(check.hosts.size()));
  if (!links) return tl::make_unexpected(links.error());
  check.links = std::move(*links);
  return check;
}

}  // namespace

Result<std::optional<LinkCheck>> check_links(const HostFlags& flags,
                                             const std::vector<CheckedHost>& hosts,
                                             const std::vector<HostFinding>& findings,
                                             std::optional<StopSignals>& signals) {
  std::vector<Host> fit;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    if (fitness_of(findings, i) == Fitness::fit) fit.push_back(hosts[i].host);
  if (fit.size() < 2) return std::nullopt;
  LaunchFlags launch;
  launch.request = flags_for(flags, fit.size());
  launch.tee.mode = Tee::Mode::none;
  auto request = load_request(launch.request, ReadFor::launching);
  if (!request) return tl::make_unexpected(request.error());
  request->inventory.hosts = std::move(fit);
  request->inventory.warnings.clear();  // they were said
  auto plan = make_plan(request->experiment, request->inventory, {}, request->user_variables);
  if (!plan) return tl::make_unexpected(to_error(plan.error()));
  const auto launched = launch_to_the_end(*request, *plan, launch, {}, signals);
  if (!launched) return tl::make_unexpected(launched.error());
  if (!launched->ended.last_words.empty()) talk(launched->ended.last_words);
  if (launched->ended.code.value() != 0)
    return fail(ErrorClass::host,
                fmt::format("the task that measures them has failed (exit {})",
                            launched->ended.code.value()),
                fmt::format("'train task logs {}' shows why", launched->task.id));
  auto check = measured(launched->task, *plan, hosts);
  if (!check) return tl::make_unexpected(check.error());
  return std::move(*check);
}

}  // namespace train
