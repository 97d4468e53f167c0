// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "backends/process/file_calls.hpp"
#include "config_schema/error.hpp"
#include "launcher/ports/process_spawner.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// The environment of this process, by name.
std::map<std::string, std::string> session_environment();

/// What a rank executes on this host: its program, looked up in its own PATH from its working
/// directory, and the session environment of this process, without what other launchers left in it,
/// with the rank's variables over it. Class `missing` when directory or program is not there or
/// cannot be used, `host` when the host cannot tell.
Result<ProcessSpec> process_of_rank(const RankCommand& command, FileCalls* calls = nullptr);

}  // namespace train
