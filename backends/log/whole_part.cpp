// SPDX-License-Identifier: Apache-2.0
#include "backends/log/whole_part.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "launcher/output/log_index.hpp"

namespace train {

namespace {

constexpr std::size_t records_at_once = 512;

tl::unexpected<Error> cannot(std::string_view doing, const std::string& path) {
  return fail(ErrorClass::no_input,
              fmt::format("cannot {} the log '{}': {}", doing, path, system_reason(errno)));
}

// An empty descriptor, without an error, when the file does not exist.
Result<Descriptor> open_to_read(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file && errno != ENOENT) return cannot("read", path);
  return file;
}

// The bytes from `at` on, at most `most`.
Result<std::string> read_at(const Descriptor& file, const std::string& path, std::uint64_t at,
                            std::size_t most) {
  std::string bytes(most, '\0');
  const ssize_t size = read_whole_at(file.get(), bytes.data(), most, at);
  if (size < 0) return cannot("read", path);
  bytes.resize(static_cast<std::size_t>(size));
  return bytes;
}

class SegmentCheck {
 public:
  SegmentCheck(const std::string& log_file, std::uint64_t begin)
      : begin_(begin),
        bytes_path_(log_segment(log_file, begin)),
        path_(log_index(log_file, begin)) {}

  Result<WholePart> run() {
    for (auto [path, file] : {std::pair(&bytes_path_, &bytes_), std::pair(&path_, &index_)}) {
      auto opened = open_to_read(*path);
      if (!opened) return tl::make_unexpected(opened.error());
      *file = std::move(*opened);
    }
    if (!bytes_ || !index_) return part_;
    const auto header = read_at(index_, path_, 0, log_header_size);
    if (!header) return tl::make_unexpected(header.error());
    if (!is_log_header(*header)) return part_;
    part_.index_size = log_header_size;
    for (bool goes_on = true; goes_on;) {
      const auto taken = take_records();
      if (!taken) return tl::make_unexpected(taken.error());
      goes_on = *taken;
    }
    return part_;
  }

 private:
  // False at the end of the whole part.
  Result<bool> take_records() {
    const auto records =
        read_at(index_, path_, part_.index_size, records_at_once * log_record_size);
    if (!records) return tl::make_unexpected(records.error());
    std::string_view rest = *records;
    for (; rest.size() >= log_record_size; rest.remove_prefix(log_record_size)) {
      const auto record = decode_log_record(rest.substr(0, log_record_size));
      if (!record || record->begin != begin_ + part_.bytes + part_.dropped) return false;
      auto is_there = has_bytes_of(*record);
      if (!is_there || !*is_there) return is_there;
      part_.bytes += record->length;
      part_.dropped += record->dropped;
      part_.index_size += log_record_size;
    }
    return records->size() == records_at_once * log_record_size;
  }

  Result<bool> has_bytes_of(const LogRecord& record) {
    if (record.dropped > 0) return true;
    const auto bytes = read_at(bytes_, bytes_path_, part_.bytes, record.length);
    if (!bytes) return tl::make_unexpected(bytes.error());
    return bytes->size() == record.length && checksum_of(*bytes) == record.checksum;
  }

  std::uint64_t begin_;
  std::string bytes_path_;
  std::string path_;  ///< of the index
  Descriptor bytes_;
  Descriptor index_;
  WholePart part_;
};

Result<void> cut_file(const std::string& path, std::uint64_t size) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return cannot("open", path);
  if (::ftruncate(file.get(), static_cast<off_t>(size)) != 0) return cannot("cut", path);
  if (::fdatasync(file.get()) != 0 && errno != EINVAL) return cannot("sync", path);
  return {};
}

}  // namespace

Result<WholePart> whole_part(const std::string& log_file, std::uint64_t begin) {
  return SegmentCheck(log_file, begin).run();
}

Result<void> cut_to(const std::string& log_file, std::uint64_t begin, const WholePart& part) {
  if (auto cut = cut_file(log_segment(log_file, begin), part.bytes); !cut) return cut;
  return cut_file(log_index(log_file, begin), part.index_size);
}

}  // namespace train
