// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/command/process_link.hpp"
#include "backends/command/program_search.hpp"
#include "backends/event_loop/loop.hpp"
#include "launcher/ports/transport.hpp"

namespace train {

/// How to run the commands of a hosts file.
struct CommandOptions : ProcessLinkOptions {
  std::string search_path;               ///< $PATH, in which the programs are searched
  std::vector<std::string> environment;  ///< of the commands: "NAME=value"
};

struct CommandShared;

/// Reaches hosts by `Host::command`, also those of a scheduler's job: one process for each host,
/// which executes the bootstrap there and hands its standard streams to the agent. The words
/// `{host}`, `{address}` and `{user}` stand for what the hosts file says of the host, `{command}`
/// for the line that a shell executes there; without the latter, `/bin/sh -c LINE` is appended.
/// When a link is destroyed, its process ends within a second or two; destroying the transport
/// waits for that. The loop must outlive links and transport.
class CommandTransport final : public Transport {
 public:
  CommandTransport(Loop& loop, CommandOptions options, std::shared_ptr<SetupWindow> window);
  ~CommandTransport() override;

  std::unique_ptr<HostLink> open(const Host& host, const AgentCall& call,
                                 LinkEvents events) override;

 private:
  std::shared_ptr<CommandShared> shared_;
};

/// The arguments of the process for a host, which is given `bootstrap`.
std::vector<std::string> command_arguments(const Host& host, const std::string& bootstrap);

/// The environment of a command whose first word is `program`: `environment`, or of `srun`
/// `environment_for_slurm`.
std::vector<std::string> environment_for(std::string_view program,
                                         const std::vector<std::string>& environment);

}  // namespace train
