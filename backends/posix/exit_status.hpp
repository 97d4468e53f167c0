// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "config_schema/text/error.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// How a process ended: either by itself, with a code, or by a signal.
struct ExitStatus {
  std::optional<int> code;    ///< 0 .. 255
  std::optional<int> signal;  ///< number
  bool dumped_core = false;
  Instant at{};  ///< when the end was noticed

  bool operator==(const ExitStatus&) const = default;
};

/// Collects the child behind `pidfd`, as of `now`: nothing while it still runs; an error of class
/// `bug` when it is no child of this process or somebody else has collected it. Never blocks. The
/// descriptor stays open. A descriptor, unlike a number, never means another process.
Result<std::optional<ExitStatus>> reap(int pidfd, Instant now);

}  // namespace train
