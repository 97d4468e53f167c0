// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backends/event_loop/loop.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "launcher/run/sweep_driver.hpp"

namespace train {

/// Sweeps these hosts (`SweepDriver`), running the loop until that is over; `limit` at most.
std::vector<Result<SweepReport>> sweep_hosts(Loop& loop, Transport& transport,
                                             const std::vector<AbandonedHost>& hosts,
                                             nanoseconds limit);

/// The answers as lines for the user, what needs no word left out.
TerminalText describe_sweep(const std::vector<AbandonedHost>& hosts,
                            const std::vector<Result<SweepReport>>& answers);

}  // namespace train
