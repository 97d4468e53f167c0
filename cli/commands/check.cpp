// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "cli/commands/commands.hpp"
#include "cli/commands/measured_checks.hpp"
#include "cli/supervisor/host_inquiry.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/talk.hpp"
#include "config_schema/hosts/host_fold.hpp"
#include "launcher/fitness/fitness_json.hpp"
#include "launcher/fitness/link_verdict.hpp"
#include "launcher/fitness/verdict.hpp"
#include "launcher/placement/placement.hpp"
#include "launcher/placement/refusal.hpp"

namespace train {

namespace {

struct CheckFlags {
  RequestFlags request;  ///< without a config: only the hosts are checked
  CheckTier tier = CheckTier::fast;
  std::string data;  ///< an absolute directory that each host reads to measure it; empty: none
  bool json = false;
};

// The checked hosts and the findings about them.
struct HostCheck {
  std::vector<CheckedHost> hosts;
  std::vector<HostFinding> findings;
  std::optional<LinkCheck> links = {};
  std::optional<AllReduceCheck> allreduce = {};
};

// The hosts to check, and what to check them for.
struct Inquiry {
  std::vector<Host> hosts;
  FitnessRequest request;
  /// Number of ranks that the plan starts on each host, by the host's name.
  std::map<std::string, int> ranks;
  std::vector<EnvironmentEntry> environment = {};  ///< set by the experiment, without secrets
};

// The command of a rank, with what is known before a launch; a check needs no secrets.
RankCommand rank_of(const Request& request) {
  RankCommand command;
  command.entrypoint = request.experiment.entrypoint;
  command.working_directory = start_directory_of(request.experiment, request.context_directory);
  for (const auto* entries :
       {&request.user_variables.forwarded, &request.user_variables.of_experiment})
    for (const EnvironmentEntry& entry : *entries)
      if (!entry.secret) command.environment.push_back(entry);
  return command;
}

// An inquiry about the hosts only.
Result<Inquiry> inquiry_of_hosts(const CheckFlags& flags) {
  std::string note;
  auto inventory = load_hosts(flags.request, note);
  if (!inventory) return tl::make_unexpected(inventory.error());
  if (!note.empty()) talk(TerminalText(note));
  talk_warnings(inventory->warnings);
  return Inquiry{std::move(inventory->hosts), {}, {}};
}

Inquiry inquiry_of(const Request& request, const Plan& plan) {
  Inquiry inquiry;
  inquiry.request.rank = rank_of(request);
  inquiry.request.brings_context = !request.context_directory.empty();
  for (const PlannedHost& host : plan.trial.hosts) inquiry.ranks[host.host.name] = host.rank_count;
  inquiry.hosts = request.inventory.hosts;
  for (const EnvironmentEntry& entry : request.user_variables.of_experiment)
    if (!entry.secret) inquiry.environment.push_back(entry);
  return inquiry;
}

// A request that cannot be placed is refused as `plan` refuses it, before any host is queried.
Result<Inquiry> inquiry_of_experiment(const CheckFlags& flags) {
  const auto request = load_request(flags.request, ReadFor::planning);
  if (!request) return tl::make_unexpected(request.error());
  if (!request->hosts_note.empty()) talk(TerminalText(request->hosts_note));
  const auto plan =
      make_plan(request->experiment, request->inventory, Occupancy(), request->user_variables);
  if (!plan) return tl::make_unexpected(to_error(plan.error()));
  talk_warnings(plan->warnings);
  return inquiry_of(*request, *plan);
}

FitnessRequest request_for(const Inquiry& inquiry, const Host& host) {
  FitnessRequest request = inquiry.request;
  request.lease_directory = host.lease_directory;
  const auto ranks = inquiry.ranks.find(host.name);
  request.ranks = ranks == inquiry.ranks.end() ? 0 : ranks->second;
  if (!request.rank) return request;
  for (const auto& [name, value] : host.env) {
    EnvironmentEntry entry;
    entry.name = name;
    entry.text = value;
    request.rank->environment.push_back(std::move(entry));
  }
  return request;
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::vector<std::string> row_of(const CheckedHost& host, const LiveHost& live, Fitness fitness) {
  std::vector<std::string> row = {host.host.name, std::string(to_string(fitness))};
  if (!host.fitness) {
    row.insert(row.end(), 7, "-");
    return row;
  }
  const HostReport& report = host.fitness->host;
  const auto count = [&](std::size_t slots) {
    return live.is_known() ? std::to_string(slots) : std::string("-");
  };
  const PythonFacts python = host.fitness->python.value_or(PythonFacts());
  const auto torch = python.packages.find("torch");
  row.insert(row.end(),
             {count(live.slots.slots.size()), count(free_slots(live)),
              std::to_string(report.gpus.count()), or_dash(report.driver), or_dash(python.version),
              torch == python.packages.end() ? "-" : torch->second, or_dash(clock_text(host))});
  return row;
}

std::string table_of(const HostCheck& check) {
  const std::vector<LiveHost> live = live_hosts_of(check.hosts);
  TableRows rows = {
      {"HOST", "VERDICT", "SLOTS", "FREE", "GPUS", "DRIVER", "PYTHON", "TORCH", "CLOCK"}};
  for (std::size_t i = 0; i < check.hosts.size(); ++i)
    rows.push_back(row_of(check.hosts[i], live[i], fitness_of(check.findings, i)));
  return table_text(std::move(rows));
}

std::size_t count_of(const HostCheck& check, Fitness fitness) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < check.hosts.size(); ++i)
    count += fitness_of(check.findings, i) == fitness ? 1 : 0;
  return count;
}

std::string names_of(const HostCheck& check, const SharedFinding& shared) {
  std::vector<std::string> names;
  for (const std::size_t host : shared.hosts) names.push_back(check.hosts[host].host.name);
  return summarize_hosts(names);
}

ExitCode code_of(Fitness fitness) {
  switch (fitness) {
    case Fitness::fit:
      return ExitCode();
    case Fitness::unfit:
      return ExitCode(1);
    case Fitness::unknown:
      break;
  }
  return ExitCode(2);
}

// The findings, each with its next step, after an empty line; findings that prevent ranks from
// running come first.
std::string findings_text(const HostCheck& check) {
  std::vector<SharedFinding> shared = shared_findings(check.findings);
  std::stable_partition(shared.begin(), shared.end(), [](const SharedFinding& each) {
    return each.finding.fitness != Fitness::fit;
  });
  std::string text;
  for (const SharedFinding& each : shared) {
    const bool is_note = each.finding.fitness == Fitness::fit;
    text += fmt::format("\n{}: {}: {}\n", escaped(names_of(check, each)),
                        is_note ? "note" : to_string(each.finding.fitness),
                        escaped_and_shortened(each.finding.message));
    if (!each.finding.hint.empty())
      text += fmt::format("  {}\n", escaped_and_shortened(each.finding.hint));
  }
  return text;
}

// "1 of 4 hosts is unfit", or that all are fit.
std::string summary_of(const HostCheck& check) {
  const std::size_t unfit = count_of(check, Fitness::unfit);
  const std::size_t unknown = count_of(check, Fitness::unknown);
  const std::size_t all = check.hosts.size();
  if (all == 1)
    return unfit > 0     ? "the host is unfit"
           : unknown > 0 ? "it is not known whether the host is fit"
                         : "the host is fit";
  if (unfit + unknown == 0) return fmt::format("all {} hosts are fit", all);
  std::string text;
  if (unfit > 0)
    text = fmt::format("{} of {} hosts {} unfit", unfit, all, unfit == 1 ? "is" : "are");
  if (unknown == 0) return text;
  if (unfit == 0) return fmt::format("{} of {} hosts could not be checked", unknown, all);
  return fmt::format("{}, {} could not be checked", text, unknown);
}

// The measurements, in a line before the findings.
std::string links_text(const HostCheck& check) {
  if (!check.links) return {};
  std::vector<const LinkFacts*> measured;
  for (const LinkFacts& link : check.links->links)
    if (link.trouble.empty()) measured.push_back(&link);
  if (measured.empty()) return {};
  const auto pair = [&](const LinkFacts& link) {
    const auto name = [&](int rank) { return check.hosts[check.links->host_of(rank)].host.name; };
    return fmt::format("{} - {}", name(link.from), name(link.to));
  };
  const auto slowest =
      *std::min_element(measured.begin(), measured.end(),
                        [](const auto* a, const auto* b) { return a->pace() < b->pace(); });
  const auto longest =
      *std::max_element(measured.begin(), measured.end(),
                        [](const auto* a, const auto* b) { return a->round_trip < b->round_trip; });
  const LinkStandard usual = standard_of(check.links->links);
  return fmt::format("\n{} {}: {} (slowest {}: {}), round trip {} (longest {}: {})\n",
                     measured.size(), measured.size() == 1 ? "link" : "links",
                     pace_text(usual.pace), pace_text(slowest->pace()), escaped(pair(*slowest)),
                     round_trip_text(usual.round_trip), round_trip_text(longest->round_trip),
                     escaped(pair(*longest)));
}

// The read rates of the data directory, also in a line before the findings.
std::string data_text(const HostCheck& check) {
  std::vector<std::pair<std::uint64_t, std::string>> paces;  // with the host's name
  const DataFacts* last = nullptr;
  for (const CheckedHost& host : check.hosts) {
    if (!host.fitness || !host.fitness->data || !host.fitness->data->trouble.empty()) continue;
    last = &*host.fitness->data;
    if (has_pace(*last)) paces.emplace_back(last->pace(), host.host.name);
  }
  if (last == nullptr) return {};
  const std::string directory = escaped_and_shortened(last->directory);
  if (paces.empty())
    return fmt::format("\n{}: its files are too small for a pace to be told\n", directory);
  if (paces.size() == 1) return fmt::format("\n{}: {}\n", directory, rate_text(paces[0].first));
  std::sort(paces.begin(), paces.end());
  return fmt::format("\n{}: {} (slowest {}: {})\n", directory,
                     rate_text(paces[paces.size() / 2].first), escaped(paces.front().second),
                     rate_text(paces.front().first));
}

std::string nccl_text(const HostCheck& check) {
  if (!check.allreduce) return {};
  std::string text;
  for (const std::string& line : allreduce_text(*check.allreduce, check.hosts))
    text += (text.empty() ? "\n" : "") + escaped(line) + "\n";
  return text;
}

void add_findings(HostCheck& check, std::vector<HostFinding> findings) {
  for (HostFinding& finding : findings) check.findings.push_back(std::move(finding));
}

// Adds the finding to each fit host for which `concerns` returns true; `what` ends with "not
// measured".
template <class Concerns>
void add_not_measured(HostCheck& check, const char* word, const char* what, const Error& error,
                      Concerns concerns) {
  const Diagnostic& why = error.diagnostics.front();
  for (std::size_t i = 0; i < check.hosts.size(); ++i)
    if (fitness_of(check.findings, i) == Fitness::fit && concerns(check.hosts[i]))
      check.findings.push_back(
          {i, Fitness::unknown, word, fmt::format("{}: {}", what, why.message), why.hint});
}

// Adds findings about the links between the fit hosts.
void look_at_links(const HostFlags& flags, HostCheck& check, std::optional<StopSignals>& signals) {
  auto links = check_links(flags, check.hosts, check.findings, signals);
  if (!links)
    return add_not_measured(check, "link", "its links were not measured", links.error(),
                            [](const CheckedHost&) { return true; });
  check.links = std::move(*links);
  if (check.links) add_findings(check, judge_links(*check.links, check.hosts));
}

// Adds findings about NCCL on the GPUs of the fit hosts.
void look_at_allreduce(const HostFlags& flags, const Inquiry& inquiry, HostCheck& check,
                       std::optional<StopSignals>& signals) {
  auto measured = check_allreduce(flags, inquiry.environment, check.hosts, check.findings, signals);
  if (!measured)
    return add_not_measured(check, "nccl", "NCCL was not measured", measured.error(),
                            has_nvidia_slots);
  check.allreduce = std::move(*measured);
  if (check.allreduce) return add_findings(check, judge_allreduce(*check.allreduce, check.hosts));
  talk("no slot of a host that is fit is a GPU of NVIDIA: NCCL was not measured");
}

HostCheck look_at(const Inquiry& inquiry, const HostFlags& flags, CheckTier tier) {
  HostCheck check;
  check.hosts = HostInquiry(inquiry.hosts).check([&](const Host& host) {
    return request_for(inquiry, host);
  });
  check.findings = judge(check.hosts);
  // If a signal ended the first task, no host counts as fit for the second one.
  std::optional<StopSignals> signals;
  if (tier != CheckTier::fast) look_at_links(flags, check, signals);
  if (tier == CheckTier::bench) look_at_allreduce(flags, inquiry, check, signals);
  return check;
}

ExitCode check_command(const CheckFlags& flags) {
  const bool has_experiment = !flags.request.config.empty() || !flags.request.command.empty();
  auto inquiry = has_experiment ? inquiry_of_experiment(flags) : inquiry_of_hosts(flags);
  if (!inquiry) return report(inquiry.error());
  inquiry->request.data_directory = flags.data;
  const HostCheck check = look_at(*inquiry, flags.request, flags.tier);
  const ExitCode answered =
      answer(flags.json ? fitness_document(check.hosts, check.findings,
                                           check.links ? &*check.links : nullptr,
                                           check.allreduce ? &*check.allreduce : nullptr)
                        : table_of(check) + data_text(check) + links_text(check) +
                              nccl_text(check) + findings_text(check));
  if (answered.value() != 0) return answered;
  const ExitCode code = code_of(fitness_of(check.findings));
  const std::string summary = summary_of(check);
  talk(TerminalText(code.value() == 0 ? summary
                                      : fmt::format("{} (exit {})", summary, code.value())));
  return code;
}

}  // namespace

