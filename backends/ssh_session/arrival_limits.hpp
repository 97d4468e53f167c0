// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace train {

/// In which way a peer sent too much.
enum class Excess {
  none,
  greeting,      ///< before its greeting, the line that begins with "SSH-"
  before_login,  ///< between the greeting and the login
  idle,          ///< after the login: packets without useful bytes
  unread,        ///< it requests answers, and does not read them
};

/// Limits how much a peer may send, so that an SSH server that floods neither blocks the loop nor
/// fills the memory: how much in one turn of its connection, and how much in total without useful
/// bytes. All limits are in bytes.
class ArrivalLimits {
 public:
  static constexpr std::size_t most_in_a_turn = 1u << 20;
  static constexpr std::size_t most_greeting = 64u << 10;
  static constexpr std::size_t most_before_login = 1u << 20;
  static constexpr std::size_t most_idle = 16u << 20;
  /// The most by which a packet is larger than its useful bytes.
  static constexpr std::size_t most_overhead = 64;

  /// A new turn of the connection begins.
  void begin_turn() { left_in_turn_ = most_in_a_turn; }
  /// How many bytes may still be taken in this turn.
  std::size_t left_in_turn() const { return left_in_turn_; }

  /// Counts bytes that were taken, and returns whether they were too many.
  Excess take(std::string_view bytes);
  /// The login was accepted: from now on only useless bytes count.
  void log_in();
  /// `count` bytes were useful, in either direction.
  void use(std::size_t count);

 private:
  void read_greeting(std::string_view bytes);

  std::size_t left_in_turn_ = most_in_a_turn;
  std::size_t taken_ = 0;  ///< all bytes before the login; after it, useless ones only
  bool has_greeted_ = false;
  bool is_logged_in_ = false;
  std::size_t matched_ = 0;  ///< how many characters of "SSH-" the current line begins with
  bool is_other_line_ = false;
};

}  // namespace train
