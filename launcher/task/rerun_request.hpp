// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/experiment/experiment_config.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// Where the hosts of a launch come from.
enum class HostSource {
  named,         ///< -H, --hostfile or $TRAIN_HOSTFILE
  allocation,    ///< from a scheduler
  this_machine,  ///< default
};

std::string_view to_string(HostSource source);

/// Variables of the ranks from the command line, as written.
struct EnvironmentFlags {
  std::vector<std::string> variables;  ///< --env NAME=VALUE or NAME
  std::vector<std::string> files;      ///< --env-file; relative to the working directory
  std::vector<std::string> secrets;    ///< --secret NAME or NAME=@FILE
};

/// What the user launched, as written: enough to launch the same again, also by a later version of
/// train. It is kept as long as the record of the task. It has neither secrets nor values of the
/// launcher's environment (`TaskRequest` has them, and is removed with the end of the task).
struct RerunRequest {
  std::string config;                 ///< name of the experiment's file; empty: there was none
  std::string experiment_text;        ///< with "(redacted)" in place of secrets
  bool has_redactions = false;        ///< whether there were secrets
  ExperimentOverrides overrides;      ///< without settings that contain secrets
  std::vector<std::string> withheld;  ///< the keys of those settings
  EnvironmentFlags environment;
  /// Nothing: not known.
  std::optional<HostSource> host_source;
  std::string host_list;  ///< -H
  std::string host_file;  ///< --hostfile, or the file named by the environment
  std::string host_text;  ///< contents of that file
  std::optional<std::string> include;
  std::optional<std::string> exclude;
  std::optional<TransportKind> transport;
  std::optional<std::string> context;  ///< --context
  std::string directory;  ///< the launcher's working directory, absolute; base of relative paths
};

/// Removes secrets from the experiment and the settings of a request; to be called once.
void redact(RerunRequest& request);

/// As one JSON document.
std::string encode_rerun(const RerunRequest& request);
/// The reverse. Class `no_input` if the text is malformed, or written by a newer version.
Result<RerunRequest> decode_rerun(std::string_view text);

}  // namespace train