Result<bool> leave_fit_hosts(Request& request, const HostFlags& flags, const Plan& plan,
                             CheckTier tier, bool excludes) {
  const HostCheck check = look_at(inquiry_of(request, plan), flags, tier);
  Error unfit{ErrorClass::host, {}};
  for (const SharedFinding& each : shared_findings(check.findings))
    if (each.finding.fitness != Fitness::fit)
      unfit.diagnostics.push_back(
          {{},
           {},
           fmt::format("{}: {}", names_of(check, each), each.finding.message),
           each.finding.hint});
  if (unfit.diagnostics.empty()) return false;
  if (!excludes) {
    unfit.diagnostics.push_back({{},
                                 {},
                                 fmt::format("{}; nothing was started", summary_of(check)),
                                 "--exclude-unfit launches on the others"});
    return tl::make_unexpected(std::move(unfit));
  }
  talk_warnings(unfit.diagnostics);
  std::vector<Host> left;
  std::vector<std::string> gone;
  for (std::size_t i = 0; i < check.hosts.size(); ++i) {
    if (fitness_of(check.findings, i) == Fitness::fit)
      left.push_back(request.inventory.hosts[i]);
    else
      gone.push_back(check.hosts[i].host.name);
  }
  if (left.empty())
    return fail(ErrorClass::host, "no host is fit; nothing was started",
                "the lines above say what each lacks");
  talk(TerminalText(fmt::format("launching without {}", summarize_hosts(gone))));
  request.inventory.hosts = std::move(left);
  return true;
}

