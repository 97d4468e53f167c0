// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "launcher/frames/fields.hpp"
#include "launcher/wire/message.hpp"

namespace train {

// Limits of what an agent may send, so that neither a hostile nor a faulty host can fill the memory
// of the launcher. Texts count as JSON, in bytes; decoded they are not longer. Within these limits,
// every message of an agent fits into `max_agent_control_payload`.

constexpr std::size_t longest_error_file = 64u << 10;
constexpr std::size_t longest_words = longest_problem_text;  ///< a message, a hint, a reason
constexpr std::size_t longest_path = 32u << 10;              ///< PATH_MAX bytes of any kind
constexpr std::size_t longest_name = 2u << 10;               ///< of a host or its boot
constexpr std::size_t longest_command = 256;                 ///< of a survivor
constexpr std::size_t most_problems = 24;
constexpr std::size_t most_survivors = 64;
constexpr int most_held_ports = 32'768;
constexpr std::size_t most_attempts = 1'024;  ///< that an agent keeps at a time

/// Limit of the memory for the commands of all ranks of a host, each fully expanded.
constexpr std::size_t most_rank_bytes = 64u << 20;

namespace message {
void fields(auto& f, Described<Survivor> auto& survivor) {
  f.number("pid", survivor.pid);
  f.number("uid", survivor.uid);
  f.text("command", survivor.command, longest_command);
}
}  // namespace message

/// The message with its texts and lists cut to the limits of an agent. Removed list elements are
/// counted in an additional problem or in `more_survivors`.
Message within_limits(Message message);

}  // namespace train
