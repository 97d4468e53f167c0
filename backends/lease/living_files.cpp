// SPDX-License-Identifier: Apache-2.0
#include "backends/lease/living_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "backends/lease/lease_file.hpp"
#include "backends/lease/lease_holders.hpp"
#include "backends/lease/task_ticket.hpp"
#include "backends/posix/files.hpp"

namespace train {

namespace {

using namespace std::chrono_literals;

// "holder-1000-..."
std::optional<std::int64_t> user_in(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  std::int64_t uid = -1;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, uid);
  if (error != std::errc() || rest == end || *rest != '-' || uid < 0) return std::nullopt;
  return uid;
}

// Counts how much was read of each user's files.
class Budget {
 public:
  // Whether the file counts: it must belong to the user in its name and be writable by that user
  // only, because anyone could link a file of another user here that all may write to, such as a
  // lock file. A file with several names counts once.
  bool is_of(const struct stat& status, std::int64_t uid) {
    constexpr mode_t for_others_to_write = S_IWGRP | S_IWOTH;
    return std::int64_t{status.st_uid} == uid && (status.st_mode & for_others_to_write) == 0 &&
           seen_.emplace(status.st_dev, status.st_ino).second;
  }
  // Whether the file is still within the limits of its user; counts it then.
  bool has_room_for(const struct stat& status, std::int64_t uid, std::size_t longest) {
    OfUser& user = users_[uid];
    if (status.st_size > static_cast<off_t>(longest) || user.unread >= most_unread_of_user ||
        user.files >= most_files_of_user || user.bytes + status.st_size > most_bytes_of_user)
      return false;
    ++user.files;
    user.bytes += status.st_size;
    return true;
  }
  void note_unread(std::int64_t uid) { ++users_[uid].unread; }

 private:
  struct OfUser {
    int files = 0;
    std::int64_t bytes = 0;
    int unread = 0;
  };
  std::map<std::int64_t, OfUser> users_;
  std::set<std::pair<dev_t, ino_t>> seen_;
};

std::optional<std::string> text_of(const LeaseFile& file, std::size_t longest) {
  std::string text(longest + 1, '\0');
  const ssize_t count = read_whole_at(file.descriptor(), text.data(), text.size(), 0);
  if (count < 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(count));
  return text;
}

}  // namespace

bool read_living_files(
    const LeaseFolder& folder, std::string_view prefix, std::size_t longest,
    const std::function<bool(const LivingFile& file, std::string_view text)>& take) {
  struct Unread {
    LivingFile living;
    LeaseFile file;
  };
  std::vector<Unread> again;
  Budget budget;
  const auto read = [&](const LivingFile& living, const LeaseFile& file) {
    struct stat status {};
    if (::fstat(file.descriptor(), &status) != 0) return false;
    const auto text = text_of(file, std::min(static_cast<std::size_t>(status.st_size), longest));
    return text && take(living, *text);
  };
  bool is_complete = false;
  const std::vector<std::string> names = names_in(folder, &is_complete);
  for (const std::string& name : names) {
    const auto uid = user_in(name, prefix);
    if (!uid) continue;
    LeaseFile file = LeaseFile::look(folder, name);
    struct stat status {};
    if (!file || ::fstat(file.descriptor(), &status) != 0) continue;
    if (!budget.is_of(status, *uid)) continue;
    if (!file.is_alive() || !budget.has_room_for(status, *uid, longest)) continue;
    LivingFile living{name, *uid, file.descriptor()};
    if (read(living, file)) continue;
    budget.note_unread(*uid);
    again.push_back({std::move(living), std::move(file)});
  }
  if (again.empty()) return is_complete;
  std::this_thread::sleep_for(1ms);
  for (const Unread& each : again) (void)read(each.living, each.file);
  return is_complete;
}

std::int64_t created_ns(int file) {
  struct statx status {};
  if (::statx(file, "", AT_EMPTY_PATH, STATX_BTIME, &status) != 0) return 0;
  if ((status.stx_mask & STATX_BTIME) == 0) return 0;
  constexpr std::int64_t second = 1'000'000'000;
  return std::int64_t{status.stx_btime.tv_sec} * second + status.stx_btime.tv_nsec;
}

void remove_dead_files(const LeaseFolder& folder) {
  const std::int64_t ours = ::getuid();
  for (const std::string& name : names_in(folder)) {
    const bool is_ours = user_in(name, holder_prefix) == ours ||
                         user_in(name, ticket_prefix) == ours ||
                         user_in(name, draft_prefix) == ours;
    if (!is_ours) continue;
    const LeaseFile file = LeaseFile::look(folder, name);
    if (file && !file.is_alive())
      (void)::unlinkat(folder.folder.get(), (folder.prefix + name).c_str(), 0);
  }
}

}  // namespace train
