// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/job_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/jobs/job_notes.hpp"
#include "launcher/formats/slurm_job.hpp"
#include "launcher/placement/placement.hpp"
#include "launcher/task/rerun_request.hpp"

namespace train {

namespace {

// "node08 (drained: disk)", a few of them.
std::string away_text(const SlurmPartition& partition) {
  constexpr std::size_t shown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, partition.away.size()); ++i) {
    const std::string& name = partition.away[i].name;
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", name, partition.away_why.at(name));
  }
  if (partition.away.size() > shown)
    text += fmt::format(" and {} more", partition.away.size() - shown);
  return text;
}

// The nodes of the partition that --include or --exclude leaves out.
std::vector<std::string> excluded_nodes(const Request& request) {
  std::vector<std::string> excluded;
  if (!request.unfiltered) return excluded;
  std::set<std::string> usable;
  for (const Host& host : request.inventory.hosts) usable.insert(host.name);
  for (const Host& host : request.unfiltered->hosts)
    if (!usable.contains(host.name)) excluded.push_back(host.name);
  for (const Host& host : request.partition->away) excluded.push_back(host.name);
  return excluded;
}

// Of all nodes that the job may get: it asks for the same on each.
std::optional<std::int64_t> least_cpus_per_gpu(const HostInventory& nodes) {
  std::optional<std::int64_t> least;
  for (const Host& host : nodes.hosts)
    if (const int gpus = host.accelerators.value_or(0); gpus > 0 && host.cpus)
      least = std::min(least.value_or(INT64_MAX), host.cpus->whole() / gpus);
  return least;
}

Result<void> check_job(const Request& request, const Plan& plan, const RerunRequest& kept) {
  const SearchSize& search = plan.experiment.search;
  if (plan.trials && plan.trials->limit == TrialCounts::Limit::hosts && !search.most_at_once &&
      !search.most_slots)
    return fail(ErrorClass::config,
                "a search in a job of Slurm has to say how many of its trials run at once: as it "
                "is, they would take the whole partition",
                "--set searcher.max_concurrent_trials=4, or --set resources.max_slots=8");
  const auto& hosts = request.inventory.hosts;
  if (std::any_of(hosts.begin(), hosts.end(),
                  [](const Host& host) { return !host.slot_indices.empty(); }))
    return fail(ErrorClass::usage, "Slurm chooses the slots of a node",
                "let --include and --exclude name nodes alone");
  if (!kept.withheld.empty())
    return fail(ErrorClass::no_input,
                fmt::format("--set {} is a secret, and is not written into the script of a job",
                            kept.withheld.front()),
                "write it in the experiment's file, which the job reads, or use --secret");
  return {};
}

}  // namespace

tl::expected<Plan, Refusal> plan_on_partition(const Request& request) {
  auto plan = make_plan(request.experiment, request.inventory, {}, request.user_variables);
  if (plan || !request.partition || request.partition->away.empty() || request.unfiltered)
    return plan;
  HostInventory all = request.inventory;
  all.hosts.insert(all.hosts.end(), request.partition->away.begin(), request.partition->away.end());
  if (!make_plan(request.experiment, all, {}, request.user_variables)) return plan;
  Refusal later = std::move(plan.error());
  later.kind = Refusal::Kind::busy;
  later.reasons.push_back("it fits once these nodes take jobs again: " +
                          away_text(*request.partition));
  return tl::make_unexpected(std::move(later));
}

Result<JobScript> script_of_job(const Request& request, const RequestFlags& flags, const Plan& plan,
                                const JobWords& words) {
  RerunRequest kept = rerun_request_of(request, flags);
  if (const auto checked = check_job(request, plan, kept); !checked)
    return tl::make_unexpected(checked.error());
  const auto folder = jobs_folder();
  if (!folder) return tl::make_unexpected(folder.error());
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error)
    return fail(ErrorClass::no_input, "this program does not find itself in /proc/self/exe");
  const std::string task = words.task.empty() ? "TASK" : words.task;
  SlurmJobBody body{.program = program.string(),
                    .directory = kept.directory,
                    .output = job_output(*folder, task),
                    .words = {"launch", "--in-job", task},
                    .input = encode_rerun(kept)};
  while (body.input.ends_with('\n')) body.input.pop_back();
  if (words.task.empty()) body.input = "(what is asked for, as JSON)";
  body.words.insert(body.words.end(), words.flags.begin(), words.flags.end());
  const SlurmJob job{.task = words.task,
                     .partition = request.partition->name,
                     .gpu_type = request.partition->gpu_type,
                     .excluded = excluded_nodes(request),
                     .cpus_per_gpu = least_cpus_per_gpu(request.inventory),
                     .limit = request.partition->limit};
  std::vector<std::string> options = slurm_job_options(plan, job);
  std::string text = slurm_directives(options) + slurm_job_body(body);
  return JobScript{body.program, std::move(options), std::move(text)};
}

}  // namespace train
