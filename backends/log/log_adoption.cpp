// SPDX-License-Identifier: Apache-2.0
// Adopts logs that a launcher has left in any state, after its own crash or that of the machine.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "backends/log/log_files.hpp"
#include "backends/log/log_reader.hpp"
#include "backends/log/whole_part.hpp"
#include "launcher/output/log_index.hpp"

namespace train {

namespace {

std::uint64_t size_of_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

// Removes the index first, as `remove_surplus` does.
Result<void> remove_segment(const std::string& log_file, std::uint64_t begin) {
  for (const std::string& path : {log_index(log_file, begin), log_segment(log_file, begin)})
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
      return fail(ErrorClass::no_input,
                  fmt::format("cannot remove the log '{}': {}", path, system_reason(errno)));
  return {};
}

}  // namespace

Result<std::vector<std::uint64_t>> LogFiles::adopt() {
  std::vector<std::uint64_t> positions;
  if (logs_.empty()) return positions;
  LogDirectory directory(logs_.front().file.substr(0, logs_.front().file.rfind('/')));
  if (auto read = directory.refresh(); !read) return tl::make_unexpected(read.error());
  for (int rank = 0; rank < static_cast<int>(logs_.size()); ++rank) {
    const auto position = adopt(rank, directory.segments_of(log_of(rank).file));
    if (!position) return tl::make_unexpected(position.error());
    positions.push_back(*position);
  }
  remove_surplus();
  has_new_files_ = true;  // some may have been created just now
  const Synced synced = begin_sync()();
  for (const std::string& why : {synced.trouble, synced.lost})
    if (!why.empty()) return fail(ErrorClass::no_input, why);
  return positions;
}

// Segments follow each other without gaps, so when one ends early, the output behind it has to be
// sent again. A large segment (`least_synced_segment`) that is not the last was synced before the
// next one began, and is not checked.
Result<std::uint64_t> LogFiles::adopt(int rank, const std::vector<std::uint64_t>& segments) {
  Log& log = log_of(rank);
  log.begin = segments.empty() ? 0 : segments.front();
  if (segments.empty() && making_ == Making::at_once)
    if (auto made = cut_to(log.file, 0, {}); !made) return tl::make_unexpected(made.error());
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::uint64_t begin = segments[i];
    if (begin != log.end()) {
      if (auto removed = remove_segment(log.file, begin); !removed)
        return tl::make_unexpected(removed.error());
      continue;
    }
    log.begin = begin;
    log.bytes = log.dropped = log.index_size = 0;
    const std::uint64_t size =
        size_of_file(log_segment(log.file, begin)) + size_of_file(log_index(log.file, begin));
    if (i + 1 < segments.size() && size >= least_synced_segment) {
      budget_.add({rank, begin}, size);
      log.bytes = segments[i + 1] - begin;  // including gaps: only `end()` is used
      continue;
    }
    const auto part = whole_part(log.file, begin);
    if (!part) return tl::make_unexpected(part.error());
    if (auto cut = cut_to(log.file, begin, *part); !cut) return tl::make_unexpected(cut.error());
    log.bytes = part->bytes;
    log.dropped = part->dropped;
    log.index_size = part->index_size;
    budget_.add({rank, begin}, part->bytes + part->index_size);
  }
  return log.end();
}

}  // namespace train
