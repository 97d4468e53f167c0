// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/frames/frame.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

// The protocol of a connection to `agent exec` (`AgentCall::Verb::exec`), in frames: first an
// exec_talk::Start, then input, output and messages, and last an exec_talk::End. The client ends
// the command by closing the connection.

struct TerminalSize {
  int rows = 0;
  int columns = 0;
  bool operator==(const TerminalSize&) const = default;
};

namespace exec_talk {

/// To the host: run this beside a rank.
struct Start {
  int rank = 0;
  std::vector<std::string> command;      ///< program and arguments, at least one
  std::optional<TerminalSize> terminal;  ///< set: it gets a terminal; nothing: pipes
  std::string terminal_type = {};        ///< TERM
  int trial = 0;                         ///< in a search: the trial of the rank
  bool operator==(const Start&) const = default;
};
/// To the host: the terminal has another size now.
struct Resize {
  TerminalSize size;
  bool operator==(const Resize&) const = default;
};
/// To the host: a signal for the command and what it has started.
struct Signal {
  int number = 0;
  bool operator==(const Signal&) const = default;
};
/// To the host: the end of the input.
struct EndOfInput {
  bool operator==(const EndOfInput&) const = default;
};
/// A heartbeat: from the client every few seconds, and from the host in answer. A side that hears
/// nothing for `longest_exec_silence` considers the other one gone.
struct Alive {
  bool operator==(const Alive&) const = default;
};
/// How many bytes of the other side were consumed since the beginning. To the host: bytes of output
/// that the client has written; the host reads at most `exec_window` more from the command. From
/// the host: bytes of input that the command has read; the client sends at most `exec_window` more.
struct Taken {
  std::uint64_t bytes = 0;
  bool operator==(const Taken&) const = default;
};
/// From the host: how the command ended. Exactly one of code, signal and refusal is set.
struct End {
  std::optional<int> code = {};  ///< 0 .. 255
  std::optional<int> signal = {};
  std::string refusal = {};  ///< why it was not started
  bool is_missing = false;   ///< for a refusal: the program does not exist
  bool rank_ended = false;   ///< and the command was killed for that
  bool operator==(const End&) const = default;
};

}  // namespace exec_talk

using ExecMessage =
    std::variant<exec_talk::Start, exec_talk::Resize, exec_talk::Signal, exec_talk::EndOfInput,
                 exec_talk::Alive, exec_talk::Taken, exec_talk::End>;

inline constexpr milliseconds exec_alive_period{5'000};
inline constexpr milliseconds longest_exec_silence{30'000};

/// Limit of output that is sent and not yet consumed, while the command runs. The rest that it
/// leaves in its pipes at its end comes in addition: at most `longest_exec_rest` of each stream.
inline constexpr std::uint64_t exec_window = std::uint64_t{1} << 20;
inline constexpr std::uint64_t longest_exec_rest = std::uint64_t{4} << 20;

/// The longest piece of a stream in one frame.
inline constexpr std::size_t longest_exec_piece = 64u << 10;

/// Encodes a frame of kind `control`.
std::string encode_exec(const ExecMessage& message);
/// Decodes the payload of such a frame; class `host` if it is malformed.
Result<ExecMessage> decode_exec(std::string_view payload);

/// Bytes of stream 0, 1 or 2 as a frame of kind `output`.
std::string encode_exec_bytes(int stream, std::string_view bytes);
/// The payload of such a frame.
struct ExecBytes {
  int stream = 0;
  std::string_view bytes;
};
Result<ExecBytes> decode_exec_bytes(std::string_view payload);

}  // namespace train
