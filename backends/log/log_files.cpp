// SPDX-License-Identifier: Apache-2.0
#include "backends/log/log_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "backends/posix/files.hpp"
#include "launcher/output/log_index.hpp"

namespace train {

namespace {

constexpr int flags_of_log = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
constexpr mode_t mode_of_log = 0600;

std::uint64_t longest_file() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur;
}

std::string cannot(std::string_view doing, const std::string& path, int error) {
  return fmt::format("cannot {} '{}': {}", doing, path, system_reason(error));
}

}  // namespace

std::uint64_t free_bytes(const std::string& directory) {
  struct statvfs status {};
  if (::statvfs(directory.c_str(), &status) != 0) return 0;
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

LogFiles::LogFiles(std::vector<std::string> log_files, LogLimits limits)
    : segment_size_(std::max<std::uint64_t>(1, std::min(limits.segment, longest_file()))),
      budget_(limits, log_files.size()) {
  for (std::string& file : log_files) logs_.emplace_back().file = std::move(file);
}

Result<void> LogFiles::create() {
  for (const Log& log : logs_) {
    const Descriptor file(::open(log.file.c_str(), flags_of_log | O_TRUNC, mode_of_log));
    if (!file)
      return fail(ErrorClass::no_input, cannot("make the log file", log.file, errno),
                  "tasks are recorded under $XDG_STATE_HOME/train (default ~/.local/state/train)");
  }
  return {};
}

LogSink::Outcome LogFiles::append(const LogPiece& piece) {
  Outcome outcome;
  Log& log = logs_[static_cast<std::size_t>(piece.rank)];
  for (std::string_view rest = piece.bytes; !rest.empty();) {
    // The index counts too: for a rank that prints byte by byte, it is nearly all.
    const std::uint64_t size = log.bytes + log.index_size + log_record_size + rest.size();
    if (log.lost > 0 || (log.bytes > 0 && size > segment_size_)) begin_segment(piece.rank);
    const std::string_view bytes = rest.substr(0, segment_size_);
    rest.remove_prefix(bytes.size());
    std::string trouble = write(piece.rank, piece, bytes);
    if (trouble.empty()) continue;
    log.lost += bytes.size();
    outcome.lost += bytes.size();
    outcome.trouble = std::move(trouble);
  }
  remove_surplus();
  return outcome;
}

// The bytes are written before their record, since a record says that they are there.
std::string LogFiles::write(int rank, const LogPiece& piece, std::string_view bytes) {
  std::string trouble;
  OpenLog* const files = open(rank, trouble);
  if (files == nullptr) return trouble;
  Log& log = logs_[static_cast<std::size_t>(rank)];
  const LogRecord record{log.begin + log.bytes, static_cast<std::uint32_t>(bytes.size()),
                         checksum_of(bytes), piece.stream, piece.time_us};
  const bool is_first = log.index_size == 0;
  const std::string entry =
      (is_first ? encode_log_header() : std::string()) + encode_log_record(record);
  int error = write_whole_at(files->bytes.get(), bytes, log.bytes);
  if (error != 0) trouble = cannot("write", log_segment(log.file, log.begin), error);
  if (error == 0) {
    error = write_whole_at(files->index.get(), entry, log.index_size);
    if (error != 0) trouble = cannot("write", log_index(log.file, log.begin), error);
  }
  if (error != 0) {
    // Removes what was written in part; where that fails, no record speaks of it.
    (void)::ftruncate(files->bytes.get(), static_cast<off_t>(log.bytes));
    (void)::ftruncate(files->index.get(), static_cast<off_t>(log.index_size));
    return trouble;
  }
  log.bytes += bytes.size();
  log.index_size += entry.size();
  budget_.add({rank, log.begin}, bytes.size() + entry.size());
  return {};
}

LogFiles::OpenLog* LogFiles::open(int rank, std::string& trouble) {
  if (const auto found = by_rank_.find(rank); found != by_rank_.end()) {
    open_.splice(open_.begin(), open_, found->second);
    return &open_.front();
  }
  if (open_.size() == most_open) close(open_.back().rank);
  const Log& log = logs_[static_cast<std::size_t>(rank)];
  OpenLog files;
  files.rank = rank;
  for (auto [path, file] : {std::pair(log_segment(log.file, log.begin), &files.bytes),
                            std::pair(log_index(log.file, log.begin), &files.index)}) {
    file->reset(::open(path.c_str(), flags_of_log, mode_of_log));
    // When descriptors run out, logs that are not written to now are closed.
    while (!*file && errno == EMFILE && !open_.empty()) {
      close(open_.back().rank);
      file->reset(::open(path.c_str(), flags_of_log, mode_of_log));
    }
    if (*file) continue;
    trouble = cannot("open", path, errno);
    return nullptr;
  }
  open_.push_front(std::move(files));
  by_rank_[rank] = open_.begin();
  return &open_.front();
}

void LogFiles::close(int rank) {
  const auto found = by_rank_.find(rank);
  if (found == by_rank_.end()) return;
  open_.erase(found->second);
  by_rank_.erase(found);
}

void LogFiles::begin_segment(int rank) {
  close(rank);
  Log& log = logs_[static_cast<std::size_t>(rank)];
  log.begin += log.bytes + log.lost;
  log.bytes = log.index_size = log.lost = 0;
}

void LogFiles::remove_surplus() {
  while (const auto surplus = budget_.take_surplus()) {
    const std::string& file = logs_[static_cast<std::size_t>(surplus->rank)].file;
    // The index is removed first: without it nobody takes the bytes for a log of its own. A segment
    // that cannot be removed is read as the oldest one.
    (void)::unlink(log_index(file, surplus->begin).c_str());
    (void)::unlink(log_segment(file, surplus->begin).c_str());
  }
}

}  // namespace train
