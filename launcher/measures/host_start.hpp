// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// What a host comes to while an attempt starts, in this order. Steps may be missing: a host that
/// is connected already does not log in again, and only some transports tell of logins.
enum class StartStep {
  connected,      ///< the SSH server answers
  logged_in,      ///< the login was accepted
  agent_runs,     ///< the agent runs and answers
  has_context,    ///< the agent has taken the whole context
  is_ready,       ///< all checks are done and leases are taken
  told_to_start,  ///< all hosts are ready, and this one is told to start its ranks
  ranks_started,  ///< its last rank was started
};
constexpr std::size_t start_steps = 7;

/// The start of an attempt on one host.
struct HostStart {
  std::string host = {};
  /// When it came to each step, in milliseconds since the attempt began; nothing: it did not, or
  /// that is not known.
  std::array<std::optional<std::int64_t>, start_steps> at = {};

  const std::optional<std::int64_t>& when(StartStep step) const {
    return at[static_cast<std::size_t>(step)];
  }
  bool operator==(const HostStart&) const = default;
};

/// The start of an attempt.
struct AttemptStart {
  int attempt = 0;
  std::int64_t begun = 0;  ///< when it began, in milliseconds since the Unix epoch
  std::vector<HostStart> hosts = {};

  bool operator==(const AttemptStart&) const = default;
};

/// One line of JSON, with its newline.
std::string encode_start(const AttemptStart& start);
Result<AttemptStart> decode_start(std::string_view line);

}  // namespace train
