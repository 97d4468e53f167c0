// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/environment_entry.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace train {
namespace {

constexpr std::array<std::pair<AtLaunch, std::string_view>, 25> fact_names{{
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
    {AtLaunch::checkpoint_directory, "checkpoint_directory"},
    {AtLaunch::error_file, "error_file"},
    {AtLaunch::metrics_file, "metrics_file"},
    {AtLaunch::heartbeat_file, "heartbeat_file"},
    {AtLaunch::stop_file, "stop_file"},
    {AtLaunch::hyperparameters, "hyperparameters"},
    {AtLaunch::hyperparameters_file, "hyperparameters_file"},
    {AtLaunch::data_file, "data_file"},
    {AtLaunch::cuda_devices, "cuda_devices"},
    {AtLaunch::rocm_devices, "rocm_devices"},
    {AtLaunch::device_positions, "device_positions"},
    {AtLaunch::network_interface, "network_interface"},
    {AtLaunch::nccl_interface, "nccl_interface"},
    {AtLaunch::backend, "backend"},
    {AtLaunch::threads, "threads"},
}};

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

Result<UserVariables> resolve_environment(const ExperimentConfig& experiment,
                                          const EnvironmentMap& launcher,
                                          const EnvironmentMap& secrets) {
  UserVariables users;
  for (const std::string& name : experiment.forward_environment)
    if (const auto found = launcher.find(name); found != launcher.end())
      users.forwarded.push_back({.name = name, .text = found->second});
  Error missing{ErrorClass::config, {}};
  for (const EnvironmentVariable& variable : experiment.environment) {
    const std::string* value = variable.value ? &*variable.value : nullptr;
    for (const EnvironmentMap* source : {&secrets, &launcher})
      if (const auto found = source->find(variable.name); !value && found != source->end())
        value = &found->second;
    if (value)
      users.of_experiment.push_back(
          {.name = variable.name, .text = *value, .secret = !variable.value});
    else
      missing.diagnostics.push_back(
          {.place = variable.place,
           .key = "environment." + variable.name,
           .message = fmt::format("{} is to be taken from the launcher's environment, where it is "
                                  "not set",
                                  variable.name),
           .hint = fmt::format("export {0} first, or give it a value: --secret {0}=@FILE",
                               variable.name)});
  }
  if (!missing.diagnostics.empty()) return tl::make_unexpected(std::move(missing));
  return users;
}

}  // namespace train
