// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config_schema/text/error.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

// How a task ended, in a small file beside its logs. The registry may be full, locked or damaged
// when a task ends; the space of this file is reserved when the task begins and it is written in
// place, so a full disk does not prevent writing it. The file stays until the registry has the end.

/// Creates the file with room for the end of a task with this number of ranks. Errors are of class
/// `no_input`.
Result<void> reserve_task_end(const std::string& path, std::size_t ranks);

/// Writes state, times, exit code, cause and results of the ranks, and waits for the disk.
Result<void> write_task_end(const std::string& path, const TaskRecord& task);

/// Updates `task`, as read from the registry, with the end in the file. False, with nothing
/// changed, when no end was written, or only a part of it.
bool read_task_end(const std::string& path, TaskRecord& task);

}  // namespace train
