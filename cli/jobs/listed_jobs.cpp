// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/listed_jobs.hpp"

#include <utility>

#include "cli/jobs/job_notes.hpp"

namespace train {

ListedJobs list_jobs(const std::function<bool(const std::string& task)>& is_recorded) {
  constexpr milliseconds answer_limit{10'000};
  ListedJobs listed;
  std::vector<JobNote> notes = read_notes();
  if (notes.empty()) return listed;
  std::vector<std::string> ids;
  ids.reserve(notes.size());
  for (const JobNote& note : notes) ids.push_back(note.job);
  const auto queue = ask_for_queue(ids, answer_limit);
  if (!queue) {
    listed.trouble =
        terminal_text("tasks in jobs of Slurm are not listed: {}", terminal_text(queue.error()));
    return listed;
  }
  for (JobNote& note : notes) {
    const auto found = queue->find(note.job);
    const QueuedJob job = found == queue->end() ? QueuedJob() : found->second;
    if (job.is_pending() || job.is_running())
      listed.jobs.push_back({std::move(note), job});
    else if (is_recorded(note.task))
      drop_note(note.task);
  }
  return listed;
}

TaskRecord record_of(const ListedJob& listed) {
  TaskRecord task;
  task.id = listed.note.task;
  task.name = listed.note.name;
  task.state = listed.job.is_pending() ? TaskState::waiting : TaskState::running;
  task.slots = listed.note.slots;
  task.hosts = listed.job.nodes;
  task.user = listed.note.user;
  task.created = listed.note.created;
  return task;
}

TerminalText words_of(const ListedJob& listed) {
  const std::string now =
      listed.job.is_pending() ? words_on_waiting(listed.job) : "it runs on " + listed.job.nodes;
  return terminal_text("task {} is job {} of Slurm: {}", listed.note.task, listed.note.job, now);
}

}  // namespace train
