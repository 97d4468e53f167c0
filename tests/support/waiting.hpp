// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <thread>
#include <utility>

namespace train::testing {

/// How many times slower this machine is now than an idle one of two cores, 1 to 10: by the time
/// that a short computation takes beside whatever else runs, or took at the slowest so far. Costs
/// an idle machine 20 ms.
double pace();

/// A limit for an idle machine, as long as the pace of this one asks for: where something else
/// waits.
std::chrono::milliseconds patience(std::chrono::milliseconds limit);

/// Looks until `condition` holds; false when it does not within the limit, which is for an idle
/// machine and is multiplied by the pace of this one, measured again before the answer is false.
bool eventually(const std::function<bool()>& condition,
                std::chrono::milliseconds limit = std::chrono::seconds(10));

/// Waits until there is something to read from the descriptor, or its end; false when nothing comes
/// within the limit, which is for an idle machine.
bool becomes_readable(int fd, std::chrono::milliseconds limit = std::chrono::seconds(10));

/// Whether `condition` holds at every look for so long.
bool stays(const std::function<bool()>& condition,
           std::chrono::milliseconds duration = std::chrono::milliseconds(200));

/// What `look` returns once three looks in a row returned the same, else, after ten seconds, what
/// it returned last. For counts of what comes and goes: a process is there twice while it executes
/// another program.
template <typename Look>
auto settled(const Look& look) {
  auto last = look();
  int same = 0;
  (void)eventually([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    auto seen = look();
    same = seen == last ? same + 1 : 0;
    last = std::move(seen);
    return same == 2;
  });
  return last;
}

}  // namespace train::testing