void add_check(CLI::App& app, Choice& choice) {
  const auto flags = std::make_shared<CheckFlags>();
  CLI::App* command = app.add_subcommand("check", "Look whether hosts are fit, before a launch");
  command->group("Commands");
  command->footer(
      "Exit codes: 0 all hosts are fit, 1 one is unfit, 2 one could not be checked; others as "
      "everywhere.");
  add_config(*command, flags->request, "check for");
  add_hosts(*command, flags->request);
  add_transport(*command, flags->request.transport);
  command
      ->add_option("--context", flags->request.context,
                   "As for launch: code that this directory brings is not looked for")
      ->type_name("DIR")
      ->check(names("directory"));
  add_overrides(*command, flags->request);
  add_environment(*command, flags->request.environment);
  const auto add_tier = [&](const char* name, CheckTier tier, const char* what) {
    command->add_flag_callback(
        name, [flags, tier] { flags->tier = std::max(flags->tier, tier); }, what);
  };
  add_tier("--full", CheckTier::full,
           "Measure the links between fit hosts as well, with a rank on each");
  add_tier("--bench", CheckTier::bench, "Measure NCCL on their GPUs as well, after the links");
  command
      ->add_option("--data", flags->data,
                   "Read files of this directory on each host, to see how fast they come")
      ->type_name("DIR")
      ->check(
          [](const std::string& path) {
            const bool is_absolute = path.starts_with('/') && path.size() <= longest_data_directory;
            return is_absolute ? "" : "give a path that begins with '/': each host reads its own";
          },
          "");
  command->add_flag("--json", flags->json, "Print JSON");
  command->footer(command->get_footer() +
                  "\n\n"
                  "Examples:\n"
                  "  train check --hostfile hosts.yaml\n"
                  "  train check -H localhost --json");
  command->callback([&choice, flags] {
    flags->request.command = choice.take_command();
    flags->request.defaults = choice.defaults;
    choice.run = [flags] { return check_command(*flags); };
  });
}

}  // namespace train
