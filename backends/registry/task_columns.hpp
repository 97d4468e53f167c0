// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace train {

// Must be written as in the partial index of the schema, or SQLite does not use the index.
inline constexpr std::string_view not_final =
    "state IN ('starting', 'waiting', 'running', 'stopping')";

// Matches states that no train has written. Must be written as in its index too.
inline constexpr std::string_view of_no_state =
    "state NOT IN ('starting', 'waiting', 'running', 'stopping', 'succeeded', 'failed', 'killed', "
    "'interrupted', 'timeout', 'lost')";

// These lie before the long columns of a row, so SQLite does not read the long ones.
inline constexpr std::string_view summary_columns =
    "id, name, state, slots, hosts, world_size, user, created, started, ended, restarts, "
    "exit_code, error_class, cause";
inline constexpr std::string_view brief_columns =
    "id, name, state, slots, hosts, world_size, user, created, started, ended, restarts, "
    "exit_code, error_class, cause, working_directory, log_directory, launcher_pid, "
    "stop_grace_ms, context_directory, context_sha256, context_files, context_bytes, "
    "outlives_ms, log_limit, stop_notice_ms, git_commit, git_dirty, ranks";

}  // namespace train
