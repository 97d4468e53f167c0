// SPDX-License-Identifier: Apache-2.0
#include "backends/log/log_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"

namespace train {

namespace {

constexpr std::size_t records_at_once = 128;
constexpr std::size_t bytes_ahead = 16u << 10;

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

Descriptor open_to_read(const std::string& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
}

// The bytes from `at` on, at most `most`; nothing, with errno set, when they cannot be read.
std::optional<std::string> read_at(int fd, std::uint64_t at, std::size_t most) {
  std::string bytes(most, '\0');
  const ssize_t size = read_whole_at(fd, bytes.data(), most, at);
  if (size < 0) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(size));
  return bytes;
}

}  // namespace

Result<void> LogDirectory::refresh() {
  struct stat status {};
  FolderReader folder(path_);
  if (!folder || ::fstat(folder.descriptor(), &status) != 0)
    return fail(ErrorClass::no_input,
                fmt::format("cannot read the logs in '{}': {}", path_, system_reason(errno)));
  const bool is_known = changed_ && changed_->tv_sec == status.st_mtim.tv_sec &&
                        changed_->tv_nsec == status.st_mtim.tv_nsec;
  // The clock of a file system moves in steps: another change may follow with the same mtime.
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const bool may_change_unseen = now.tv_sec - status.st_mtim.tv_sec < 3;
  if (is_known && !may_change_unseen) return {};
  changed_ = status.st_mtim;
  names_ = names_in(std::move(folder));
  std::sort(names_.begin(), names_.end());
  return {};
}

std::vector<std::uint64_t> LogDirectory::segments_of(const std::string& log_file) const {
  const std::string name(name_of(log_file));
  std::vector<std::uint64_t> begins;
  for (auto each = std::lower_bound(names_.begin(), names_.end(), name);
       each != names_.end() && each->starts_with(name); ++each)
    if (const auto begin = begin_of_segment(name, *each)) begins.push_back(*begin);
  return begins;
}

LogReader::LogReader(const LogDirectory& directory, std::string log_file)
    : directory_(directory), log_file_(std::move(log_file)) {}

// Only the index says where pieces begin, and how much of a segment is in gaps.
Result<void> LogReader::begin_at_last(std::uint64_t bytes) {
  const std::uint64_t passed = find_last(bytes);
  while (records_.empty()) {
    const auto found = read_index();
    if (!found) return tl::make_unexpected(found.error());
    if (!*found) return {};
    while (!records_.empty() && records_.back().offset + records_.back().record.length <= passed)
      records_.pop_back();
  }
  return {};
}

// Goes to the segment in which the last `bytes` begin; returns their offset in that segment.
std::uint64_t LogReader::find_last(std::uint64_t bytes) {
  const auto segments = directory_.segments_of(log_file_);
  std::uint64_t behind = 0;
  for (auto each = segments.rbegin(); each != segments.rend(); ++each) {
    struct stat status {};
    const bool is_there = ::stat(log_segment(log_file_, *each).c_str(), &status) == 0;
    const std::uint64_t size = is_there ? static_cast<std::uint64_t>(status.st_size) : 0;
    segment_ = position_ = *each;
    if (behind + size > bytes) return behind + size - bytes;
    behind += size;
  }
  return 0;
}

Result<std::optional<LogReader::Next>> LogReader::peek() {
  while (records_.empty()) {
    auto found = read_index();
    // The current segment is read to its end, as of the last refresh, before the next one is
    // opened.
    if (found && !*found) found = next_segment();
    if (!found) return tl::make_unexpected(std::move(found.error()));
    if (!*found) return std::optional<Next>();
  }
  return std::optional<Next>(Next{records_.back().record, gap_});
}

Result<std::optional<std::string_view>> LogReader::take() {
  const auto [record, offset] = records_.back();
  const bool is_ahead =
      offset >= ahead_begin_ && offset + record.length <= ahead_begin_ + ahead_.size();
  if (!is_ahead) {
    const auto read = read_ahead(offset, record.length);
    if (!read) return tl::make_unexpected(read.error());
    if (!*read) return forget_records();
  }
  const std::string_view bytes =
      std::string_view(ahead_).substr(offset - ahead_begin_, record.length);
  if (record.dropped == 0 && checksum_of(bytes) != record.checksum)
    return damaged(log_segment(log_file_, segment_));
  records_.pop_back();
  gap_ = 0;
  return std::optional(bytes);
}

std::optional<std::string_view> LogReader::forget_records() {
  for (const Piece& piece : records_) gap_ += piece.record.end() - piece.record.begin;
  records_.clear();
  return std::nullopt;
}

