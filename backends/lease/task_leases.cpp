// SPDX-License-Identifier: Apache-2.0
#include "backends/lease/task_leases.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "backends/lease/host_mutex.hpp"
#include "backends/lease/living_files.hpp"
#include "backends/lease/task_ticket.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"

namespace train {

namespace {

// Longer than the default limit of a wait for the memory of GPUs.
constexpr milliseconds recent_use{60'000};

void add(std::vector<LeaseRange>& all, const std::vector<LeaseRange>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

bool is_disjoint(const std::vector<LeaseRange>& ranges, const std::vector<LeaseRange>& held) {
  return size_of(without(ranges, held)) == size_of(ranges);
}

std::vector<LeaseHolder> holders_of(const LeaseKey& key, std::vector<LeaseHolder> holders) {
  std::erase_if(holders, [&](const LeaseHolder& holder) {
    return std::none_of(holder.leases.begin(), holder.leases.end(),
                        [&](const LeaseHolder::Held& each) {
                          return lease_file_name(each.key) == lease_file_name(key);
                        });
  });
  return holders;
}

// An unknown holder, for locks that cannot be attributed, as in a folder that cannot be read.
std::vector<LeaseHolder> unknown_holder_of(const LeaseKey& key) {
  return {{.task = {}, .leases = {{key, 0}}}};
}

}  // namespace

TaskLeases::TaskLeases(LeaseFolder folder, Words words)
    : folder_(std::move(folder)), words_(std::move(words)) {}

Result<TaskLeases::Others> TaskLeases::find_others() const {
  auto folders = other_lease_folders(folder_);
  if (!folders) return tl::make_unexpected(folders.error());
  auto claimed = claimed_in(folder_, record_ ? record_->name(folder_) : "");
  if (!claimed) return tl::make_unexpected(claimed.error());
  Others others{std::move(*claimed), std::move(*folders)};
  for (const LeaseFolder& folder : others.folders) {
    const auto there = claimed_in(folder);
    if (!there) return tl::make_unexpected(there.error());
    for (const auto& [name, ranges] : *there) add(others.claimed_there[name], ranges);
  }
  return others;
}

// A lock on a removed file excludes nobody, so the claims of living holders count as well.
Result<std::optional<TaskLeases::Held>> TaskLeases::take_one(const LeaseWant& want,
                                                             const Others& others) const {
  constexpr int tries = 10;
  for (int left = tries; left > 0; --left) {
    auto file = LeaseFile::open(folder_, lease_file_name(want.key));
    if (!file) return tl::make_unexpected(file.error());
    std::vector<LeaseRange> held = file->held_by_others(want.capacity);
    const auto claimed = others.claimed_here.find(lease_file_name(want.key));
    if (claimed != others.claimed_here.end()) add(held, claimed->second);
    add(held, held_there(others, want));
    auto ranges = choose_ranges(want, merged(std::move(held)));
    if (!ranges) return std::optional<Held>();
    const bool is_locked = std::all_of(ranges->begin(), ranges->end(),
                                       [&](const LeaseRange& range) { return file->lock(range); });
    if (is_locked && file->is_in(folder_)) {
      const bool was_just_used = is_gpu(want.key) && file->was_touched_within(recent_use);
      return std::optional(Held{want, std::move(*file), std::move(*ranges), was_just_used});
    }
  }
  return std::optional<Held>();
}

// Puts the leases into `held`, including those that were held already. Stops at the first that
// cannot be had and returns its holders.
Result<std::vector<LeaseHolder>> TaskLeases::take_each(const std::vector<LeaseWant>& wants,
                                                       std::vector<Held>& held) {
  auto others = find_others();
  if (!others) return tl::make_unexpected(others.error());
  for (const LeaseWant& want : wants) {
    const auto had = std::find_if(held_.begin(), held_.end(),
                                  [&](const Held& each) { return each.want == want; });
    if (had != held_.end()) {
      held.push_back(std::move(*had));
      held.back().is_fresh = false;
      held_.erase(had);
      continue;
    }
    auto blockers = take_or_find_blockers(want, *others, held);
    if (!blockers || !are_own(*blockers)) return blockers;
    if (!blockers->empty()) shared_wants_.push_back(want);
  }
  return std::vector<LeaseHolder>();
}

// Leases are released without the mutex: the holder that was in the way may be gone before its name
// is looked up. Then this tries again.
Result<std::vector<LeaseHolder>> TaskLeases::take_or_find_blockers(const LeaseWant& want,
                                                                   Others& others,
                                                                   std::vector<Held>& held) const {
  constexpr int tries = 10;
  for (int left = tries; left > 0; --left) {
    auto taken = take_one(want, others);
    if (!taken) return tl::make_unexpected(taken.error());
    if (*taken) {
      held.push_back(std::move(**taken));
      return std::vector<LeaseHolder>();
    }
    auto blockers = holders_of(want.key, holders_on(folder_, user_name_in_passwd));
    if (!blockers.empty()) return blockers;
    auto now = find_others();
    if (!now) return tl::make_unexpected(now.error());
    others = std::move(*now);
  }
  return unknown_holder_of(want.key);
}

// The keys of fresh leases that another holder has as well, in another folder or by its claim.
std::vector<LeaseKey> TaskLeases::taken_twice(const Others& others) const {
  std::vector<LeaseKey> twice;
  for (const Held& each : held_) {
    if (!each.is_fresh) continue;
    std::vector<LeaseRange> taken = held_there(others, each.want);
    const auto claimed = others.claimed_here.find(lease_file_name(each.want.key));
    if (claimed != others.claimed_here.end()) add(taken, claimed->second);
    if (!is_disjoint(each.ranges, merged(std::move(taken)))) twice.push_back(each.want.key);
  }
  return twice;
}

// Another task may have taken the same leases meanwhile: in another folder, which has a mutex of
// its own, or here, if the lock files were removed. Each task locks first, then writes its holder
// file, and then looks, so that at least one of two sees the other. A task that has released its
// leases since is not in the way.
Result<std::vector<LeaseHolder>> TaskLeases::find_double_holders() const {
  constexpr int tries = 10;
  std::optional<LeaseKey> gone;
  for (int left = tries; left > 0; --left) {
    const auto others = find_others();
    if (!others) return tl::make_unexpected(others.error());
    gone.reset();
    for (const LeaseKey& key : taken_twice(*others)) {
      auto blockers = holders_of(key, holders_on(folder_, user_name_in_passwd));
      const auto own =
          std::erase_if(blockers, [this](const LeaseHolder& holder) { return are_own({holder}); });
      if (!blockers.empty()) return blockers;
      if (own < 2) gone = key;  // with two, the other is another agent of this task
    }
    if (!gone) return std::vector<LeaseHolder>();
  }
  return unknown_holder_of(*gone);
}

std::vector<LeaseRange> TaskLeases::held_there(const Others& others, const LeaseWant& want) {
  const std::string name = lease_file_name(want.key);
  std::vector<LeaseRange> held;
  const auto claimed = others.claimed_there.find(name);
  if (claimed != others.claimed_there.end()) held = claimed->second;
  for (const LeaseFolder& folder : others.folders) {
    const LeaseFile file = LeaseFile::look(folder, name);
    if (!file) continue;
    const std::vector<LeaseRange> there = file.held_by_others(want.capacity);
    held.insert(held.end(), there.begin(), there.end());
  }
  return merged(std::move(held));
}

// Whether the holders belong to this task: several hosts of a task may be one machine, if its user
// configured that. The uid is compared because a holder file may contain any text, but its owner
// cannot be forged.
bool TaskLeases::are_own(const std::vector<LeaseHolder>& holders) const {
  return std::all_of(holders.begin(), holders.end(), [this](const LeaseHolder& each) {
    return each.task == words_.task && each.uid == ::getuid();
  });
}

bool TaskLeases::has_all(const std::vector<LeaseWant>& wants) const {
  return std::all_of(wants.begin(), wants.end(), [this](const LeaseWant& want) {
    return std::any_of(held_.begin(), held_.end(),
                       [&](const Held& each) { return each.want == want; });
  });
}

// The waiting tasks that come before this one; empty if all leases are held already.
std::vector<LeaseHolder> TaskLeases::earlier_waiters(
    const std::vector<LeaseWant>& wants, const std::optional<TicketOrder>& order) const {
  std::vector<LeaseHolder> first;
  if (has_all(wants)) return first;
  const std::vector<Ticket> tickets = tickets_on(folder_, user_name_in_passwd);
  const auto own = std::find_if(tickets.begin(), tickets.end(), [this](const Ticket& ticket) {
    return ticket.is_own_user && ticket.order.task == words_.task;
  });
  const bool waits = order && own != tickets.end();
  for (const Ticket& ticket : tickets) {
    if (!blocks(ticket, words_.task, order, waits ? own->created_ns : 0)) continue;
    if (waits && has_passed(*own, ticket)) continue;
    LeaseHolder holder{ticket.order.task, ticket.name, ticket.launcher, ticket.uid, ticket.user};
    holder.held_ms = ticket.waited_ms;
    holder.is_waiting = true;
    first.push_back(std::move(holder));
  }
  return first;
}

Result<std::vector<LeaseHolder>> TaskLeases::take(const std::vector<LeaseWant>& wants,
                                                  const std::optional<TicketOrder>& order) {
  // Leases that are held already stay, whatever other tasks claim meanwhile.
  if (held_.size() == wants.size() && has_all(wants)) return std::vector<LeaseHolder>();
  Error squats{ErrorClass::host, {}};
  for (;;) {
    auto taken = take_in_folder(wants, order);
    if (taken) return taken;
    const auto squat = find_squat(wants);
    if (!squat && taken.error().error_class == ErrorClass::busy)
      return drop_for_unknown_holder(taken.error().diagnostics.front().message, wants);
    if (!squat) return taken;
    squats.diagnostics.push_back(squat->diagnostics.front());
    auto next = lease_folder_after(folder_, squats);
    // A squatter must not end a task that waits.
    if (!next && order)
      return drop_for_unknown_holder(next.error().diagnostics.front().message, wants);
    if (!next) return tl::make_unexpected(next.error());
    drop();
    folder_ = std::move(*next);
  }
}

std::optional<Error> TaskLeases::find_squat(const std::vector<LeaseWant>& wants) const {
  if (auto squat = squat_on(folder_, lease_mutex_name)) return squat;
  for (const LeaseWant& want : wants)
    if (auto squat = squat_on(folder_, lease_file_name(want.key))) return squat;
  return std::nullopt;
}

Result<std::vector<LeaseHolder>> TaskLeases::take_in_folder(
    const std::vector<LeaseWant>& wants, const std::optional<TicketOrder>& order) {
  const auto mutex = HostMutex::lock(folder_);
  if (!mutex) return tl::make_unexpected(mutex.error());
  if (auto first = earlier_waiters(wants, order); !first.empty()) {
    drop();
    return first;
  }
  std::vector<Held> held;
  shared_wants_.clear();
  auto blockers = take_each(wants, held);
  const bool is_taken = blockers && blockers->empty();
  if (is_taken) release();  // releases the leases that are no longer wanted
  for (Held& each : held) held_.push_back(std::move(each));
  if (!is_taken) {
    drop();
    return blockers;
  }
  remove_dead_files(folder_);
  if (auto written = write_record(); !written) {
    drop();
    return tl::make_unexpected(written.error());
  }
  auto double_holders = find_double_holders();
  if (!double_holders || !double_holders->empty()) drop();
  return double_holders;
}

// Drops all leases, and returns a holder without a task, described by `words`, that is in the way.
std::vector<LeaseHolder> TaskLeases::drop_for_unknown_holder(const std::string& words,
                                                             const std::vector<LeaseWant>& wants) {
  drop();
  LeaseHolder holder{.task = {}, .name = words};
  if (!wants.empty()) holder.leases.push_back({wants.front().key, 0});
  return {std::move(holder)};
}

std::string TaskLeases::record_text() const {
  HolderRecord record{words_.task, words_.name, words_.launcher, since_ms_, is_running_, {}};
  for (const Held& held : held_) record.leases.push_back({held.want.key, held.ranges});
  return encode_holder(record);
}

// Other processes read it without a lock; if they find it incomplete, they read it again.
Result<void> TaskLeases::write_record() {
  if (!record_) {
    since_ms_ = unix_time_ms();
    return make_record();
  }
  const auto refuse = [&](int error) {
    return fail(ErrorClass::host,
                fmt::format("cannot say in '{}/{}{}' who holds slots: {}", folder_.path,
                            folder_.prefix, record_->name(folder_), system_reason(error)));
  };
  // Overwrites the old text in place: if the file system is full, the old text stays.
  const std::string text = record_text();
  if (const int error = write_whole_at(record_->descriptor(), text, 0); error != 0)
    return refuse(error);
  if (::ftruncate(record_->descriptor(), static_cast<off_t>(text.size())) != 0)
    return refuse(errno);
  return {};
}

Result<void> TaskLeases::make_record() {
  auto made = LeaseFile::make_record(
      folder_, fmt::format("{}{}-{}", holder_prefix, ::getuid(), words_.key), record_text());
  if (!made) return tl::make_unexpected(made.error());
  is_record_new_ = true;
  record_ = std::move(*made);
  return {};
}

void TaskLeases::remove_record() {
  if (!record_) return;
  (void)::unlinkat(folder_.folder.get(), (folder_.prefix + record_->name(folder_)).c_str(), 0);
  record_.reset();
}

void TaskLeases::note_running() {
  const bool has_more = take_shared();
  if (held_.empty() || (std::exchange(is_running_, true) && !has_more)) return;
  (void)write_record();  // on failure, readers see the old state for longer
}

// Takes leases that other agents of this task held during `take`: those may belong to an earlier
// placement of the task, and end.
bool TaskLeases::take_shared() {
  if (shared_wants_.empty()) return false;
  const auto mutex = HostMutex::lock(folder_);
  const auto others = find_others();
  if (!mutex || !others) return false;
  const std::size_t before = held_.size();
  std::erase_if(shared_wants_, [&](const LeaseWant& want) {
    auto taken = take_one(want, *others);
    if (!taken || !*taken) return false;
    held_.push_back(std::move(**taken));
    return true;
  });
  return held_.size() > before;
}

std::vector<LeaseKey> TaskLeases::recently_used_gpus() const {
  std::vector<LeaseKey> gpus;
  for (const Held& held : held_)
    if (held.was_just_used) gpus.push_back(held.want.key);
  return gpus;
}

// Touches the files of GPUs on which ranks ran, for the task that takes them next. Unlocks
// explicitly: other processes may have the same open file descriptions, so closing ours
// would release nothing.
void TaskLeases::release() {
  for (Held& held : held_) {
    if (is_running_ && is_gpu(held.want.key)) held.file.touch();
    for (const LeaseRange& range : held.ranges) held.file.unlock(range);
  }
  held_.clear();
}

void TaskLeases::drop() {
  release();
  remove_record();
}

void TaskLeases::touch() {
  if (held_.empty()) return;
  // On failure the next call tries again.
  if (record_ && !record_->is_in(folder_)) (void)make_record();
  if (!folder_.is_tidied) return;
  for (const Held& held : held_) held.file.touch();
  if (record_) record_->touch();
  HostMutex::touch(folder_);
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
