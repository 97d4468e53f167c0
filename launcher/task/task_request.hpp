// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/capacity/occupancy.hpp"
#include "launcher/plan/environment_entry.hpp"

namespace train {

/// The request for a task, with every value that its launcher took from elsewhere: all that another
/// supervisor needs to make the same plan. It contains secrets.
struct TaskRequest {
  std::string config;  ///< name of the experiment's file; empty: there is none
  std::string experiment_text;
  ExperimentOverrides overrides;
  HostInventory inventory;  ///< with the facts about the launcher's machine; without warnings
  UserVariables user_variables;
  std::string context_directory;  ///< sent to the hosts; empty: none
  /// The launcher's working directory, absolute; base of relative paths.
  std::string directory;
  bool is_detached = false;
  bool is_strict = false;        ///< a search fails if one trial has failed
  std::string events_file = {};  ///< --events, absolute; empty: none
  /// What other tasks held when the task was placed, if hosts were asked: part of the input of the
  /// plan.
  Occupancy occupancy = {};
};

/// As one JSON document.
std::string encode_request(const TaskRequest& request);
/// The reverse: the same request, except for the positions of hosts in their file. Class `no_input`
/// if the text is not from `encode_request`.
Result<TaskRequest> decode_request(std::string_view text);

}  // namespace train
