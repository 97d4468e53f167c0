// SPDX-License-Identifier: Apache-2.0
#include "backends/lease/lease_holders.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include "backends/lease/lease_file.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"
#include "launcher/wire/lease_fields.hpp"

namespace train {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_records = 4'096;

// A record is made anew in one piece, but a reader may come in the middle.
std::optional<HolderRecord> read_record(int file) {
  constexpr int tries = 3;
  for (int left = tries; left > 0; --left) {
    struct stat status {};
    if (::fstat(file, &status) != 0) return std::nullopt;
    const auto longest = static_cast<off_t>(longest_holder_record);
    std::string text(static_cast<std::size_t>(std::min(status.st_size, longest)) + 1, '\0');
    const ssize_t size = read_whole_at(file, text.data(), text.size(), 0);
    if (size < 0) return std::nullopt;
    text.resize(static_cast<std::size_t>(size));
    if (auto record = decode_holder(text)) return std::move(*record);
    std::this_thread::sleep_for(1ms);
  }
  return std::nullopt;
}

std::vector<LeaseRange> locked_ranges(const LeaseFolder& folder, const std::string& name) {
  const LeaseFile file = LeaseFile::look(folder, name);
  return file ? file.held_by_others(last_lease_unit) : std::vector<LeaseRange>();
}

bool has_all_locks(const LeaseFolder& folder, const HolderRecord& record) {
  return std::all_of(record.leases.begin(), record.leases.end(), [&](const auto& held) {
    return without(held.ranges, locked_ranges(folder, lease_file_name(held.key))).empty();
  });
}

// The words of one holder that lives.
struct LivingRecord {
  HolderRecord words;
  std::int64_t uid = -1;
};

std::optional<LivingRecord> living_record(const LeaseFolder& folder, const std::string& name) {
  const LeaseFile file = LeaseFile::look(folder, name);
  if (!file || file.held_by_others(1).empty()) return std::nullopt;  // of a task that was killed
  struct stat status {};
  auto record = read_record(file.descriptor());
  if (!record || ::fstat(file.descriptor(), &status) != 0) return std::nullopt;
  return LivingRecord{std::move(*record), status.st_uid};
}

// The words of all holders that live, and the names of all other files.
std::vector<LivingRecord> living_records(const LeaseFolder& folder, const std::string& except = {},
                                         std::vector<std::string>* others = nullptr) {
  std::vector<LivingRecord> records;
  for (const std::string& name : names_in(folder)) {
    if (!name.starts_with(holder_prefix)) {
      if (others != nullptr) others->push_back(name);
      continue;
    }
    if (name == except || records.size() >= most_records) continue;
    if (auto record = living_record(folder, name)) records.push_back(std::move(*record));
  }
  return records;
}

// Who lets go unlocks first, and removes its words then.
std::vector<std::string> tasks_without_locks_in(const LeaseFolder& folder) {
  std::vector<std::string> tasks;
  for (const std::string& name : names_in(folder)) {
    if (!name.starts_with(holder_prefix) || tasks.size() >= most_records) continue;
    auto record = living_record(folder, name);
    if (!record || has_all_locks(folder, record->words)) continue;
    std::this_thread::sleep_for(1ms);
    record = living_record(folder, name);
    if (record && !has_all_locks(folder, record->words)) tasks.push_back(record->words.task);
  }
  return tasks;
}

// What locks there really are, file by file.
class LocksOfHost {
 public:
  explicit LocksOfHost(const LeaseFolder& folder) : folder_(folder) {}

  // Somebody has said that it is his.
  void claim(const HolderRecord::Held& held) {
    std::vector<LeaseRange>& unclaimed = unclaimed_of(lease_file_name(held.key));
    unclaimed = without(unclaimed, held.ranges);
  }
  // What nobody has said anything of.
  std::uint64_t unclaimed(const std::string& name) { return size_of(unclaimed_of(name)); }

 private:
  std::vector<LeaseRange>& unclaimed_of(const std::string& name) {
    const auto known = locks_.find(name);
    if (known != locks_.end()) return known->second;
    return locks_[name] = locked_ranges(folder_, name);
  }

  const LeaseFolder& folder_;
  std::map<std::string, std::vector<LeaseRange>> locks_;
};

// The key of a file that nobody has explained, as far as its name says it.
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

// What is locked in one folder: the words of holders, and what nobody says anything of.
void add_holders(const LeaseFolder& folder,
                 const std::function<std::string(std::int64_t uid)>& user_name_of,
                 std::vector<LeaseHolder>& holders, LeaseHolder& unknown) {
  LocksOfHost locks(folder);
  const std::int64_t now = unix_time_ms();
  std::vector<std::string> files;
  for (const auto& [words, uid] : living_records(folder, {}, &files)) {
    if (words.leases.empty()) continue;
    LeaseHolder holder{words.task, words.name, words.launcher, uid};
    holder.held_ms = std::max<std::int64_t>(0, now - words.since_ms);
    holder.is_running = words.is_running;
    for (const HolderRecord::Held& held : words.leases) {
      locks.claim(held);
      holder.leases.push_back({held.key, size_of(held.ranges)});
    }
    holder.user = user_name_of(holder.uid);
    holders.push_back(std::move(holder));
  }
  std::sort(files.begin(), files.end());
  for (const std::string& name : files)
    if (const auto key = key_of_file(name))
      if (const std::uint64_t amount = locks.unclaimed(name); amount > 0)
        unknown.leases.push_back({*key, amount});
}

}  // namespace

std::vector<LeaseHolder> holders_on(
    const LeaseFolder& folder, const std::function<std::string(std::int64_t uid)>& user_name_of) {
  std::vector<LeaseHolder> holders;
  LeaseHolder unknown;
  add_holders(folder, user_name_of, holders, unknown);
  if (const auto others = other_lease_folders(folder))
    for (const LeaseFolder& other : *others) add_holders(other, user_name_of, holders, unknown);
  if (!unknown.leases.empty()) holders.push_back(std::move(unknown));
  std::sort(holders.begin(), holders.end(), [](const LeaseHolder& a, const LeaseHolder& b) {
    return std::tie(b.held_ms, a.task) < std::tie(a.held_ms, b.task);
  });
  return holders;
}

ClaimedRanges claimed_in(const LeaseFolder& folder, const std::string& except) {
  ClaimedRanges claimed;
  for (const LivingRecord& record : living_records(folder, except))
    for (const HolderRecord::Held& held : record.words.leases) {
      std::vector<LeaseRange>& ranges = claimed[lease_file_name(held.key)];
      ranges.insert(ranges.end(), held.ranges.begin(), held.ranges.end());
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
