// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config_schema/error.hpp"
#include "launcher/ports/process_spawner.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// What a rank executes on this host: its program, looked up in its own PATH from its working
/// directory, and the session environment of this process, without what other launchers left in it,
/// with the rank's variables over it. Class `missing` when directory or program is not there or
/// cannot be used.
Result<ProcessSpec> process_of_rank(const RankCommand& command);

}  // namespace train
