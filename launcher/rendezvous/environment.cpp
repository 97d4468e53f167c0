// SPDX-License-Identifier: Apache-2.0
#include "launcher/rendezvous/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "config_schema/hosts/host_fold.hpp"
#include "launcher/rendezvous/groups.hpp"
#include "launcher/rendezvous/variable_limit.hpp"

namespace train {
namespace {

constexpr std::array<std::pair<AtLaunch, std::string_view>, 18> fact_names{{
    {AtLaunch::no, "no"},
    {AtLaunch::task_id, "task_id"},
    {AtLaunch::rendezvous_address, "rendezvous_address"},
    {AtLaunch::rendezvous_port, "rendezvous_port"},
    {AtLaunch::rendezvous_host, "rendezvous_host"},
    {AtLaunch::rendezvous_endpoint, "rendezvous_endpoint"},
    {AtLaunch::megascale_address, "megascale_address"},
    {AtLaunch::megascale_port, "megascale_port"},
    {AtLaunch::tensorflow_cluster, "tensorflow_cluster"},
    {AtLaunch::run_directory, "run_directory"},
    {AtLaunch::error_file, "error_file"},
    {AtLaunch::hyperparameters, "hyperparameters"},
    {AtLaunch::hyperparameters_file, "hyperparameters_file"},
    {AtLaunch::data_file, "data_file"},
    {AtLaunch::cuda_devices, "cuda_devices"},
    {AtLaunch::rocm_devices, "rocm_devices"},
    {AtLaunch::device_positions, "device_positions"},
    {AtLaunch::backend, "backend"},
}};

RankView view_of(const Plan& plan, int rank, const CrossRanks& cross_ranks) {
  const PlannedRank& planned = plan.trial.ranks[rank];
  return {plan, planned, plan.trial.hosts[planned.host], cross_ranks};
}

void add_train_groups(const RankView& view, Variables& variables) {
  add_rendezvous(view, variables);
  add_devices(view, variables);
  add_slice(view, variables);
  add_own(view, variables);
}

std::set<std::string> secrets_of(const ExperimentConfig& experiment) {
  std::set<std::string> names;
  for (const EnvironmentVariable& variable : experiment.environment)
    if (!variable.value) names.insert(variable.name);
  return names;
}

// From the weakest to the strongest: what the launcher forwards, what the host declares, what the
// experiment says.
void add_user_groups(const RankView& view, const std::vector<EnvironmentVariable>& user,
                     const std::set<std::string>& secrets, const LauncherEnvironment& launcher,
                     Variables& variables) {
  for (const std::string& name : view.plan.experiment.forward_environment)
    if (const auto found = launcher.find(name); found != launcher.end())
      variables.set(name, found->second);
  for (const auto& [name, text] : view.host.host.env) variables.set(name, text);
  for (const EnvironmentVariable& variable : user) {
    const std::string text = variable.value.value_or("");
    if (secrets.count(variable.name) > 0)
      variables.set_secret(variable.name, text);
    else
      variables.set(variable.name, text);
  }
}

// Names that train sets on this rank whatever the user says.
Variables own_variables(const Plan& plan, int rank) {
  Variables variables;
  add_train_groups(view_of(plan, rank, CrossRanks()), variables);
  return variables;
}

void warn_of_experiment(const Plan& plan, std::vector<std::string>& lines) {
  if (plan.experiment.environment.empty()) return;
  const Variables own = own_variables(plan, 0);
  std::vector<std::string> ignored;
  for (const EnvironmentVariable& variable : plan.experiment.environment)
    if (own.has(variable.name)) ignored.push_back(variable.name);
  if (!ignored.empty())
    lines.push_back(fmt::format("environment: train sets {}; the value given is not used",
                                fmt::join(ignored, ", ")));
}

void warn_of_hosts(const Plan& plan, std::vector<std::string>& lines) {
  std::vector<std::string> hosts;
  std::string example;
  for (const PlannedHost& host : plan.trial.hosts) {
    if (host.host.env.empty()) continue;
    const Variables own = own_variables(plan, host.first_rank);
    const auto found = std::find_if(host.host.env.begin(), host.host.env.end(),
                                    [&](const auto& each) { return own.has(each.first); });
    if (found == host.host.env.end()) continue;
    if (hosts.empty()) example = found->first;
    hosts.push_back(host.host.name);
  }
  if (!hosts.empty())
    lines.push_back(fmt::format("env of {}: train sets {}; the value given is not used",
                                summarize_hosts(hosts), example));
}

void warn_of_shared_batch(const Plan& plan, std::vector<std::string>& lines) {
  if (!is_host_launcher(plan.experiment) || !plan.trial.batch_sum) return;
  std::vector<std::string> hosts;
  for (const PlannedRank& rank : plan.trial.ranks) {
    const PlannedHost& host = plan.trial.hosts[rank.host];
    if (*rank.batch_size % static_cast<std::uint64_t>(host.worker_count) != 0)
      hosts.push_back(host.host.name);
  }
  if (!hosts.empty())
    lines.push_back(fmt::format(
        "processes: per_host gives the workers of a host one environment, and on {} their batch "
        "sizes differ: TRAIN_BATCH_SIZE is not set there",
        summarize_hosts(hosts)));
}

// Its collective strategy multiplies the devices of one worker by the number of workers. With a
// process per rank all have the same.
void warn_of_unequal_workers(const Plan& plan, std::vector<std::string>& lines) {
  if (plan.experiment.framework != Framework::tensorflow) return;
  const std::vector<PlannedHost>& hosts = plan.trial.hosts;
  const auto other = std::find_if(hosts.begin(), hosts.end(), [&](const PlannedHost& host) {
    return host.slots_are_gpus && host.worker_count / host.rank_count !=
                                      hosts.front().worker_count / hosts.front().rank_count;
  });
  if (other == hosts.end()) return;
  lines.push_back(fmt::format(
      "TensorFlow takes all workers to have as many GPUs: that of {} has {}, that of {} has {}",
      hosts.front().host.name, hosts.front().slots.size(), other->host.name, other->slots.size()));
}

}  // namespace

std::string_view to_string(AtLaunch fact) {
  for (const auto& [each, name] : fact_names)
    if (each == fact) return name;
  return "no";
}

AtLaunch at_launch_from_string(std::string_view name) {
  for (const auto& [fact, each] : fact_names)
    if (each == name) return fact;
  return AtLaunch::no;
}

Result<std::vector<EnvironmentVariable>> resolve_environment(const ExperimentConfig& experiment,
                                                             const LauncherEnvironment& launcher) {
  std::vector<EnvironmentVariable> resolved;
  Error missing{ErrorClass::config, {}};
  for (const EnvironmentVariable& variable : experiment.environment) {
    resolved.push_back(variable);
    if (variable.value) continue;
    if (const auto found = launcher.find(variable.name); found != launcher.end())
      resolved.back().value = found->second;
    else
      missing.diagnostics.push_back(
          {.place = variable.place,
           .key = "environment." + variable.name,
           .message = fmt::format("{} is to be taken from the launcher's environment, where it is "
                                  "not set",
                                  variable.name),
           .hint = fmt::format("export {} first, or give it a value", variable.name)});
  }
  if (!missing.diagnostics.empty()) return tl::make_unexpected(std::move(missing));
  return resolved;
}

RankEnvironments::RankEnvironments(const Plan& plan, const std::vector<EnvironmentVariable>& user,
                                   const LauncherEnvironment& launcher)
    : plan_(plan), user_(user), launcher_(launcher), secrets_(secrets_of(plan.experiment)) {
  if (plan.experiment.framework == Framework::horovod) cross_ranks_ = CrossRanks(plan.trial);
}

std::vector<EnvironmentEntry> RankEnvironments::of(int rank) const {
  const RankView view = view_of(plan_, rank, cross_ranks_);
  Variables variables;
  add_user_groups(view, user_, secrets_, launcher_, variables);
  add_defaults(view, variables);
  add_train_groups(view, variables);
  return variables.entries();
}

std::vector<EnvironmentEntry> rank_environment(const Plan& plan, int rank,
                                               const std::vector<EnvironmentVariable>& user,
                                               const LauncherEnvironment& launcher) {
  return RankEnvironments(plan, user, launcher).of(rank);
}

std::vector<std::string> environment_warnings(const Plan& plan) {
  std::vector<std::string> lines;
  warn_of_experiment(plan, lines);
  warn_of_hosts(plan, lines);
  warn_of_shared_batch(plan, lines);
  warn_of_unequal_workers(plan, lines);
  for (const Diagnostic& fault : oversized_variables(plan))
    lines.push_back("launch refuses this: " + fault.message);
  return lines;
}

bool is_scrubbed(std::string_view name) {
  constexpr std::array<std::string_view, 8> prefixes{"SLURM_", "OMPI_", "PMI_",  "TORCHELASTIC_",
                                                     "PMI2_",  "PMIX_", "PRTE_", "MV2_COMM_WORLD_"};
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) {
    return name.substr(0, prefix.size()) == prefix;
  });
}

std::span<const std::string_view> ruled_out_by(std::string_view name) {
  static constexpr std::array<std::string_view, 3> of_rocr{
      "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"};
  static constexpr std::array<std::string_view, 1> of_oneapi{"ZE_AFFINITY_MASK"};
  if (name == "ROCR_VISIBLE_DEVICES") return of_rocr;
  if (name == "ONEAPI_DEVICE_SELECTOR") return of_oneapi;
  return {};
}

}  // namespace train
