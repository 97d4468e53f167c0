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

/// Where the hosts of a launch are from.
enum class HostSource {
  named,         ///< -H, --hostfile or $TRAIN_HOSTFILE
  allocation,    ///< of a scheduler
  this_machine,  ///< nothing else said any
};

std::string_view to_string(HostSource source);

/// What a task was launched with, as its user wrote it: enough to launch the same once more, by a
/// later train as well. It is kept as long as the record of the task, and has neither secrets nor
/// values of the launcher's environment (`TaskRequest` has, and ends with the task).
struct RerunRequest {
  std::string config;                 ///< the name of the experiment's file; empty: there was none
  std::string experiment_text;        ///< with "(redacted)" in place of secrets
  bool has_redactions = false;        ///< there were some
  ExperimentOverrides overrides;      ///< without the settings that have secrets
  std::vector<std::string> withheld;  ///< the keys of these
  std::optional<HostSource> host_source;  ///< nothing: an earlier train has not kept it
  std::string host_list;                  ///< -H
  std::string host_file;                  ///< --hostfile, or what the environment said in its place
  std::string host_text;                  ///< what was in it
  std::optional<std::string> include;
  std::optional<std::string> exclude;
  std::optional<TransportKind> transport;
  std::optional<std::string> context;  ///< --context
  std::string directory;  ///< the launcher's own, absolute: what is relative is so to it
};

/// Takes secrets out of the experiment and the settings of a request that has none redacted yet.
void redact(RerunRequest& request);

/// As one JSON document.
std::string encode_rerun(const RerunRequest& request);
/// The reverse. Class `no_input` when the text is none, or a newer train's.
Result<RerunRequest> decode_rerun(std::string_view text);

}  // namespace train
