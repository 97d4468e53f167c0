// SPDX-License-Identifier: Apache-2.0
#include "backends/lease/lease_holders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include "backends/lease/lease_file.hpp"
#include "backends/lease/living_files.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"
#include "launcher/wire/lease_fields.hpp"

namespace train {

namespace {

using namespace std::chrono_literals;

// Limits for one look, since other users may have locked any number of ranges: files beyond the
// limits count as locked entirely.
constexpr std::size_t most_pieces_in_look = 4'096;
constexpr std::size_t most_lock_files_in_look = 8'192;

// The holder file of one living holder.
struct LivingRecord {
  HolderRecord words;
  std::int64_t uid = -1;
  std::string file;
};

std::vector<LivingRecord> living_records(const LeaseFolder& folder, bool* are_all = nullptr) {
  std::vector<LivingRecord> records;
  const bool is_complete =
      read_living_files(folder, holder_prefix, longest_holder_record,
                        [&](const LivingFile& file, std::string_view text) {
                          auto record = decode_holder(text);
                          if (!record) return false;
                          records.push_back({std::move(*record), file.uid, file.name});
                          return true;
                        });
  if (are_all != nullptr) *are_all = is_complete;
  return records;
}

// The actual locks, file by file.
class LocksOfHost {
 public:
  explicit LocksOfHost(const LeaseFolder& folder) : folder_(folder) {}

  const std::vector<LeaseRange>& locked(const std::string& name) {
    const auto known = locks_.find(name);
    if (known != locks_.end()) return known->second;
    std::vector<LeaseRange>& ranges = locks_[name];
    if (locks_.size() > most_lock_files_in_look) return ranges = {{0, last_lease_unit}};
    const LeaseFile file = LeaseFile::look(folder_, name);
    if (!file) return ranges;
    ranges = file.held_by_others(last_lease_unit, std::min(most_lease_pieces, 1 + pieces_left_));
    pieces_left_ -= std::min(pieces_left_, ranges.size());
    return ranges;
  }
  bool has_all(const HolderRecord& record) {
    return std::all_of(record.leases.begin(), record.leases.end(), [&](const auto& held) {
      return without(held.ranges, locked(lease_file_name(held.key))).empty();
    });
  }

