// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config_schema/allocation/slurm_partition.hpp"
#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/task/rerun_request.hpp"
#include "launcher/task/task_request.hpp"

namespace train {

/// The flags that name the hosts.
struct HostFlags {
  std::string host_list;                   ///< -H
  std::string host_file;                   ///< --hostfile
  std::optional<TransportKind> transport;  ///< --transport; never `local`
  std::optional<std::string> host_text;    ///< the text of the hosts file, if it was read before
  /// For a rerun: the source of the hosts of the first launch.
  std::optional<HostSource> host_source;
};

/// The flags that `launch` and `plan` have in common.
struct RequestFlags : HostFlags {
  std::string config;                         ///< path; empty: the command alone
  std::optional<std::string> include;         ///< --include
  std::optional<std::string> exclude;         ///< --exclude
  std::string engine;                         ///< --engine; empty: that of the experiment
  std::optional<std::string> context;         ///< --context
  std::optional<int> slots;                   ///< -n
  std::optional<std::uint64_t> global_batch;  ///< --batch
  std::optional<std::string> max_runtime;     ///< --max-runtime
  bool allow_busy = false;                    ///< --allow-busy
  std::optional<std::int64_t> spare_hosts;    ///< --spare
  std::vector<std::string> settings;          ///< --set, in order
  EnvironmentFlags environment;               ///< --env, --env-file and --secret
  std::vector<std::string> command;           ///< after `--`
  ExperimentDefaults defaults;                ///< of the user's file
  /// A command without a file fills its hosts in order. False for a rerun of a launch by an earlier
  /// train that did not.
  bool fills_hosts = true;
  /// A launch in the job that was submitted for it: Slurm has chosen its nodes by the filters.
  bool is_in_own_job = false;
  std::optional<std::string> config_text;  ///< the text of the experiment, if it was read before
};

/// A request that was read and checked, before it is placed.
struct Request {
  ExperimentConfig experiment;
  ExperimentOverrides overrides;  ///< the overrides that the experiment was read with
  std::string experiment_text;    ///< the text of the file; empty without one
  HostInventory inventory;        ///< includes what is known of this machine
  /// The inventory before --include or --exclude was applied; nothing without these flags.
  std::optional<HostInventory> unfiltered;
  std::string host_file;  ///< the file that was read; empty: the hosts have another source
  std::string host_text;  ///< its contents
  HostSource host_source = HostSource::this_machine;
  UserVariables user_variables;
  std::string context_directory;  ///< the directory that is sent to the hosts; empty: none
  /// The nodes that a job of Slurm may get; nothing: the hosts are known.
  std::optional<SlurmPartition> partition;
  std::string hosts_note;  ///< names the scheduler's allocation; empty if the user named the hosts
};

/// The start directory of ranks in their copy of the context: a path inside the context, "" for its
/// root, or the absolute path that the experiment gives.
std::string directory_in_context(const std::string& working_directory);

/// The start directory of the ranks of the experiment: in their copy of the context if there is
/// one, else the absolute path of the directory.
std::string start_directory_of(const ExperimentConfig& experiment,
                               const std::string& context_directory);

/// The changes that the flags make to the experiment. A command without a file gets one rank here;
/// `load_request` then counts the slots of its hosts.
ExperimentOverrides overrides_of(const RequestFlags& flags);

/// Reads the files that the flags name, the allocation of a scheduler, or this machine if no host
/// is named. A command without a file and without a number of ranks takes all slots of the hosts
/// that the user or a scheduler has named, and one slot of this machine, or of a job that is to be
/// submitted. Reports all errors
/// together: of the experiment, of the hosts, and what prevents planning or launching.
Result<Request> load_request(const RequestFlags& flags, ReadFor purpose);

/// Whether flags or $TRAIN_HOSTFILE name hosts.
bool names_hosts(const HostFlags& flags);
/// Whether $TRAIN_HOSTFILE or the allocation of a scheduler does, where flags name none.
bool environment_names_hosts();

/// The named hosts, or those of a scheduler's allocation (then `note` says so), or this machine:
/// for queries, not for planning. This machine is not probed.
Result<HostInventory> load_hosts(const HostFlags& flags, std::string& note);

/// Fills in the settings that depend on the kind of launch: ranks of a detached launcher outlive
/// it, and do not block when it falls behind.
void settle_for_launcher(ExperimentConfig& experiment, bool is_detached);

/// All that another process needs to make the same plan.
TaskRequest task_request_of(const Request& request, const RequestFlags& flags, bool is_detached);
/// What is needed to repeat the launch, without secrets.
RerunRequest rerun_request_of(const Request& request, const RequestFlags& flags);
/// Repeats the plan of the launch. Fails with the errors of the experiment, or with the reason why
/// it cannot be placed.
Result<Plan> plan_again(const TaskRequest& request);
/// The experiment of the request.
Result<ExperimentConfig> experiment_again(const TaskRequest& request);

/// The contents of a regular file of at most 4 MiB, or of a pipe or terminal when `path` is "-":
/// class `no_input` when it cannot be read, `config` or `hosts` when it is larger.
Result<std::string> read_input(const std::string& path, std::string_view what);

}  // namespace train
