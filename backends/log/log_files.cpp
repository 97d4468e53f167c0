// SPDX-License-Identifier: Apache-2.0
#include "backends/log/log_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "backends/log/log_sync.hpp"
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

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

bool may_pass(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EIO:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return true;
    default:
      return false;
  }
}

std::uint64_t free_bytes(const std::string& directory) {
  struct statvfs status {};
  if (::statvfs(directory.c_str(), &status) != 0) return 0;
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

LogFiles::LogFiles(std::vector<std::string> log_files, LogLimits limits, Making making)
    : making_(making),
      segment_size_(std::max<std::uint64_t>(1, std::min(limits.segment, longest_file()))),
      budget_(limits, log_files.size()) {
  for (std::string& file : log_files) logs_.emplace_back().file = std::move(file);
}

Result<void> LogFiles::create() {
  if (making_ == Making::when_written) return {};
  for (const Log& log : logs_) {
    const Descriptor file(::open(log.file.c_str(), flags_of_log | O_TRUNC, mode_of_log));
    if (!file)
      return fail(ErrorClass::no_input, cannot("make the log file", log.file, errno),
                  "tasks are recorded under $XDG_STATE_HOME/train (default ~/.local/state/train)");
  }
  return {};
}

LogSink::Outcome LogFiles::append(const LogPiece& piece, std::size_t from, NoRoom no_room) {
  Outcome outcome;
  outcome.taken = from;
  Log& log = log_of(piece.rank);
  if (log.lost > 0) begin_segment(piece.rank);
  if (log.lost > 0 || piece.dropped > 0)
    if (Failure failure = write_gap(piece); failure.error != 0)
      return failed(piece, std::move(outcome), std::move(failure), no_room);
  while (outcome.taken < piece.bytes.size()) {
    const std::string_view rest = std::string_view(piece.bytes).substr(outcome.taken);
    // The index counts too: for a rank that prints byte by byte, it is the larger part.
    const std::uint64_t size = log.bytes + log.index_size + log_record_size + rest.size();
    if (log.bytes > 0 && size > segment_size_) begin_segment(piece.rank);
    const std::string_view bytes = rest.substr(0, segment_size_);
    if (Failure failure = write(piece, bytes); failure.error != 0)
      return failed(piece, std::move(outcome), std::move(failure), no_room);
    outcome.taken += bytes.size();
  }
  remove_surplus();
  return outcome;
}

LogSink::Outcome LogFiles::failed(const LogPiece& piece, Outcome outcome, Failure failure,
                                  NoRoom no_room) {
  outcome.trouble = std::move(failure.text);
  outcome.is_waiting = may_pass(failure.error) && no_room == NoRoom::waits;
  if (outcome.is_waiting) return outcome;
  outcome.lost = piece.bytes.size() - outcome.taken;
  outcome.taken = piece.bytes.size();
  log_of(piece.rank).lost += outcome.lost + piece.dropped;
  return outcome;
}

LogFiles::Failure LogFiles::write_gap(const LogPiece& piece) {
  Log& log = log_of(piece.rank);
  LogRecord record;
  record.begin = log.end();
  record.time_us = piece.time_us;
  record.dropped = log.lost + piece.dropped;
  if (Failure failure = write_entry(piece.rank, {}, encode_log_record(record)); failure.error != 0)
    return failure;
  log.dropped += record.dropped;
  log.lost = 0;
  return {};
}

LogFiles::Failure LogFiles::write(const LogPiece& piece, std::string_view bytes) {
  const LogRecord record{log_of(piece.rank).end(),
                         static_cast<std::uint32_t>(bytes.size()),
                         checksum_of(bytes),
                         piece.stream,
                         piece.time_us,
                         0};
  return write_entry(piece.rank, bytes, encode_log_record(record));
}

// The bytes are written before their record, since a record promises that its bytes exist.
LogFiles::Failure LogFiles::write_entry(int rank, std::string_view bytes,
                                        const std::string& record) {
  Failure failure;
  OpenLog* const files = open(rank, failure);
  if (files == nullptr) return failure;
  Log& log = log_of(rank);
  const std::string entry = (log.index_size == 0 ? encode_log_header() : std::string()) + record;
  int error = write_whole_at(files->bytes.get(), bytes, log.bytes);
  std::string path = log_segment(log.file, log.begin);
  if (error == 0) {
    error = write_whole_at(files->index.get(), entry, log.index_size);
    path = log_index(log.file, log.begin);
  }
  if (error != 0) {
    // Removes a partial write; if that fails, no record refers to it.
    (void)::ftruncate(files->bytes.get(), static_cast<off_t>(log.bytes));
    (void)::ftruncate(files->index.get(), static_cast<off_t>(log.index_size));
    return {error, cannot("write", path, error)};
  }
  log.bytes += bytes.size();
  log.index_size += entry.size();
  budget_.add({rank, log.begin}, bytes.size() + entry.size());
  unsynced_.emplace(rank, log.begin);
  return {};
}

LogSink::Sync LogFiles::begin_sync() {
  LogSync sync;
  sync.lost = std::exchange(lost_in_sync_, {});
  for (const auto& [rank, begin] : std::exchange(unsynced_, {})) {
    sync.files.push_back(log_segment(log_of(rank).file, begin));
    sync.files.push_back(log_index(log_of(rank).file, begin));
  }
  if (std::exchange(has_new_files_, false)) sync.folder = folder_of(logs_.front().file);
  return sync;
}

LogFiles::OpenLog* LogFiles::open(int rank, Failure& failure) {
  if (const auto found = by_rank_.find(rank); found != by_rank_.end()) {
    open_.splice(open_.begin(), open_, found->second);
    return &open_.front();
  }
  if (open_.size() == most_open) close(open_.back().rank);
  const Log& log = log_of(rank);
  OpenLog files;
  files.rank = rank;
  // Leftovers of a segment that was cut off or could not be written are discarded.
  const int flags = flags_of_log | (log.index_size == 0 ? O_TRUNC : 0);
  for (auto [path, file] : {std::pair(log_segment(log.file, log.begin), &files.bytes),
                            std::pair(log_index(log.file, log.begin), &files.index)}) {
    file->reset(::open(path.c_str(), flags, mode_of_log));
    // When descriptors run out, the logs that were not used for longest are closed.
    while (!*file && errno == EMFILE && !open_.empty()) {
      close(open_.back().rank);
      file->reset(::open(path.c_str(), flags, mode_of_log));
    }
    if (*file) continue;
    failure = {errno, cannot("open", path, errno)};
    return nullptr;
  }
  has_new_files_ = has_new_files_ || log.index_size == 0;
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

void LogFiles::close_files() {
  by_rank_.clear();
  open_.clear();
}

void LogFiles::begin_segment(int rank) {
  sync_before_the_next(rank);
  close(rank);
  Log& log = log_of(rank);
  log.begin = log.end();
  log.bytes = log.dropped = log.index_size = 0;
}

// A failure is kept in `lost_in_sync_`: the kernel reports it only once, not to the next sync.
void LogFiles::sync_before_the_next(int rank) {
  const auto open = by_rank_.find(rank);
  if (segment_size_ < least_synced_segment || open == by_rank_.end()) return;
  for (const Descriptor* file : {&open->second->bytes, &open->second->index})
    if (const int error = sync_file(*file); error != 0)
      lost_in_sync_ = cannot("sync", log_segment(log_of(rank).file, log_of(rank).begin), error);
}

void LogFiles::remove_surplus() {
  while (const auto surplus = budget_.take_surplus()) {
    const std::string& file = logs_[static_cast<std::size_t>(surplus->rank)].file;
    // The index is removed first: without it, the bytes are not taken for a log of their own. A
    // segment that cannot be removed is read as the oldest one.
    (void)::unlink(log_index(file, surplus->begin).c_str());
    (void)::unlink(log_segment(file, surplus->begin).c_str());
  }
}

}  // namespace train
