// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config_schema/allocation/slurm_queue.hpp"
#include "launcher/ports/clock.hpp"
#include "launcher/task/job_note.hpp"

namespace train {

/// The folder of the notes in the state directory: a file for each task (0600).
Result<std::string> jobs_folder();

/// Keeps a note, in place of one of the same task. The folder must be there.
Result<void> keep_note(const JobNote& note);
/// All notes, the newest first; those that cannot be read are left out.
std::vector<JobNote> read_notes();
/// The note of the task whose id begins so; nothing if none does, or several do.
std::optional<JobNote> find_note(const std::string& prefix);
void drop_note(const std::string& task);

/// What Slurm says of these jobs, by their ids; one that it does not know any more is missing.
/// Blocks, but no longer than the limit.
Result<std::map<std::string, QueuedJob>> ask_for_queue(const std::vector<std::string>& jobs,
                                                       milliseconds limit);

/// The file of what a job says before its task is recorded. In the folder of this machine; a job
/// has the same path on its node.
std::string job_output(const std::string& folder, const std::string& task);

}  // namespace train
