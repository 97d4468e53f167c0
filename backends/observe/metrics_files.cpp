// SPDX-License-Identifier: Apache-2.0
#include "backends/observe/metrics_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"

namespace train {

namespace {

// While no metrics come, files are read less often: most ranks never report any.
constexpr std::chrono::milliseconds shortest_pause{250};
constexpr std::chrono::milliseconds longest_pause{2'000};
// How long to wait after a change, so that changes that come together are read together.
constexpr std::chrono::milliseconds after_change{20};
constexpr std::chrono::seconds metrics_patience{2};
// Limits in bytes of one read: per file, so that ranks take turns, and of all files together, so
// that little waits in memory.
constexpr std::size_t most_of_one = 256u << 10;
constexpr std::size_t least_of_one = 16u << 10;
constexpr std::size_t most_of_all = 1u << 20;
constexpr std::size_t most_at_the_end = 64u << 20;

}  // namespace

// Used by the thread only while it works. The file is not kept open: there may be hundreds.
struct MetricsFiles::File {
  std::string path;
  ino_t inode = 0;  ///< of the file that was read last
  std::uint64_t offset = 0;

  std::string read(std::size_t limit) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size < offset || status.st_ino != inode) offset = 0;
    inode = status.st_ino;
    std::string bytes(std::min<std::uint64_t>(size - offset, limit), '\0');
    const ssize_t count = read_whole_at(file.get(), bytes.data(), bytes.size(), offset);
    bytes.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    offset += bytes.size();
    return bytes;
  }
};

// One pass of the thread over all files.
struct MetricsFiles::Look {
  struct Wanted {
    int rank = 0;
    std::shared_ptr<File> file;
    bool is_ending = false;
    std::string bytes{};
  };
  std::vector<Wanted> wanted;
  std::size_t of_one = 0;  ///< bytes at most

  void run() {
    for (Wanted& each : wanted) each.bytes = each.file->read(of_one);
  }
};

// Also reads the file soon: the rank may have reported before the watch exists.
void MetricsFiles::watch(int rank, const std::string& path) {
  files_[rank] = std::make_shared<File>(File{path});
  await_changes();
  note_change();
}

// If the kernel refuses a watch for a file, the next look tries again.
void MetricsFiles::await_changes() {
  if (is_paused_) return;
  for (const auto& [rank, file] : files_) {
    auto& next = next_changes_[rank];
    if (!next) next = changes_.when_written(file->path, [this, rank = rank] { changed(rank); });
  }
}

// The watch is renewed only when the files are read: a rank may write all the time.
void MetricsFiles::changed(int rank) {
  next_changes_.erase(rank);
  note_change();
}

void MetricsFiles::note_change() {
  if (!std::exchange(has_changed_, true) && !is_looking_) look_soon();
}

void MetricsFiles::look_soon() {
  if (!is_paused_) next_look_ = loop_.after(after_change, [this] { look(); });
}

void MetricsFiles::look_later() {
  if (is_looking_ || is_paused_ || next_look_ || files_.empty()) return;
  next_look_ = loop_.after(pause_, [this] { look(); });
}

void MetricsFiles::look() {
  next_look_.reset();
  if (is_looking_) return;
  const auto work = std::make_shared<Look>();
  for (const auto& [rank, file] : files_) {
    const auto ending = endings_.find(rank);
    const bool is_ending = ending != endings_.end();
    if (!is_paused_ || (is_ending && ending->second.told < most_of_all))
      work->wanted.push_back({rank, file, is_ending});
  }
  if (!is_paused_ || !work->wanted.empty()) has_changed_ = false;
  if (work->wanted.empty()) return;
  await_changes();
  work->of_one = std::clamp(most_of_all / work->wanted.size(), least_of_one, most_of_one);
  const auto begun = background_.run([work] { work->run(); }, [this, work] { looked(*work); });
  is_looking_ = begun.has_value();
  if (!begun) look_later();  // no thread could be started; the limits of `endings_` still hold
}

void MetricsFiles::looked(const Look& work) {
  is_looking_ = false;
  bool is_more = false;
  bool is_any = false;
  for (const Look::Wanted& each : work.wanted) {
    is_any = is_any || !each.bytes.empty();
    if (!each.bytes.empty()) on_metrics_(each.rank, each.bytes);
    const bool has_more = each.bytes.size() == work.of_one;
    is_more = is_more || has_more;
    const auto ending = endings_.find(each.rank);
    if (!each.is_ending || ending == endings_.end()) continue;
    ending->second.told += each.bytes.size();
    if (has_more && ending->second.told < most_at_the_end)
      be_patient(each.rank);
    else
      end(each.rank);
  }
  pause_ = is_any ? shortest_pause : std::min<nanoseconds>(pause_ * 2, longest_pause);
  if (is_more || !endings_.empty())
    look();
  else if (has_changed_)
    look_soon();
  else
    look_later();
}

void MetricsFiles::finish(int rank, std::function<void()> done) {
  endings_[rank].done = std::move(done);
  be_patient(rank);
  look();
}

void MetricsFiles::be_patient(int rank) {
  endings_[rank].limit = loop_.after(metrics_patience, [this, rank] { end(rank); });
}

void MetricsFiles::end(int rank) {
  files_.erase(rank);
  next_changes_.erase(rank);
  auto ending = endings_.extract(rank);
  if (!ending.empty()) ending.mapped().done();
}

void MetricsFiles::forget_all() {
  files_.clear();
  has_changed_ = false;
  next_look_.reset();
  next_changes_.clear();
}

void MetricsFiles::pause() {
  is_paused_ = true;
  next_look_.reset();
  next_changes_.clear();
}

void MetricsFiles::resume() {
  is_paused_ = false;
  await_changes();
  if (endings_.empty() && !has_changed_)
    look_later();
  else
    look();
}

}  // namespace train
