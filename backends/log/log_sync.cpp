// SPDX-License-Identifier: Apache-2.0
#include "backends/log/log_sync.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace train {

namespace {

std::string cannot_sync(const std::string& path, int error) {
  return fmt::format("cannot sync '{}': {}", path, system_reason(error));
}

void sync_path(const std::string& path, int flags, LogSink::Synced& synced) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | flags));
  if (!file && errno != ENOENT) synced.trouble = cannot_sync(path, errno);
  if (!file) return;
  if (const int error = sync_file(file); error != 0) synced.lost = cannot_sync(path, error);
}

}  // namespace

int sync_file(const Descriptor& file) {
  if (::fdatasync(file.get()) == 0 || errno == EINVAL || errno == EROFS) return 0;
  return errno;
}

// Continues after an error: the kernel reports an error of the other files once only.
LogSink::Synced LogSync::operator()() const {
  LogSink::Synced synced{{}, lost};
  for (const std::string& file : files) sync_path(file, 0, synced);
  if (!folder.empty()) sync_path(folder, O_DIRECTORY, synced);
  return synced;
}

LogSink::Sync join_syncs(std::vector<LogSink::Sync> parts) {
  return [parts = std::move(parts)] {
    LogSink::Synced all;
    for (const LogSink::Sync& part : parts) {
      LogSink::Synced synced = part();
      if (!synced.trouble.empty()) all.trouble = std::move(synced.trouble);
      if (!synced.lost.empty()) all.lost = std::move(synced.lost);
    }
    return all;
  };
}

}  // namespace train
