// SPDX-License-Identifier: Apache-2.0
#include "launcher/rendezvous/rank_environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config_schema/hosts/host_fold.hpp"
#include "launcher/rendezvous/devices.hpp"
#include "launcher/rendezvous/frameworks.hpp"
#include "launcher/rendezvous/variables.hpp"

namespace train {
namespace {

RankView view_of(const Plan& plan, int rank) {
  const PlannedRank& planned = plan.trial.ranks[rank];
  return {plan, planned, plan.trial.hosts[planned.host]};
}

void add_train_groups(const RankView& view, Variables& variables) {
  add_rendezvous(view, variables);
  add_devices(view, variables);
  add_slice(view, variables);
  add_own(view, variables);
}

// From the weakest to the strongest: variables that the launcher forwards, those of the host, those
// of the experiment.
void add_user_groups(const RankView& view, Variables& variables) {
  const UserVariables& users = view.plan.user_variables;
  for (const EnvironmentEntry& entry : users.forwarded) variables.set(entry);
  for (const auto& [name, text] : view.host.host.env) variables.set(name, text);
  for (const EnvironmentEntry& entry : users.of_experiment) variables.set(entry);
}

// The variables that train sets on this rank regardless of the user's settings.
Variables own_variables(const Plan& plan, int rank) {
  Variables variables;
  add_train_groups(view_of(plan, rank), variables);
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

// TensorFlow's collective strategy multiplies the devices of one worker by the number of workers.
// With a process per rank all have the same number.
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

void check_argument(const std::string& argument, const char* what,
                    std::vector<Diagnostic>& faults) {
  if (argument.size() <= longest_variable) return;
  faults.push_back(
      {{},
       "entrypoint",
       fmt::format("{} of 'entrypoint' has {} bytes; Linux takes {} for one argument of a program",
                   what, argument.size(), longest_variable),
       "write it into a script, and run that"});
}

// Assumes the shortest possible addresses.
void check_tensorflow(const Plan& plan, std::vector<Diagnostic>& faults) {
  if (plan.experiment.framework != Framework::tensorflow) return;
  constexpr const char* shortest = "1.1.1.1:1024";
  const auto workers = static_cast<std::size_t>(plan.trial.world_size);
  const std::size_t bytes =
      tensorflow_config_size(std::vector<std::string>(workers, std::string(shortest)));
  if (bytes > longest_variable)
    faults.push_back(oversized_tensorflow_config(plan.trial.world_size, bytes));
}

}  // namespace

std::vector<EnvironmentEntry> environment_of(const Plan& plan, int rank, int restarts) {
  RankView view = view_of(plan, rank);
  view.restarts = restarts;
  Variables variables;
  add_user_groups(view, variables);
  add_defaults(view, variables);
  add_train_groups(view, variables);
  return variables.entries();
}

bool looks_for_networks(const Plan& plan) {
  return plan.trial.hosts.size() > 1 && plan.experiment.network == NetworkUse::automatic &&
         plan.experiment.framework != Framework::none;
}

std::string checkpoint_directory(const ExperimentConfig& experiment, const std::string& task_id,
                                 int trial) {
  const std::string& root = experiment.checkpoints.directory;
  if (root.empty()) return {};
  return fmt::format("{}{}{}/{}", root, root.ends_with('/') ? "" : "/", task_id, trial);
}

void fill_in_checkpoints(std::vector<EnvironmentEntry>& environment, const std::string& directory) {
  for (EnvironmentEntry& entry : environment) {
    if (entry.at_launch != AtLaunch::checkpoint_directory) continue;
    entry.text = directory;
    entry.at_launch = AtLaunch::no;
  }
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

bool is_short_enough(std::string_view name, std::string_view value) {
  return name.size() + 1 + value.size() <= longest_variable;
}

std::vector<RunFile> run_files(const ExperimentConfig& experiment) {
  std::vector<RunFile> files;
  if (experiment.searched.empty() &&
      !is_short_enough("TRAIN_HPARAMS", experiment.hyperparameters_json))
    files.push_back({hyperparameters_file_name, experiment.hyperparameters_json});
  if (!is_short_enough("TRAIN_DATA", experiment.data_json))
    files.push_back({data_file_name, experiment.data_json});
  return files;
}

std::optional<Diagnostic> oversized_variable(const std::string& name, const std::string& value,
                                             const Place& place, const std::string& key) {
  if (is_short_enough(name, value)) return std::nullopt;
  return Diagnostic{place, key,
                    fmt::format("variable {} has {} bytes, with its name; Linux takes {}", name,
                                name.size() + 1 + value.size(), longest_variable),
                    "pass large data in a file"};
}

std::vector<Diagnostic> oversized_variables(const Plan& plan) {
  std::vector<Diagnostic> faults;
  const auto add = [&faults](std::optional<Diagnostic> fault) {
    if (fault) faults.push_back(std::move(*fault));
  };
  check_argument(plan.experiment.entrypoint.shell, "the line", faults);
  for (const std::string& word : plan.experiment.entrypoint.argv)
    check_argument(word, "a word", faults);
  for (const EnvironmentVariable& variable : plan.experiment.environment)
    add(oversized_variable(variable.name, variable.value.value_or(""), variable.place,
                           "environment." + variable.name));
  for (const PlannedHost& host : plan.trial.hosts)
    for (const auto& [name, value] : host.host.env)
      add(oversized_variable(name, value, host.host.place, "env." + name));
  check_tensorflow(plan, faults);
  return faults;
}

Diagnostic oversized_tensorflow_config(int workers, std::size_t bytes) {
  return {{},
          "framework",
          fmt::format("the TF_CONFIG of each of {} workers has at least {} bytes, since it names "
                      "all of them; Linux takes {} for a variable",
                      workers, bytes, longest_variable),
          "give each worker more devices, or write 'processes: per_host'"};
}

}  // namespace train
