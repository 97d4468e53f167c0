// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// What a host says that was asked to end what a dead agent has left there.
struct SweepReport {
  bool is_running = false;   ///< the agent is not dead: nothing was touched
  bool found_state = false;  ///< it had no time to tidy up
  int ended = 0;             ///< processes that are gone now
  std::vector<message::Survivor> survivors = {};
  /// The agent was not dead, and was told to stop its ranks and leave. Not sent: whoever has told
  /// it knows.
  bool was_dismissed = false;

  bool operator==(const SweepReport&) const = default;
};

/// Longest text of a report; of more survivors than fit, the first are told.
constexpr std::size_t longest_sweep_report = 64u << 10;

/// One line, its end included.
std::string encode_sweep_report(const SweepReport& report);
/// The line without its end; class `host` when it is none.
Result<SweepReport> decode_sweep_report(std::string_view line);

}  // namespace train
