// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// The answer of a host that was asked to end what a dead agent has left there.
struct SweepReport {
  bool is_running = false;   ///< the agent still lives: nothing was touched
  bool found_state = false;  ///< the agent had not cleaned up
  int ended = 0;             ///< number of processes ended by the sweep
  std::vector<message::Survivor> survivors = {};
  /// The living agent was told to stop its ranks and leave. Not sent: set by the launcher that has
  /// told it.
  bool was_dismissed = false;

  bool operator==(const SweepReport&) const = default;
};

/// Longest text of a report; only the first survivors are sent if not all fit.
constexpr std::size_t longest_sweep_report = 64u << 10;

/// Encodes one line, with its newline.
std::string encode_sweep_report(const SweepReport& report);
/// Decodes the line without its newline; class `host` if it is malformed.
Result<SweepReport> decode_sweep_report(std::string_view line);

}  // namespace train
