// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace train {

/// How a peer sent too much.
enum class Excess {
  none,
  greeting,      ///< before its greeting, the line that begins with "SSH-"
  before_login,  ///< from there to the login
  idle,          ///< after that: packets that carry nothing
  unread,        ///< it makes us answer, and does not read the answers
};

/// Limits how much a peer may send, so that an SSH server that floods neither keeps the loop from
/// its other work nor fills the memory: how much in one turn of its connection, and how much in
/// all, without what is of use.
class ArrivalLimits {
 public:
  static constexpr std::size_t most_in_a_turn = 1u << 20;
  static constexpr std::size_t most_greeting = 64u << 10;
  static constexpr std::size_t most_before_login = 1u << 20;
  static constexpr std::size_t most_idle = 16u << 20;
  /// By how much a packet is larger than its useful bytes, at most.
  static constexpr std::size_t most_overhead = 64;

  /// The connection has its turn again.
  void begin_turn() { left_in_turn_ = most_in_a_turn; }
  /// How much may still be taken in this turn.
  std::size_t left_in_turn() const { return left_in_turn_; }

  /// Counts bytes that were taken; says whether they were too many.
  Excess take(std::string_view bytes);
  /// The login was accepted: from now on only what is of no use is counted.
  void log_in();
  /// So many bytes were of use, in either direction.
  void use(std::size_t count);

 private:
  void read_greeting(std::string_view bytes);

  std::size_t left_in_turn_ = most_in_a_turn;
  std::size_t taken_ = 0;  ///< before the login; after that, without what was of use
  bool has_greeted_ = false;
  bool is_logged_in_ = false;
  std::size_t matched_ = 0;  ///< how much of "SSH-" the current line begins with
  bool is_other_line_ = false;
};

}  // namespace train
