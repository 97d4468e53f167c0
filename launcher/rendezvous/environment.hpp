// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/plan/plan.hpp"
#include "launcher/rendezvous/cross_ranks.hpp"

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
  error_file,            ///< where this rank may write its error, on its host
  hyperparameters,       ///< what the search chose for this trial
  hyperparameters_file,  ///< on the rank's host: JSON that is too long for a variable
  data_file,             ///< the same for `data`
  cuda_devices,      ///< of slots: NVIDIA's GPUs; none where slots are places; not set for AMD's
  rocm_devices,      ///< of slots: AMD's GPUs; not set where they are anything else
  device_positions,  ///< of the rank's devices among those; not set where slots are places
  backend,           ///< nccl where slots are GPUs, gloo where they are places
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

/// The launcher's environment, as a value.
using LauncherEnvironment = std::map<std::string, std::string>;

/// Variables of user's `environment` that have no value in the file and none in the launcher's
/// environment: an error of class `config` that names each.
Result<std::vector<EnvironmentVariable>> resolve_environment(const ExperimentConfig& experiment,
                                                             const LauncherEnvironment& launcher);

/// Makes the environment of each rank of a plan when it is asked for, in time that does not depend
/// on the number of ranks.
class RankEnvironments {
 public:
  /// `user` is what `resolve_environment` returned. All three must outlive this.
  RankEnvironments(const Plan& plan, const std::vector<EnvironmentVariable>& user,
                   const LauncherEnvironment& launcher);

  /// Exactly the variables that the rank gets on top of its host's session environment, sorted by
  /// name.
  std::vector<EnvironmentEntry> of(int rank) const;

 private:
  const Plan& plan_;
  const std::vector<EnvironmentVariable>& user_;
  const LauncherEnvironment& launcher_;
  std::set<std::string> secrets_;
  CrossRanks cross_ranks_;
};

/// The environment of one rank alone; those of many are cheaper from `RankEnvironments`.
std::vector<EnvironmentEntry> rank_environment(const Plan& plan, int rank,
                                               const std::vector<EnvironmentVariable>& user,
                                               const LauncherEnvironment& launcher);

/// A line for each group of variables of the experiment or of a host that `train` sets itself, so
/// that the value given is not used; and for what the ranks do not get for another reason.
std::vector<std::string> environment_warnings(const Plan& plan);

/// Whether a variable that a host's session brings is kept from the ranks: leftovers of another
/// launcher (`SLURM_*`, `OMPI_*`, `PMI_*`, `TORCHELASTIC_*`, and those of PMIx, PRRTE and MVAPICH).
bool is_scrubbed(std::string_view name);

/// The variables that a host's session brings and a rank's own variable rules out: HIP counts its
/// list of devices within what `ROCR_VISIBLE_DEVICES` leaves, oneAPI within `ZE_AFFINITY_MASK`.
std::span<const std::string_view> ruled_out_by(std::string_view name);

/// What Linux takes for one argument or one variable ("NAME=value") of a program, in bytes: 32
/// pages of 4 KiB, of which one byte is the zero at the end (execve(2), MAX_ARG_STRLEN).
inline constexpr std::size_t longest_variable = (128U << 10) - 1;

/// Whether Linux takes a variable with this name and value.
bool is_short_enough(std::string_view name, std::string_view value);

/// A file that the agents write into the run directory of their host before ranks are started,
/// readable for the user alone.
struct RunFile {
  std::string name;
  std::string text;

  bool operator==(const RunFile&) const = default;
};

inline constexpr const char* hyperparameters_file_name = "hparams.json";
inline constexpr const char* data_file_name = "data.json";

/// JSON that does not fit into TRAIN_HPARAMS and TRAIN_DATA: it goes into files, named by
/// TRAIN_HPARAMS_FILE and TRAIN_DATA_FILE.
std::vector<RunFile> run_files(const ExperimentConfig& experiment);

/// Arguments and variables that no Linux takes, with the place where they were written; also a
/// TF_CONFIG of so many workers that no addresses are short enough for it.
std::vector<Diagnostic> oversized_variables(const Plan& plan);

/// The refusal of a TF_CONFIG of so many bytes.
Diagnostic oversized_tensorflow_config(int workers, std::size_t bytes);

}  // namespace train
