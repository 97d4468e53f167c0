// SPDX-License-Identifier: Apache-2.0
#include "launcher/rendezvous/variable_limit.hpp"

#include <fmt/format.h>

#include "launcher/rendezvous/tensorflow.hpp"

namespace train {
namespace {

void check_variable(const std::string& name, const std::string& value, const Place& place,
                    const std::string& key, std::vector<Diagnostic>& faults) {
  if (is_short_enough(name, value)) return;
  faults.push_back({place, key,
                    fmt::format("variable {} has {} bytes, with its name; Linux takes {}", name,
                                name.size() + 1 + value.size(), longest_variable),
                    "pass large data in a file"});
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

// Made of the shortest addresses there are.
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

std::vector<Diagnostic> oversized_variables(const Plan& plan) {
  std::vector<Diagnostic> faults;
  check_argument(plan.experiment.entrypoint.shell, "the line", faults);
  for (const std::string& word : plan.experiment.entrypoint.argv)
    check_argument(word, "a word", faults);
  for (const EnvironmentVariable& variable : plan.experiment.environment)
    check_variable(variable.name, variable.value.value_or(""), variable.place,
                   "environment." + variable.name, faults);
  for (const PlannedHost& host : plan.trial.hosts)
    for (const auto& [name, value] : host.host.env)
      check_variable(name, value, host.host.place, "env." + name, faults);
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
