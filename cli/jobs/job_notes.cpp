// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/job_notes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "backends/command/slurm_query.hpp"
#include "backends/posix/files.hpp"
#include "cli/surroundings/state_directory.hpp"

namespace train {

namespace {

constexpr std::string_view note_extension = ".json";
constexpr std::size_t most_notes = 1'000;

std::string note_file(const std::string& folder, const std::string& task) {
  return fmt::format("{}/{}{}", folder, task, note_extension);
}

}  // namespace

Result<std::string> jobs_folder() {
  auto state = state_directory();
  if (!state) return state;
  return *state + "/jobs";
}

Result<void> keep_note(const JobNote& note) {
  const auto folder = jobs_folder();
  if (!folder) return tl::make_unexpected(folder.error());
  return write_file(note_file(*folder, note.task), encode_job_note(note), 0600);
}

std::vector<JobNote> read_notes() {
  const auto folder = jobs_folder();
  std::vector<JobNote> notes;
  if (!folder) return notes;
  for (const std::string& name : names_in(FolderReader(*folder), most_notes * 2)) {
    if (!name.ends_with(note_extension)) continue;
    auto note = decode_job_note(read_small_file(*folder + "/" + name));
    if (note && name == note->task + std::string(note_extension)) notes.push_back(std::move(*note));
  }
  std::sort(notes.begin(), notes.end(),
            [](const JobNote& left, const JobNote& right) { return left.created > right.created; });
  if (notes.size() > most_notes) notes.resize(most_notes);
  return notes;
}

std::optional<JobNote> find_note(const std::string& prefix) {
  std::optional<JobNote> found;
  if (prefix.empty()) return found;
  for (JobNote& note : read_notes()) {
    if (!note.task.starts_with(prefix)) continue;
    if (found) return std::nullopt;
    found = std::move(note);
  }
  return found;
}

void drop_note(const std::string& task) {
  if (const auto folder = jobs_folder()) {
    ::unlink(note_file(*folder, task).c_str());
    ::unlink(job_output(*folder, task).c_str());
  }
}

Result<std::map<std::string, QueuedJob>> ask_for_queue(const std::vector<std::string>& jobs,
                                                       milliseconds limit) {
  const auto answer = ask_slurm(
      {"squeue", "--noheader", "--states=all", fmt::format("--format={}", slurm_queue_format),
       fmt::format("--jobs={}", fmt::join(jobs, ","))},
      limit);
  if (answer) return read_slurm_queue(*answer);
  // A single job that it has forgotten is an error.
  const std::string& words = answer.error().diagnostics.front().message;
  if (words.find("Invalid job id") != words.npos) return std::map<std::string, QueuedJob>();
  return tl::make_unexpected(answer.error());
}

std::string job_output(const std::string& folder, const std::string& task) {
  return fmt::format("{}/{}.out", folder, task);
}

}  // namespace train
