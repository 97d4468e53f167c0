// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "launcher/wire/rank_state.hpp"

namespace train {

/// The signal at which Python prints its stacks: `launcher/rendezvous/hang_stacks.py` registers it
/// with faulthandler. C libraries keep the first real-time signals (from 32 on) for themselves, and
/// programs count up from SIGRTMIN: by default nobody uses those near the top. It is a number
/// because SIGRTMIN and SIGRTMAX depend on the C library.
constexpr int stacks_signal = 61;

/// What each rank does now, given by the pid of its process: one state per rank, in their order.
/// Describes the process of the rank or, while that only waits for a child, its oldest child, and
/// so on. A rank that is gone has pid 0.
///
/// Python is asked for its stacks where the described process has `hang_stacks.py`'s file in
/// `stacks_directory` open and catches `stacks_signal`; empty: no process is asked. All are asked
/// at once; what has not come within `patience` is left out.
///
/// Never reads what needs the lock of a process's memory (its command line, environment or maps),
/// which a stuck process may hold for ever. Even so it may block: for a thread beside the loop.
std::vector<RankState> rank_states(const std::map<int, int>& process_of_rank,
                                   const std::string& stacks_directory,
                                   std::chrono::milliseconds patience);

}  // namespace train
