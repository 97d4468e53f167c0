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
  /// The ranks' soft limit of open files, if it differs from the one this process was started with.
  std::optional<std::uint64_t> open_files;
};
/// The host side: `agent attach KEY`, started by the launcher, never by a user. It is part of
/// `train`, for this machine, and of the agent program that is sent to hosts (agent_main.cpp).
ExitCode agent_attach_command(const AgentAttachFlags& flags);

/// `agent reattach KEY`: the same for an agent that is already running.
ExitCode agent_reattach_command(const std::string& key);

/// `agent sweep KEY`: if the agent is dead, ends the processes that it left; reports the result on
/// standard output (launcher/talks/sweep_report.hpp).
ExitCode agent_sweep_command(const std::string& key);

/// `agent exec KEY`: runs a command beside a rank (launcher/talks/exec_talk.hpp).
ExitCode agent_exec_command(const std::string& key);

/// `agent get KEY`: sends the results that a rank has left on the host
/// (launcher/talks/get_talk.hpp).
ExitCode agent_get_command(const std::string& key);

/// `agent look WORD` (`look_word`): prints on standard output the host's resources and their
/// holders (launcher/talks/host_report.hpp).
ExitCode agent_look_command(const std::string& word);

/// `agent check WORD`: reads a request and reports whether the host is fit
/// (launcher/fitness/host_fitness.hpp).
ExitCode agent_check_command();

/// The same report for this machine, made by this process itself.
HostReport inspect_this_machine();

/// `agent wait KEY`: holds a ticket in the queue of this host while standard input is open
/// (launcher/talks/wait_talk.hpp).
ExitCode agent_wait_command(const std::string& key);

}  // namespace train
