// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "launcher/wire/message.hpp"

namespace train {

// What an agent may send, so that neither a hostile host nor an unlucky one fills the memory of the
// launcher. Texts count as JSON, in bytes; whatever fits so is no longer when it was decoded. With
// these, every message of an agent fits into `max_agent_control_payload`.

constexpr std::size_t longest_error_file = 64u << 10;
constexpr std::size_t longest_words = 3u << 10;  ///< a message, a hint, a reason
constexpr std::size_t longest_path = 32u << 10;  ///< PATH_MAX bytes, whatever they are
constexpr std::size_t longest_name = 2u << 10;   ///< of a host, of its boot
constexpr std::size_t longest_command = 256;     ///< of a survivor
constexpr std::size_t most_problems = 24;
constexpr std::size_t most_survivors = 64;
constexpr int most_held_ports = 32'768;
constexpr std::size_t most_attempts = 1'024;  ///< that an agent keeps at a time

/// What the commands of a host's ranks may take in its agent's memory, each with all that it has.
constexpr std::size_t most_rank_bytes = 64u << 20;

/// The text when it takes at most `most` bytes as JSON, else as much of its begin and its end as
/// fits, with " ... " between them. Characters stay whole.
std::string cut_to_json(std::string text, std::size_t most);

/// The message with its texts and lists cut to what an agent may send. What is left out of a list
/// is counted, in the words of a last problem or in `more_survivors`.
Message within_limits(Message message);

}  // namespace train
