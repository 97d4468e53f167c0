// SPDX-License-Identifier: Apache-2.0
#include "backends/lease/task_leases.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>

#include "backends/lease/host_mutex.hpp"
#include "backends/lease/task_ticket.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"

namespace train {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view record_prefix = "holder-";
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

// What locks there really are, file by file.
class LocksOfHost {
 public:
  explicit LocksOfHost(const LeaseFolder& folder) : folder_(folder) {}

  // How much of what somebody says to hold is locked, which nobody else has said.
  std::uint64_t claim(const HolderRecord::Held& held) {
    std::vector<LeaseRange>& unclaimed = unclaimed_of(lease_file_name(held.key));
    const std::uint64_t before = size_of(unclaimed);
    unclaimed = without(unclaimed, held.ranges);
    return before - size_of(unclaimed);
  }
  // What nobody has said anything of.
  std::uint64_t unclaimed(const std::string& name) { return size_of(unclaimed_of(name)); }

 private:
  std::vector<LeaseRange>& unclaimed_of(const std::string& name) {
    const auto known = locks_.find(name);
    if (known != locks_.end()) return known->second;
    const LeaseFile file = LeaseFile::look(folder_, name);
    return locks_[name] = file ? file.held_by_others(last_lease_unit) : std::vector<LeaseRange>();
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

}  // namespace

std::vector<LeaseHolder> holders_on(
    const LeaseFolder& folder, const std::function<std::string(std::int64_t uid)>& user_name_of) {
  std::vector<LeaseHolder> holders;
  LocksOfHost locks(folder);
  const std::int64_t now = unix_time_ms();
  std::vector<std::string> files;
  for (const std::string& each : names_in(FolderReader(folder.folder.get()))) {
    if (!each.starts_with(folder.prefix)) continue;
    const std::string name = each.substr(folder.prefix.size());
    if (!name.starts_with(record_prefix)) {
      files.push_back(name);
      continue;
    }
    if (holders.size() >= most_records) continue;
    const LeaseFile file = LeaseFile::look(folder, name);
    if (!file || file.held_by_others(1).empty()) continue;  // of a task that was killed
    struct stat status {};
    const auto record = read_record(file.descriptor());
    if (!record || ::fstat(file.descriptor(), &status) != 0) continue;
    LeaseHolder holder{record->task, record->name, record->launcher, status.st_uid};
    holder.held_ms = std::max<std::int64_t>(0, now - record->since_ms);
    holder.is_running = record->is_running;
    for (const HolderRecord::Held& held : record->leases)
      if (const std::uint64_t amount = locks.claim(held); amount > 0)
        holder.leases.push_back({held.key, amount});
    if (holder.leases.empty()) continue;
    holder.user = user_name_of(holder.uid);
    holders.push_back(std::move(holder));
  }
  LeaseHolder unknown;
  std::sort(files.begin(), files.end());
  for (const std::string& name : files)
    if (const auto key = key_of_file(name))
      if (const std::uint64_t amount = locks.unclaimed(name); amount > 0)
        unknown.leases.push_back({*key, amount});
  if (!unknown.leases.empty()) holders.push_back(std::move(unknown));
  std::sort(holders.begin(), holders.end(), [](const LeaseHolder& a, const LeaseHolder& b) {
    return std::tie(b.held_ms, a.task) < std::tie(a.held_ms, b.task);
  });
  return holders;
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

Result<void> keep_open_in(int socket, const std::vector<int>& descriptors) {
  constexpr std::size_t most_at_once = 200;  // the kernel takes 253
  for (std::size_t begin = 0; begin < descriptors.size(); begin += most_at_once) {
    const std::size_t count = std::min(most_at_once, descriptors.size() - begin);
    alignas(cmsghdr) char control[CMSG_SPACE(most_at_once * sizeof(int))] = {};
    char byte = 0;
    iovec bytes{&byte, 1};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(header), descriptors.data() + begin, count * sizeof(int));
    const auto sent =
        uninterrupted([&] { return ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL); });
    if (sent < 0)
      return fail(ErrorClass::host, fmt::format("the guard of the agent cannot hold its slots: {}",
                                                system_reason(errno)));
  }
  return {};
}

TaskLeases::TaskLeases(LeaseFolder folder, Words words)
    : folder_(std::move(folder)), words_(std::move(words)) {}

TaskLeases::~TaskLeases() { drop(); }

// The lock of what another process has removed keeps nobody out.
Result<std::optional<TaskLeases::Held>> TaskLeases::take_one(const LeaseWant& want) {
  constexpr int tries = 10;
  for (int left = tries; left > 0; --left) {
    auto file = LeaseFile::open(folder_, lease_file_name(want.key));
    if (!file) return tl::make_unexpected(file.error());
    auto ranges = choose_ranges(want, file->held_by_others(want.capacity));
    if (!ranges) return std::optional<Held>();
    const bool is_locked = std::all_of(ranges->begin(), ranges->end(),
                                       [&](const LeaseRange& range) { return file->lock(range); });
    if (is_locked && file->is_in(folder_))
      return std::optional(Held{want, std::move(*file), std::move(*ranges)});
  }
  return std::optional<Held>();
}

// At least one: somebody may have let go meanwhile, or keep out of sight.
std::vector<LeaseHolder> TaskLeases::holders_of(const LeaseKey& key) const {
  std::vector<LeaseHolder> holders = holders_on(folder_, user_name_in_passwd);
  std::erase_if(holders, [&](const LeaseHolder& holder) {
    return std::none_of(holder.leases.begin(), holder.leases.end(),
                        [&](const LeaseHolder::Held& each) {
                          return lease_file_name(each.key) == lease_file_name(key);
                        });
  });
  if (holders.empty()) holders.push_back({.task = {}, .leases = {{key, 0}}});
  return holders;
}

// What is held already is nobody else's turn.
std::vector<LeaseHolder> TaskLeases::who_comes_first(
    const std::vector<LeaseWant>& wants, const std::optional<TicketOrder>& order) const {
  const bool has_all = std::all_of(wants.begin(), wants.end(), [this](const LeaseWant& want) {
    return std::any_of(held_.begin(), held_.end(),
                       [&](const Held& each) { return each.want == want; });
  });
  std::vector<LeaseHolder> first;
  if (has_all) return first;
  for (const Ticket& ticket : tickets_on(folder_, user_name_in_passwd)) {
    if (!is_in_the_way(ticket, words_.task, order)) continue;
    LeaseHolder holder{ticket.order.task, ticket.name, ticket.launcher, ticket.uid, ticket.user};
    holder.held_ms = ticket.waited_ms;
    holder.is_waiting = true;
    first.push_back(std::move(holder));
  }
  return first;
}

Result<std::vector<LeaseHolder>> TaskLeases::take(const std::vector<LeaseWant>& wants,
                                                  const std::optional<TicketOrder>& order) {
  const auto mutex = HostMutex::lock(folder_);
  if (!mutex) return tl::make_unexpected(mutex.error());
  if (auto first = who_comes_first(wants, order); !first.empty()) {
    drop();
    return first;
  }
  std::vector<Held> held;
  const auto give_back = [&] {
    for (Held& each : held) held_.push_back(std::move(each));
  };
  for (const LeaseWant& want : wants) {
    const auto had = std::find_if(held_.begin(), held_.end(),
                                  [&](const Held& each) { return each.want == want; });
    if (had != held_.end()) {
      held.push_back(std::move(*had));
      held_.erase(had);
      continue;
    }
    auto taken = take_one(want);
    if (!taken) {
      give_back();
      drop();
      return tl::make_unexpected(taken.error());
    }
    if (*taken) {
      held.push_back(std::move(**taken));
      continue;
    }
    std::vector<LeaseHolder> in_the_way = holders_of(want.key);
    // Hosts of one task that are one machine: that is what its user has asked for. Others may say
    // what they like of themselves, but for whose file it is.
    if (std::all_of(in_the_way.begin(), in_the_way.end(), [this](const LeaseHolder& holder) {
          return holder.task == words_.task && holder.uid == ::getuid();
        }))
      continue;
    give_back();
    drop();
    return in_the_way;
  }
  release();  // what is not wanted any more
  held_ = std::move(held);
  remove_dead_files(folder_, std::string(record_prefix));
  remove_dead_files(folder_, std::string(ticket_prefix));
  if (auto written = write_record(); !written) {
    drop();
    return tl::make_unexpected(written.error());
  }
  return std::vector<LeaseHolder>();
}

std::string TaskLeases::record_name() const {
  return fmt::format("{}{}-{}", record_prefix, ::getuid(), words_.key);
}

// Others read it without a lock: what they read half of they read again.
Result<void> TaskLeases::write_record() {
  if (!record_) {
    auto made = LeaseFile::make_record(folder_, record_name());
    if (!made) return tl::make_unexpected(made.error());
    since_ms_ = unix_time_ms();
    is_record_new_ = true;
    record_ = std::move(*made);
  }
  const auto refuse = [&](int error) {
    return fail(ErrorClass::host,
                fmt::format("cannot say in '{}/{}{}' who holds slots: {}", folder_.path,
                            folder_.prefix, record_name(), system_reason(error)));
  };
  if (!record_->lock({0, 1})) return refuse(errno);
  HolderRecord record{words_.task, words_.name, words_.launcher, since_ms_, is_running_, {}};
  for (const Held& held : held_) record.leases.push_back({held.want.key, held.ranges});
  const std::string text = encode_holder(record);
  if (::ftruncate(record_->descriptor(), 0) != 0) return refuse(errno);
  if (const int error = write_whole_at(record_->descriptor(), text, 0); error != 0)
    return refuse(error);
  return {};
}

void TaskLeases::remove_record() {
  if (!record_) return;
  (void)::unlinkat(folder_.folder.get(), (folder_.prefix + record_name()).c_str(), 0);
  record_.reset();
}

void TaskLeases::note_running() {
  if (held_.empty() || std::exchange(is_running_, true)) return;
  (void)write_record();  // who reads the old one waits a little longer
}

// Other processes may have the same descriptions open: closing ours would free nothing.
void TaskLeases::release() {
  for (Held& held : held_)
    for (const LeaseRange& range : held.ranges) held.file.unlock(range);
  held_.clear();
}

void TaskLeases::drop() {
  release();
  remove_record();
}

void TaskLeases::keep_young() const {
  if (!folder_.is_tidied) return;
  for (const Held& held : held_) held.file.keep_young();
  if (record_) record_->keep_young();
}

std::vector<int> TaskLeases::descriptors() const {
  std::vector<int> descriptors;
  for (const Held& held : held_) descriptors.push_back(held.file.descriptor());
  if (record_) descriptors.push_back(record_->descriptor());
  return descriptors;
}

std::vector<int> TaskLeases::take_new_descriptors() {
  std::vector<int> descriptors;
  for (Held& held : held_)
    if (std::exchange(held.is_new, false)) descriptors.push_back(held.file.descriptor());
  if (record_ && std::exchange(is_record_new_, false)) descriptors.push_back(record_->descriptor());
  return descriptors;
}

}  // namespace train
