// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config_schema/text/error.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

// How a task ended, in a small file beside its logs. The registry may be full, locked or damaged
// when a task ends; this file got its room on the disk when the task began and is written in place,
// so that a full disk does not keep it from being written. It is there until the registry has the
// end.

/// Creates the file with room for the end of a task with so many ranks. Errors are of class
/// `no_input`.
Result<void> reserve_task_end(const std::string& path, std::size_t ranks);

/// Writes state, times, exit code, cause and results of the ranks, and waits for the disk.
Result<void> write_task_end(const std::string& path, const TaskRecord& task);

/// Changes `task`, as the registry has it, to what the file says. False, with nothing changed, when
/// no end was written, or not all of it.
bool read_task_end(const std::string& path, TaskRecord& task);

}  // namespace train