std::uint64_t LogReader::bytes_without_record() const {
  struct stat status {};
  if (::stat(log_segment(log_file_, segment_).c_str(), &status) != 0) return 0;
  const auto end = static_cast<std::uint64_t>(status.st_size);
  return end > offset_ ? end - offset_ : 0;
}

// False when there is nothing new.
Result<bool> LogReader::read_index() {
  const std::string path = log_index(log_file_, segment_);
  const Descriptor file = open_to_read(path);
  if (!file && errno == ENOENT) return false;  // nothing was written yet, or it was removed
  if (!file) return unreadable(path, errno);
  if (index_size_ == 0) {
    const auto header = read_at(file.get(), 0, log_header_size);
    if (!header) return unreadable(path, errno);
    if (header->size() < log_header_size) return false;
    if (!is_log_header(*header)) return damaged(path);
    index_size_ = log_header_size;
  }
  const auto bytes = read_at(file.get(), index_size_, records_at_once * log_record_size);
  if (!bytes) return unreadable(path, errno);
  std::string_view rest = *bytes;
  for (; rest.size() >= log_record_size; rest.remove_prefix(log_record_size)) {
    const auto record = decode_log_record(rest.substr(0, log_record_size));
    if (!record) break;
    if (record->begin != position_) return damaged(path);
    records_.push_back({*record, offset_});
    position_ = record->end();
    offset_ += record->length;
    index_size_ += log_record_size;
  }
  std::reverse(records_.begin(), records_.end());
  return !records_.empty();
}

// Goes to the next segment; false when there is none.
Result<bool> LogReader::next_segment() {
  const auto segments = directory_.segments_of(log_file_);
  if (segments.empty()) return unreadable(log_file_, ENOENT);
  const auto next = std::upper_bound(segments.begin(), segments.end(), segment_);
  if (next == segments.end()) return false;
  if (*next < position_) return damaged(log_segment(log_file_, *next));
  gap_ += *next - position_;
  segment_ = position_ = *next;
  index_size_ = offset_ = 0;
  ahead_.clear();
  ahead_begin_ = 0;
  return true;
}

// False when the segment was removed.
Result<bool> LogReader::read_ahead(std::uint64_t offset, std::size_t length) {
  const std::string path = log_segment(log_file_, segment_);
  const Descriptor file = open_to_read(path);
  if (!file && errno == ENOENT) return false;
  if (!file) return unreadable(path, errno);
  auto bytes = read_at(file.get(), offset, std::max(length, bytes_ahead));
  if (!bytes) return unreadable(path, errno);
  if (bytes->size() < length) return damaged(path);
  ahead_ = std::move(*bytes);
  ahead_begin_ = offset;
  return true;
}

tl::unexpected<Error> LogReader::unreadable(const std::string& path, int error) const {
  return fail(ErrorClass::no_input,
              fmt::format("cannot read the log '{}': {}", path, system_reason(error)));
}

tl::unexpected<Error> LogReader::damaged(const std::string& path) const {
  return fail(ErrorClass::no_input, fmt::format("the log '{}' is damaged", path),
              "what ranks wrote is in the files beside it, as it is");
}

namespace {

Result<std::uint64_t> bytes_of_stream(LogReader reader, OutputStream stream) {
  std::uint64_t bytes = 0;
  for (auto next = reader.peek(); true; next = reader.peek()) {
    if (!next) return tl::make_unexpected(next.error());
    if (!*next) return bytes;
    if ((*next)->record.stream == stream) bytes += (*next)->record.length;
    reader.pass();
  }
}

}  // namespace

Result<std::string> last_of_stream(const LogDirectory& directory, const std::string& log_file,
                                   OutputStream stream, std::uint64_t bytes) {
  LogReader reader(directory, log_file);
  if (auto begun = reader.begin_at_last(most_looked_through); !begun)
    return tl::make_unexpected(begun.error());
  const auto all = bytes_of_stream(reader, stream);
  if (!all) return tl::make_unexpected(all.error());
  std::string last;
  for (std::uint64_t at = 0; at < *all;) {
    const auto next = reader.peek();
    if (!next) return tl::make_unexpected(next.error());
    if (!*next) break;
    const LogRecord& record = (*next)->record;
    const bool is_of_stream = record.stream == stream;
    if (is_of_stream) at += record.length;
    if (!is_of_stream || at + bytes <= *all) {
      reader.pass();
      continue;
    }
    const auto piece = reader.take();
    if (!piece) return tl::make_unexpected(piece.error());
    if (*piece) last += **piece;
  }
  return last.substr(last.size() - std::min<std::size_t>(last.size(), bytes));
}

}  // namespace train