 private:
  const LeaseFolder& folder_;
  std::map<std::string, std::vector<LeaseRange>> locks_;
  std::size_t pieces_left_ = most_pieces_in_look;
};

// Looks twice: a task that releases its leases unlocks first and removes its holder file after
// that.
std::vector<std::string> tasks_without_locks_in(const LeaseFolder& folder) {
  const auto look = [&] {
    std::set<std::string> tasks;
    LocksOfHost locks(folder);
    for (const LivingRecord& record : living_records(folder))
      if (!locks.has_all(record.words)) tasks.insert(record.words.task);
    return tasks;
  };
  const std::set<std::string> first = look();
  if (first.empty()) return {};
  std::this_thread::sleep_for(1ms);
  const std::set<std::string> second = look();
  std::vector<std::string> tasks;
  std::set_intersection(first.begin(), first.end(), second.begin(), second.end(),
                        std::back_inserter(tasks));
  return tasks;
}

// The key of a lock file, as far as its name tells.
std::optional<LeaseKey> key_of_file(std::string_view name) {
  const std::size_t dash = std::min(name.find('-'), name.size());
  const auto kind = lease_kind_of(std::string(name.substr(0, dash)));
  if (!kind || *kind == LeaseKey::Kind::slot) return std::nullopt;
  LeaseKey key{*kind, 0, {}};
  const std::string rest(name.substr(std::min(dash + 1, name.size())));
  const bool is_number =
      !rest.empty() && rest.size() <= 6 &&
      std::all_of(rest.begin(), rest.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (is_number && *kind != LeaseKey::Kind::custom)
    key.index = std::stoi(rest);
  else
    key.name = rest;
  return key;
}

// The leases in one folder: those of known holders, and locks that no holder file claims.
struct FolderHolders {
  std::vector<LeaseHolder> known;
  std::vector<LeaseHolder::Held> unclaimed;
};

FolderHolders look_once(const LeaseFolder& folder,
                        const std::function<std::string(std::int64_t uid)>& user_name_of) {
  FolderHolders holders;
  ClaimedRanges claimed;
  const std::int64_t now = unix_time_ms();
  for (const auto& [words, uid, file] : living_records(folder)) {
    if (words.leases.empty()) continue;
    LeaseHolder holder{words.task, words.name, words.launcher, uid};
    holder.held_ms = std::max<std::int64_t>(0, now - words.since_ms);
    holder.is_running = words.is_running;
    for (const HolderRecord::Held& held : words.leases) {
      std::vector<LeaseRange>& ranges = claimed[lease_file_name(held.key)];
      ranges.insert(ranges.end(), held.ranges.begin(), held.ranges.end());
      holder.leases.push_back({held.key, size_of(held.ranges)});
    }
    holder.user = user_name_of(holder.uid);
    holders.known.push_back(std::move(holder));
  }
  std::vector<std::string> files = names_in(folder);
  std::sort(files.begin(), files.end());
  LocksOfHost locks(folder);
  for (const std::string& name : files) {
    const auto key = key_of_file(name);
    if (!key) continue;
    const std::uint64_t amount = size_of(without(locks.locked(name), merged(claimed[name])));
    if (amount > 0) holders.unclaimed.push_back({*key, amount});
  }
  return holders;
}

// Repeats the look while there are unclaimed locks: a task locks first and writes its holder file
// after that.
FolderHolders look_at(const LeaseFolder& folder,
                      const std::function<std::string(std::int64_t uid)>& user_name_of) {
  constexpr auto longest_pause = 8ms;
  for (auto pause = 1ms;; pause *= 2) {
    FolderHolders holders = look_once(folder, user_name_of);
    if (holders.unclaimed.empty() || pause > longest_pause) return holders;
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

std::vector<LeaseHolder> holders_on(
    const LeaseFolder& folder, const std::function<std::string(std::int64_t uid)>& user_name_of) {
  std::vector<LeaseHolder> holders;
  LeaseHolder unknown;
  const auto add = [&](FolderHolders found) {
    std::move(found.known.begin(), found.known.end(), std::back_inserter(holders));
    std::move(found.unclaimed.begin(), found.unclaimed.end(), std::back_inserter(unknown.leases));
  };
  add(look_at(folder, user_name_of));
  if (const auto others = other_lease_folders(folder))
    for (const LeaseFolder& other : *others) add(look_at(other, user_name_of));
  if (!unknown.leases.empty()) holders.push_back(std::move(unknown));
  std::sort(holders.begin(), holders.end(), [](const LeaseHolder& a, const LeaseHolder& b) {
    return std::tie(b.held_ms, a.task) < std::tie(a.held_ms, b.task);
  });
  return holders;
}

Result<ClaimedRanges> claimed_in(const LeaseFolder& folder, const std::string& except) {
  ClaimedRanges claimed;
  bool are_all = false;
  const std::vector<LivingRecord> records = living_records(folder, &are_all);
  if (!are_all)
    return fail(ErrorClass::busy,
                fmt::format("whoever has made so many files in '{}' that they cannot be read",
                            folder.path));
  for (const LivingRecord& record : records) {
    if (record.file == except) continue;
    for (const HolderRecord::Held& held : record.words.leases) {
      std::vector<LeaseRange>& ranges = claimed[lease_file_name(held.key)];
      ranges.insert(ranges.end(), held.ranges.begin(), held.ranges.end());
    }
  }
  for (auto& [name, ranges] : claimed) ranges = merged(std::move(ranges));
  return claimed;
}

std::vector<std::string> tasks_without_locks(const LeaseFolder& folder) {
  std::vector<std::string> tasks = tasks_without_locks_in(folder);
  if (const auto others = other_lease_folders(folder))
    for (const LeaseFolder& other : *others)
      for (std::string& task : tasks_without_locks_in(other)) tasks.push_back(std::move(task));
  return tasks;
}

std::vector<std::string> squats_on(const LeaseFolder& folder) {
  constexpr std::size_t most = 8;
  std::vector<std::string> squats;
  const auto look = [&](const LeaseFolder& each, const char* what_comes_of_it) {
    for (const std::string& name : names_in(each)) {
      if (squats.size() == most) return;
      if (name != lease_mutex_name && !key_of_file(name)) continue;
      if (const auto squat = squat_on(each, name))
        squats.push_back(squat->diagnostics.front().message + what_comes_of_it);
    }
  };
  const bool is_last = !lease_folder_after(folder, make_error(ErrorClass::host, ""));
  look(folder, is_last ? "" : "; tasks that need it use the next folder");
  const auto others = other_lease_folders(folder);
  if (!others) return squats;
  for (const LeaseFolder& other : *others)
    look(other, is_among(folder.later, other.path) ? "" : "; tasks use the next folder");
  return squats;
}

std::string user_name_in_passwd(std::int64_t uid) {
  const std::string text = read_small_file("/etc/passwd", std::size_t{1} << 20);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    const std::size_t name = line.find(':');
    const std::size_t password = name == line.npos ? line.npos : line.find(':', name + 1);
    if (password == line.npos) continue;
    const std::size_t id = std::min(line.find(':', password + 1), line.size());
    if (line.substr(password + 1, id - password - 1) == std::to_string(uid))
      return std::string(line.substr(0, name));
  }
  return {};
}

}  // namespace train
