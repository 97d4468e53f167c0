// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace train {

/// What a rank does at one moment, as the kernel and its Python interpreter tell. It is looked at
/// when nothing has come from a trial for its `hang_timeout`.
struct RankState {
  int rank = 0;
  /// The process that is described: of the rank, or, if that only waits for a child, of the child.
  /// 0: it is gone, or could not be looked at in time.
  std::int64_t pid = 0;
  std::string command;  ///< the kernel's short name of it, escaped: "python3"
  /// The state of its main thread: R, S, D, T (stopped), t (traced) or Z; empty: not known.
  std::string state;
  /// The kernel function in which the main thread waits; empty: none, or not known.
  std::string waits_in;
  int threads = 0;
  std::string kernel_stack;  ///< of the main thread, one function a line; empty: it may not be read
  /// What Python's faulthandler printed of all threads, the one that was asked first; empty: it was
  /// not asked, or gave no answer.
  std::string python;

  bool operator==(const RankState&) const = default;
};

/// Limits of the ranks in one message, and of the texts above, in bytes. Where the stacks of a host
/// are longer in all than `longest_stacks`, later ranks come without.
constexpr std::size_t most_rank_states = 256;
constexpr std::chrono::hours longest_heartbeat_age{366 * 24};  ///< an older one is none
constexpr std::size_t longest_state_name = 64;  ///< of a command, or of a kernel function
constexpr std::size_t longest_kernel_stack = 2u << 10;
constexpr std::size_t longest_python_stack = 6u << 10;
constexpr std::size_t longest_stacks = 160u << 10;

}  // namespace train
