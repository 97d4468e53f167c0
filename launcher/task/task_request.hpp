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

/// What a task was asked for, with every value that its launcher took from elsewhere: all that
/// another supervisor needs to make the same plan of it. It has secrets.
struct TaskRequest {
  std::string config;  ///< the name of the experiment's file; empty: there is none
  std::string experiment_text;
  ExperimentOverrides overrides;
  HostInventory inventory;  ///< with what was known of the launcher's machine; without warnings
  UserVariables user_variables;
  std::string context_directory;  ///< that travels to the hosts; empty: none
  std::string directory;          ///< the launcher's own, absolute: what is relative is so to it
  bool is_detached = false;
  bool is_strict = false;  ///< a search of which one trial fails has failed
  /// What others held when the task was placed, where hosts were asked: the same plan takes it.
  Occupancy occupancy = {};
};

/// As one JSON document.
std::string encode_request(const TaskRequest& request);
/// The reverse: the same, but for the places of hosts in their file. Class `no_input` when the text
/// is not of `encode_request`.
Result<TaskRequest> decode_request(std::string_view text);

}  // namespace train
