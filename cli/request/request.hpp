// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/task/rerun_request.hpp"
#include "launcher/task/task_request.hpp"

namespace train {

/// The flags that say which hosts there are.
struct HostFlags {
  std::string host_list;                   ///< -H
  std::string host_file;                   ///< --hostfile
  std::optional<TransportKind> transport;  ///< --transport; never `local`
  std::optional<std::string> host_text;    ///< what was read of the file before
  std::optional<HostSource> host_source;   ///< of the launch that is repeated
};

/// The flags that `launch` and `plan` have in common.
struct RequestFlags : HostFlags {
  std::string config;                         ///< path; empty: the command alone
  std::optional<std::string> include;         ///< --include
  std::optional<std::string> exclude;         ///< --exclude
  std::optional<std::string> context;         ///< --context
  std::optional<int> slots;                   ///< -n
  std::optional<std::uint64_t> global_batch;  ///< --batch
  std::optional<std::string> max_runtime;     ///< --max-runtime
  bool allow_busy = false;                    ///< --allow-busy
  std::vector<std::string> settings;          ///< --set, in order
  std::vector<std::string> command;           ///< after `--`
  /// A command without a file fills its hosts in order; not so what an earlier train has launched.
  bool fills_hosts = true;
  std::optional<std::string> config_text;  ///< what was read of the file before
};

/// A request that was read and checked, before it is placed.
struct Request {
  ExperimentConfig experiment;
  ExperimentOverrides overrides;  ///< that the experiment was read with
  std::string experiment_text;    ///< the file as it was read; empty without one
  HostInventory inventory;        ///< with what is known of this machine
  /// The inventory before --include or --exclude left out hosts; nothing without one of them.
  std::optional<HostInventory> unfiltered;
  std::string host_file;  ///< that was read; empty: the hosts are from elsewhere
  std::string host_text;  ///< what was in it
  HostSource host_source = HostSource::this_machine;
  UserVariables user_variables;
  std::string context_directory;  ///< that travels to the hosts; empty: none
  std::string hosts_note;  ///< whose allocation the hosts are; empty when the user named them
};

/// Where ranks start in their copy of the context: a path inside of it, "" for the context itself,
/// or the absolute one that the experiment gives.
std::string directory_in_context(const std::string& working_directory);

/// Where the ranks of the experiment start: in their copy of the context, where there is one, else
/// the absolute path of the directory.
std::string start_directory_of(const ExperimentConfig& experiment,
                               const std::string& context_directory);

/// What the flags change in the experiment. A command without a file is one rank by these;
/// `load_request` counts the slots of its hosts.
ExperimentOverrides overrides_of(const RequestFlags& flags);

/// Reads the files that the flags name, the allocation of a scheduler, or this machine where no
/// host is named. A command without a file that says no number takes all slots of the hosts that
/// the user or a scheduler has named, and one of this machine. Errors of the experiment, what keeps
/// it from being planned or launched, and errors of the hosts are all reported.
Result<Request> load_request(const RequestFlags& flags, ReadFor purpose);

/// Whether flags or $TRAIN_HOSTFILE name hosts.
bool names_hosts(const HostFlags& flags);

/// The hosts that are named, or those of a scheduler's allocation (which `note` then says), or this
/// machine: to be asked, not to be planned for. Of this machine nothing is found out.
Result<HostInventory> load_hosts(const HostFlags& flags, std::string& note);

/// Settles what an experiment leaves to how it is launched: ranks of a detached launcher outlive
/// it, and are not held up by it.
void settle_for_launcher(ExperimentConfig& experiment, bool is_detached);

/// All that another process needs to make the same plan.
TaskRequest task_request_of(const Request& request, const RequestFlags& flags, bool is_detached);
/// What it takes to launch the same again, without secrets.
RerunRequest rerun_request_of(const Request& request, const RequestFlags& flags);
/// The plan that the launch has made of it. Errors are those of an experiment, or say why it cannot
/// be placed.
Result<Plan> plan_again(const TaskRequest& request);
/// The experiment that it was made of.
Result<ExperimentConfig> experiment_again(const TaskRequest& request);

/// The contents of a regular file of at most 4 MiB, or of a pipe or terminal when `path` is "-":
/// class `no_input` when it cannot be read, `config` or `hosts` when it is larger.
Result<std::string> read_input(const std::string& path, std::string_view what);

}  // namespace train
