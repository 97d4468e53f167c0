// SPDX-License-Identifier: Apache-2.0
#include "backends/process/checkpoint_folder.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>
#include <utility>
#include <vector>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/random.hpp"
#include "backends/posix/timespec.hpp"

namespace train {

namespace {

constexpr const char* mark_name = ".train-folder";
constexpr std::size_t mark_length = 32;
// How long to wait until a mark that another host writes is visible here.
constexpr std::chrono::seconds mark_limit{10};
constexpr std::chrono::milliseconds mark_interval{20};

// Seconds. A draft normally exists for a moment only.
constexpr std::time_t old_draft = 600;
constexpr std::size_t most_names = 1000;

bool is_mark(const std::string& text) {
  return text.size() == mark_length &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

tl::unexpected<Error> no_folder(const std::string& path, const char* what, int error) {
  return fail(
      ErrorClass::missing,
      fmt::format("the folder for checkpoints '{}' {}: {}", path, what, system_reason(error)),
      "checkpoint_storage names a folder that every host has and that you can write in");
}

// Makes the folder and its parents. Returns 0 or errno.
int make_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string folder = path.substr(0, end);
    struct stat status {};
    const int failed = ::mkdir(folder.c_str(), 0777) == 0 ? 0 : errno;
    // A parent may exist although this user may not make it (EACCES, EROFS).
    const bool is_there = failed == 0 || ::stat(folder.c_str(), &status) == 0;
    if (!is_there) return failed;
    if (failed != 0 && !S_ISDIR(status.st_mode)) return ENOTDIR;
    if (end == path.npos) return 0;
  }
}

// Removes the drafts of agents that were killed before they could do so. The age of a file is
// compared with that of our own draft, since both are set by the clock of the file system. A folder
// may be large: only its first 1000 names are considered.
void remove_old_drafts(const std::string& folder, const std::string& draft) {
  struct stat own {};
  if (::stat(draft.c_str(), &own) != 0) return;
  const std::string start = fmt::format("{}.", mark_name);
  for (const std::string& name : names_in(FolderReader(folder), most_names)) {
    const bool is_draft = name.starts_with(start) && is_mark(name.substr(start.size()));
    struct stat other {};
    const std::string path = fmt::format("{}/{}", folder, name);
    if (is_draft && ::lstat(path.c_str(), &other) == 0 && S_ISREG(other.st_mode) &&
        other.st_uid == own.st_uid && other.st_mtime + old_draft < own.st_mtime)
      (void)::unlink(path.c_str());
  }
}

// Returns 0 or errno. Checks close() as well: a server may report a failed write only then.
int make_file(const std::string& path, const std::string& text) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file) return errno;
  const int failed = write_whole(file.get(), text);
  return ::close(file.release()) != 0 && failed == 0 ? errno : failed;
}

// Creates the mark as a hard link, so that it appears with its whole text, for all hosts at once.
// On file systems without hard links it is written in place and is empty at first.
int make_mark(const std::string& mark, const std::string& draft, const std::string& text) {
  if (::link(draft.c_str(), mark.c_str()) == 0 || errno == EEXIST) return 0;
  const int failed = make_file(mark, text);
  if (failed == EEXIST) return 0;
  if (failed != 0) (void)::unlink(mark.c_str());  // so that the next host can write it
  return failed;
}

// Empty if there is still no valid mark after the limit.
std::string read_mark(const std::string& mark) {
  const auto deadline = std::chrono::steady_clock::now() + mark_limit;
  while (true) {
    std::string text = first_line_of(mark);
    if (is_mark(text)) return text;
    if (std::chrono::steady_clock::now() >= deadline) return {};
    std::this_thread::sleep_for(mark_interval);
  }
}

}  // namespace

Result<std::string> mark_checkpoint_folder(const std::string& path, FileCalls& calls) {
  if (const int error = calls("mkdir", path, [&] { return make_folders(path); }))
    return no_folder(path, "cannot be made", error);
  const std::string nonce = new_nonce();
  const std::string mark = fmt::format("{}/{}", path, mark_name);
  const std::string draft = fmt::format("{}.{}", mark, nonce);
  const std::string text = nonce + "\n";
  if (const int error = calls("write", draft, [&] { return make_file(draft, text); }))
    return no_folder(path, "cannot be written", error);
  const int error = calls("write", mark, [&] { return make_mark(mark, draft, text); });
  calls("readdir", path, [&] {
    remove_old_drafts(path, draft);
    return 0;
  });
  (void)calls("unlink", draft, [&] { return ::unlink(draft.c_str()); });
  if (error != 0) return no_folder(path, "cannot be written", error);
  std::string found = calls("read", mark, [&] { return read_mark(mark); });
  if (!found.empty()) return found;
  const char* what = first_line_of(mark).empty() ? "an empty file {}, which was never finished"
                                                 : "a file {} that train has not made";
  return fail(ErrorClass::missing,
              fmt::format("the folder for checkpoints '{}' has {}", path,
                          fmt::format(fmt::runtime(what), mark_name)),
              "remove that file, or name another folder in checkpoint_storage");
}

NewestCheckpoint newest_checkpoint(const std::string& path, int levels) {
  constexpr std::size_t most_folders = 4;
  NewestCheckpoint found;
  std::vector<std::pair<std::chrono::nanoseconds, std::string>> folders;
  const std::vector<std::string> names = names_in(FolderReader(path), most_names + 1);
  found.is_whole = names.size() <= most_names;
  for (const std::string& name : names) {
    const std::string file = fmt::format("{}/{}", path, name);
    struct stat status {};
    if (name.starts_with(mark_name) || ::lstat(file.c_str(), &status) != 0) continue;
    const std::chrono::nanoseconds changed = in_nanoseconds(status.st_mtim);
    found.at = std::max(found.at.value_or(changed), changed);
    if (S_ISDIR(status.st_mode)) folders.emplace_back(changed, file);
  }
  std::sort(folders.rbegin(), folders.rend());
  if (folders.size() > most_folders) folders.resize(most_folders);
  for (const auto& [changed, folder] : folders) {
    if (levels <= 1) break;
    const auto below = newest_checkpoint(folder, levels - 1);
    if (below.at) found.at = std::max(*found.at, *below.at);
    found.is_whole = found.is_whole && below.is_whole;
  }
  return found;
}

}  // namespace train
