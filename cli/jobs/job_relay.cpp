// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/job_relay.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "backends/command/slurm_query.hpp"
#include "cli/jobs/job_notes.hpp"
#include "cli/jobs/job_submission.hpp"
#include "cli/jobs/job_viewers.hpp"
#include "cli/supervisor/task_end.hpp"
#include "cli/surroundings/environment.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "cli/terminal/talk.hpp"
#include "config_schema/allocation/slurm_allocation.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

namespace {

constexpr milliseconds step_limit{10'000};

// The flags of a command, wherever they stand.
std::vector<std::string> words_after(std::vector<std::string> arguments, const std::string& task) {
  arguments.erase(arguments.begin(), arguments.begin() + 2);
  arguments.erase(std::find(arguments.begin(), arguments.end(), task));
  return arguments;
}

StepStreams streams_for(const std::string& command) {
  const bool is_shown = ::isatty(STDOUT_FILENO) == 1;
  if (command == "exec")
    return is_shown && ::isatty(STDIN_FILENO) == 1 ? StepStreams::terminal : StepStreams::bytes;
  return is_shown ? StepStreams::bytes : StepStreams::lines;
}

std::optional<TaskRecord> record_of(const std::string& task) {
  auto store = open_task_store();
  if (!store) return std::nullopt;
  auto found = (*store)->find(task);
  return found ? std::optional(std::move(*found)) : std::nullopt;
}
bool has_record(const std::string& task) { return record_of(task).has_value(); }

ExitCode cancel(const JobNote& note) {
  const auto cancelled = ask_slurm({"scancel", note.job}, step_limit);
  if (!cancelled) return report(cancelled.error());
  talk(terminal_text("task {}: job {} of Slurm is cancelled while it waits", note.task, note.job));
  // The launcher has left the task when its job went back into the queue.
  if (has_record(note.task)) {
    const auto ended = end_left_task(note.task, TaskState::killed, ErrorClass::interrupted,
                                     "its job was cancelled while it waited in Slurm's queue");
    if (!ended) return report(ended.error());
  }
  drop_note(note.task);
  return ExitCode();
}

ExitCode report_pending(const JobNote& note, const QueuedJob& job) {
  return report(make_error(
      ErrorClass::busy,
      fmt::format("task {} is job {} of Slurm, which does not run: {}", note.task, note.job,
                  words_on_waiting(job)),
      fmt::format("train task list shows when it does; train task kill {} cancels it", note.task)));
}

Error no_forward(const JobNote& note, const std::string& host) {
  return make_error(ErrorClass::usage,
                    fmt::format("ports of a task in a job of Slurm are not forwarded: the launcher "
                                "of task {} is on {}",
                                note.task, host),
                    fmt::format("where nodes have sshd: ssh -L PORT:localhost:PORT {}", host));
}

ExitCode report_gone(const JobNote& note) {
  const auto folder = jobs_folder();
  return report(make_error(
      ErrorClass::no_input,
      fmt::format("task {} was job {} of Slurm, which has ended, and its record is not here",
                  note.task, note.job),
      folder ? fmt::format("it is where its launcher ran, unless that never began; '{}' has what "
                           "that said, where the nodes share this folder",
                           job_output(*folder, note.task))
             : ""));
}

// Becomes srun; returns only if that fails.
ExitCode become(const std::vector<std::string>& words) {
  auto call = slurm_call(words);
  if (!call) return report(call.error());
  std::vector<char*> argv, variables;
  for (std::string& word : call->arguments) argv.push_back(word.data());
  for (std::string& text : call->environment) variables.push_back(text.data());
  argv.push_back(nullptr);
  variables.push_back(nullptr);
  ::execve(call->program.c_str(), argv.data(), variables.data());
  return report(make_error(ErrorClass::missing, fmt::format("cannot run '{}': {}", call->program,
                                                            system_reason(errno))));
}

}  // namespace

std::vector<std::string> relay_words(const std::string& job, const std::string& host,
                                     const std::vector<std::string>& command, StepStreams streams) {
  std::vector<std::string> words = slurm_step_words(job, host);
  std::error_code ignored;
  words.push_back("--chdir=" + std::filesystem::current_path(ignored).string());
  words.emplace_back("--quiet");
  words.emplace_back("--quit-on-interrupt");
  if (streams != StepStreams::lines)
    words.emplace_back(streams == StepStreams::terminal ? "--pty" : "--unbuffered");
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::optional<ExitCode> refuse_among_others(const std::vector<std::string>& tasks) {
  for (const std::string& task : tasks) {
    const auto note = find_note(task);
    if (!note || has_record(note->task)) continue;
    return report(make_error(
        ErrorClass::usage,
        fmt::format("task {} is in a job of Slurm, and is not reached together with others",
                    note->task),
        "name it alone"));
  }
  return std::nullopt;
}

std::optional<ExitCode> relay_to_job(const std::string& command, const std::string& task,
                                     const std::vector<std::string>& arguments) {
  if (command == "rerun") return std::nullopt;  // it needs no launcher
  const std::string own_job = variable("SLURM_JOB_ID");
  // The launcher does not end before this process.
  if (!own_job.empty()) watch_job_as_long_as_this_runs(task);
  const auto note = find_note(task);
  // In the job itself, its record is here.
  if (!note || own_job == note->job) return std::nullopt;
  if (const auto here = record_of(task); here && here->id != note->task)
    return report(make_error(
        ErrorClass::no_input,
        fmt::format("'{}' is the start of several tasks: {}, {}", task, note->task, here->id),
        "give more letters of the one that is meant"));
  const auto queue = ask_for_queue({note->job}, step_limit);
  if (!queue) {
    const auto here = record_of(note->task);
    // Nobody takes over a task whose job may be about to run again.
    const bool would_be_taken = here && here->is_unattended && command == "attach";
    if (here && !would_be_taken) return std::nullopt;
    return report(queue.error());
  }
  const auto found = queue->find(note->job);
  const bool has_begun = found != queue->end() && !found->second.is_pending();
  if (found != queue->end() && command == "wait") return follow_job(*note, Following::await, {});
  if (found != queue->end() && command == "attach" && (!has_begun || found->second.is_running()))
    return follow_job(*note, Following::show, words_after(arguments, task));
  if (found != queue->end() && found->second.is_pending()) {
    if (command == "kill") return cancel(*note);
    const bool needs_launcher = command == "exec" || command == "forward";
    if (!needs_launcher && has_record(note->task)) return std::nullopt;
    return report_pending(*note, found->second);
  }
  if (found != queue->end() && found->second.is_running()) {
    if (command == "forward") return report(no_forward(*note, found->second.batch_host));
    std::vector<std::string> words{note->program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    // Its launcher may have other tasks whose ids begin so.
    *std::find(words.begin(), words.end(), task) = note->task;
    return become(relay_words(note->job, found->second.batch_host, words, streams_for(command)));
  }
  if (has_record(note->task)) return std::nullopt;
  if (command != "rm") return report_gone(*note);
  drop_note(note->task);
  return ExitCode();
}

}  // namespace train
