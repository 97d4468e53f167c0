// SPDX-License-Identifier: Apache-2.0
#include "backends/fitness/data_facts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"

namespace train {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t block = std::size_t{4} << 20;
constexpr std::size_t alignment = 4'096;  // of a block, for O_DIRECT; sufficient for any disk

/// Reads files until a limit is reached.
class DataReader {
 public:
  DataReader(DataFacts& facts, const DataLimits& limits)
      : facts_(facts),
        limits_(limits),
        end_(SteadyClock::now() + limits.time),
        buffer_(static_cast<char*>(::aligned_alloc(alignment, block))) {
    if (!buffer_) throw std::bad_alloc();
  }

  void read_all() {
    const SteadyClock::time_point begin = SteadyClock::now();
    read_below(facts_.directory);
    facts_.took = SteadyClock::now() - begin;
    if (facts_.bytes > 0) return;
    facts_.trouble = error_ != 0                  ? system_reason(error_)
                     : SteadyClock::now() >= end_ ? "none of its files came in time"
                                                  : "no file with anything in it is there";
  }

 private:
  bool has_enough() const {
    return names_ >= limits_.names || facts_.bytes >= limits_.bytes || SteadyClock::now() >= end_;
  }

  void read_below(const std::string& top) {
    look_at(top);
    for (std::size_t i = 0; i < folders_.size() && !has_enough(); ++i) {
      const std::string folder = std::move(folders_[i]);
      FolderReader reader(folder);
      if (!reader) {
        remember(errno);
        continue;
      }
      std::vector<std::string> names =
          names_in(std::move(reader), static_cast<std::size_t>(limits_.names));
      std::sort(names.begin(), names.end());
      for (const std::string& name : names) {
        if (has_enough()) return;
        look_at(fmt::format("{}/{}", folder, name));
      }
    }
  }

  // Follows links; a circle of links ends at the limit of names.
  void look_at(const std::string& path) {
    ++names_;
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return remember(errno);
    if (S_ISDIR(status.st_mode)) folders_.push_back(path);
    if (S_ISREG(status.st_mode) && status.st_size > 0) read_file(path);
  }

  void read_file(const std::string& path) {
    constexpr int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    Descriptor file(::open(path.c_str(), flags | O_DIRECT));
    if (!file && errno == EINVAL) file = Descriptor(::open(path.c_str(), flags));
    if (!file) return remember(errno);
    // Asks the kernel to drop clean pages of the file from the page cache.
    (void)::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
    while (!has_enough()) {
      const ssize_t count = read_some(file.get(), buffer_.get(), block);
      if (count < 0) return remember(errno);
      if (count == 0) return;
      facts_.bytes += static_cast<std::uint64_t>(count);
      // A read that is not a multiple of the alignment ends at the end of the file.
      if (static_cast<std::size_t>(count) % alignment != 0) return;
    }
  }

  void remember(int error) {
    if (error_ == 0) error_ = error;
  }

  struct Free {
    void operator()(char* memory) const { ::free(memory); }
  };

  DataFacts& facts_;
  const DataLimits limits_;
  const SteadyClock::time_point end_;
  const std::unique_ptr<char, Free> buffer_;
  std::vector<std::string> folders_;  // in the order in which they are read
  int names_ = 0;
  int error_ = 0;  // the first
};

}  // namespace

DataFacts data_facts(std::string directory, const DataLimits& limits) {
  DataFacts facts;
  facts.directory = std::move(directory);
  DataReader(facts, limits).read_all();
  return facts;
}

}  // namespace train
