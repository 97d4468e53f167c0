// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/surroundings/exit_code.hpp"
#include "launcher/talks/host_report.hpp"

namespace train {

struct AgentAttachFlags {
  std::string key;
  /// The ranks' soft limit of descriptors, where it is not what this process was started with.
  std::optional<std::uint64_t> open_files;
};
/// The host side: `agent attach KEY`, started by the launcher, never by a user. Part of `train`,
/// for this machine, and a program of its own, which travels (agent_main.cpp).
ExitCode agent_attach_command(const AgentAttachFlags& flags);

/// `agent reattach KEY`: the same for an agent that runs.
ExitCode agent_reattach_command(const std::string& key);

/// `agent sweep KEY`: ends what the agent left, if it is dead, and says so on standard output
/// (launcher/talks/sweep_report.hpp).
ExitCode agent_sweep_command(const std::string& key);

/// `agent exec KEY`: runs a command beside a rank (launcher/talks/exec_talk.hpp).
ExitCode agent_exec_command(const std::string& key);

/// `agent get KEY`: sends what a rank has left (launcher/talks/get_talk.hpp).
ExitCode agent_get_command(const std::string& key);

/// `agent look WORD` (`look_word`): says on standard output what the host has and who holds it
/// (launcher/talks/host_report.hpp).
ExitCode agent_look_command(const std::string& word);

/// `agent check WORD`: reads a request and says whether the host is fit
/// (launcher/fitness/host_fitness.hpp).
ExitCode agent_check_command();

/// A look at this machine, for this process itself.
HostReport look_here();

/// `agent wait KEY`: a place in the line of this host, as long as standard input is open
/// (launcher/talks/wait_talk.hpp).
ExitCode agent_wait_command(const std::string& key);

}  // namespace train
