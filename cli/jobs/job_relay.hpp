// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/surroundings/exit_code.hpp"
#include "launcher/task/job_note.hpp"

namespace train {

/// What the streams of a program on the node of a launcher are.
enum class StepStreams {
  lines,     ///< pipes; what does not end with a newline comes at the end
  bytes,     ///< a terminal for its standard output, which changes nothing, and pipes
  terminal,  ///< this terminal
};

/// The words that run a command on a node of a job, as a step of it, in the working directory of
/// this process.
std::vector<std::string> relay_words(const std::string& job, const std::string& host,
                                     const std::vector<std::string>& command, StepStreams streams);

/// Refuses tasks in jobs among several that a command names; nothing: there are none.
std::optional<ExitCode> refuse_among_others(const std::vector<std::string>& tasks);

/// Runs a command on a task where its launcher is, if that is in a job: this process becomes
/// `srun`. `arguments` are all of the command line; `command` is the one of `train task`, or
/// "forward". If the job has not begun, says so (75), or cancels it; `attach` and
/// `wait` follow it. Nothing: the task is none of a
/// job, or its record is here and the job has ended, so that the command is to be run here.
std::optional<ExitCode> relay_to_job(const std::string& command, const std::string& task,
                                     const std::vector<std::string>& arguments);

}  // namespace train
