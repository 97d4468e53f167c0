// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/text/environment_map.hpp"

namespace train {

/// The kind of a value that is known only at launch. Plans print it as `{"at_launch": "<name>"}`.
enum class AtLaunch {
  no,                    ///< the value is known: `text`
  task_id,               ///< filled in by the launcher
  rendezvous_address,    ///< address of rank 0's host that the other hosts reach
  rendezvous_port,       ///< free port on rank 0's host, reserved by its agent
  rendezvous_host,       ///< the address in the form before ":port": IPv6 in brackets
  rendezvous_endpoint,   ///< address:port
  megascale_address,     ///< address of the first host of the first TPU slice
  megascale_port,        ///< free port there, reserved by its agent
  tensorflow_cluster,    ///< TF_CONFIG with address:port of every rank, reserved by its agent
  run_directory,         ///< the task's directory on the rank's host
  checkpoint_directory,  ///< the trial's directory, in the folder that all hosts share
  error_file,            ///< file on the rank's host to which this rank may write its error
  metrics_file,          ///< file on the rank's host to which this rank may append metrics
  heartbeat_file,        ///< file that this rank may touch to say that it makes progress
  stop_file,             ///< file that appears on the rank's host when its ranks should stop
  hyperparameters,       ///< the search's values for this trial
  hyperparameters_file,  ///< file on the rank's host: JSON that is too long for a variable
  data_file,             ///< the same for `data`
  cuda_devices,          ///< NVIDIA GPUs of the slots; empty if slots are places; not set for AMD
  rocm_devices,          ///< AMD GPUs of the slots; not set for any other kind
  device_positions,   ///< indices of the rank's devices in that list; not set if slots are places
  network_interface,  ///< by which the other hosts reach this one
  nccl_interface,     ///< the same in NCCL's form; not set if others are as good
  backend,            ///< nccl if slots are GPUs, gloo if they are places
  threads,            ///< number of cores that a rank is bound to, divided among its workers
};

std::string_view to_string(AtLaunch fact);
/// The kind of that name; `AtLaunch::no` if there is none.
AtLaunch at_launch_from_string(std::string_view name);

/// One variable of one rank.
struct EnvironmentEntry {
  std::string name;
  std::string text;                   ///< the value; if it is not known, its input: "0,1" (slots)
  AtLaunch at_launch = AtLaunch::no;  ///< the kind of an unknown value
  bool secret = false;                ///< shown redacted everywhere
  bool is_default = false;            ///< the host's session environment overrides it

  bool operator==(const EnvironmentEntry&) const = default;
};

/// The variables that users set for all ranks, with all values known; those for one host are in
/// `Host::env`.
struct UserVariables {
  /// Variables forwarded from the launcher's environment; all other settings of users override
  /// them.
  std::vector<EnvironmentEntry> forwarded;
  /// The experiment's `environment`; values that come from the launcher are secret.
  std::vector<EnvironmentEntry> of_experiment;

  bool operator==(const UserVariables&) const = default;
};

/// The experiment's variables for ranks; where it gives no value, that of `secrets`, or else of the
/// launcher's environment. Variables without a value in either are an error of class `config` that
/// names each.
Result<UserVariables> resolve_environment(const ExperimentConfig& experiment,
                                          const EnvironmentMap& launcher,
                                          const EnvironmentMap& secrets = {});

}  // namespace train
