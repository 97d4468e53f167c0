// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/job_viewers.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "backends/posix/files.hpp"
#include "cli/jobs/job_notes.hpp"

namespace train {

namespace {

constexpr std::string_view extension = ".viewers";

std::string viewers_file(const std::string& task) {
  return jobs_folder().value_or("") + "/" + task + std::string(extension);
}

Descriptor open_viewers(const std::string& task) {
  return Descriptor(::open(viewers_file(task).c_str(),
                           O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
}

bool lock(const Descriptor& file, short type) {
  struct flock whole {};
  whole.l_type = type;
  whole.l_whence = SEEK_SET;
  return ::fcntl(file.get(), F_OFD_SETLK, &whole) == 0;
}

}  // namespace

void watch_new_job(const std::string& task) {
  Descriptor file = open_viewers(task);
  if (file && lock(file, F_RDLCK) && write_whole(file.get(), ".") == 0) (void)file.release();
}

void watch_job_as_long_as_this_runs(const std::string& task) {
  const auto folder = jobs_folder();
  if (!folder || task.empty()) return;
  FolderReader names(*folder);
  while (const char* name = names ? names.next() : nullptr) {
    const std::string_view file(name);
    if (file.starts_with(task) && file.ends_with(extension))
      watch_new_job(std::string(file.substr(0, file.size() - extension.size())));
  }
}

void expect_viewers(const std::string& task) { (void)open_viewers(task); }

bool has_failed_unrecorded(const std::string& task) {
  return ::access(viewers_file(task).c_str(), F_OK) != 0;
}

void await_viewers(const std::string& task, JobTask ended, bool is_expected, milliseconds limit) {
  constexpr milliseconds pause{20};
  const Descriptor file = open_viewers(task);
  const auto deadline = std::chrono::steady_clock::now() + limit;
  struct stat status {};
  while (file && std::chrono::steady_clock::now() < deadline) {
    // Those who have come see by this that there will be no record.
    if (ended == JobTask::unrecorded && status.st_size > 0) ::unlink(viewers_file(task).c_str());
    const bool has_come = ::fstat(file.get(), &status) != 0 || status.st_size > 0;
    if ((has_come || !is_expected) && lock(file, F_WRLCK)) break;
    std::this_thread::sleep_for(pause);
  }
  ::unlink(viewers_file(task).c_str());
}

}  // namespace train
