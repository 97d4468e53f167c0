// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/text/environment_map.hpp"

namespace train {

/// A value that only a launch can know. Plans print it as `{"at_launch": "<name>"}`.
enum class AtLaunch {
  no,                    ///< the value is known: `text`
  task_id,               ///< filled in by the launcher
  rendezvous_address,    ///< address of rank 0's host that the other hosts reach
  rendezvous_port,       ///< free port on rank 0's host, held by its agent
  rendezvous_host,       ///< the address as it stands before ":port": IPv6 in brackets
  rendezvous_endpoint,   ///< address:port
  megascale_address,     ///< address of the first host of the first TPU slice
  megascale_port,        ///< free port there, held by its agent
  tensorflow_cluster,    ///< address:port of every rank, each port held by its agent, as TF_CONFIG
  run_directory,         ///< the task's own directory on the rank's host
  checkpoint_directory,  ///< the trial's own, in the folder that all hosts share
  error_file,            ///< where this rank may write its error, on its host
  metrics_file,          ///< to which this rank may append what it measures, on its host
  stop_file,             ///< which appears on the rank's host when its ranks are to stop
  hyperparameters,       ///< what the search chose for this trial
  hyperparameters_file,  ///< on the rank's host: JSON that is too long for a variable
  data_file,             ///< the same for `data`
  cuda_devices,       ///< of slots: NVIDIA's GPUs; none where slots are places; not set for AMD's
  rocm_devices,       ///< of slots: AMD's GPUs; not set where they are anything else
  device_positions,   ///< of the rank's devices among those; not set where slots are places
  network_interface,  ///< by which the host's peers reach it
  nccl_interface,     ///< the same as NCCL reads it; not set where others are as good
  backend,            ///< nccl where slots are GPUs, gloo where they are places
  threads,            ///< of cores that a rank is bound to: for each of its workers, of so many
};

std::string_view to_string(AtLaunch fact);
/// The fact of that name; `AtLaunch::no` when there is none.
AtLaunch at_launch_from_string(std::string_view name);

/// One variable of one rank.
struct EnvironmentEntry {
  std::string name;
  std::string text;  ///< the value; when it is not known, what it is made of: "0,1" (slots)
  AtLaunch at_launch = AtLaunch::no;  ///< what the value will be, when it is not
  bool secret = false;                ///< shown redacted everywhere
  bool is_default = false;            ///< gives way to what the host's session says

  bool operator==(const EnvironmentEntry&) const = default;
};

/// What users want in the environments of all ranks, with every value known; what they want on one
/// host is in `Host::env`.
struct UserVariables {
  /// Those of the launcher's variables that it forwards; all else that users say is stronger.
  std::vector<EnvironmentEntry> forwarded;
  /// The experiment's `environment`; values that came from the launcher are secret.
  std::vector<EnvironmentEntry> of_experiment;

  bool operator==(const UserVariables&) const = default;
};

/// What the experiment says of the ranks' environment, with the values that it leaves to that of
/// the launcher. Variables that have no value in either are an error of class `config` that names
/// each.
Result<UserVariables> resolve_environment(const ExperimentConfig& experiment,
                                          const EnvironmentMap& launcher);

}  // namespace train
