// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/lease/lease_file.hpp"
#include "backends/lease/lease_folder.hpp"
#include "backends/lease/lease_holders.hpp"
#include "launcher/lease/lease.hpp"
#include "launcher/lease/ticket.hpp"
#include "launcher/wire/lease_fields.hpp"

namespace train {

/// The leases of one task on this host. The locks end with `drop`, or when this object and all
/// copies of its descriptors in other processes are gone. Calls may wait for a disk: not for a
/// loop.
class TaskLeases {
 public:
  /// What the holder file says about the holder, besides its leases.
  struct Words {
    std::string key;  ///< of the agent; unique on this host
    std::string task;
    std::string name;
    std::string launcher;
  };

  TaskLeases(LeaseFolder folder, Words words);
  TaskLeases(const TaskLeases&) = delete;
  TaskLeases& operator=(const TaskLeases&) = delete;

  /// Takes all wanted leases and returns an empty list; or takes none and returns the holders that
  /// are in the way, at least one. Leases that are held already are kept if they are still wanted,
  /// and released if not. New leases are only taken when it is the task's turn: waiting tasks of a
  /// lower order are in the way; for a task that has not waited, all waiting tasks are. If a
  /// squatter has taken a needed name, all leases are taken in the next folder of the order. Class
  /// `host` if something cannot be locked; if a squatter causes that, a waiting task gets an
  /// unknown holder instead.
  Result<std::vector<LeaseHolder>> take(const std::vector<LeaseWant>& wants,
                                        const std::optional<TicketOrder>& order = {});
  /// Notes in the holder file that the ranks were started. Also takes wanted leases that other
  /// agents of the task held during `take` and have released since.
  void note_running();
  /// Releases all leases, even if other processes have copies of the descriptors.
  void drop();
  /// Touches the files if the folder has a cleaner, and makes the holder file anew if it was
  /// removed. Call it from time to time.
  void touch();
  /// The GPUs that are held, and on which ranks of another task ran until less than a minute before
  /// they were taken: its memory may not be free yet.
  std::vector<LeaseKey> recently_used_gpus() const;
  /// The descriptors that hold the locks.
  std::vector<int> descriptors() const;
  /// The descriptors that this function has not returned before, for a process that is to hold
  /// copies.
  std::vector<int> take_new_descriptors();

 private:
  struct Held {
    LeaseWant want;
    LeaseFile file;
    std::vector<LeaseRange> ranges;
    bool was_just_used = false;  ///< a GPU: by another task, shortly before it was taken
    bool is_fresh = true;        ///< it was not held before the last call of `take`
    bool is_new = true;          ///< not returned by `take_new_descriptors` yet
  };

  /// What other tasks hold, except the locks in our own folder.
  struct Others {
    ClaimedRanges claimed_here = {};
    std::vector<LeaseFolder> folders = {};  ///< the other ones of the order
    ClaimedRanges claimed_there = {};
  };

  Result<Others> find_others() const;
  Result<std::vector<LeaseHolder>> take_each(const std::vector<LeaseWant>& wants,
                                             std::vector<Held>& held);
  Result<std::optional<Held>> take_one(const LeaseWant& want, const Others& others) const;
  Result<std::vector<LeaseHolder>> take_or_find_blockers(const LeaseWant& want, Others& others,
                                                         std::vector<Held>& held) const;
  Result<std::vector<LeaseHolder>> take_in_folder(const std::vector<LeaseWant>& wants,
                                                  const std::optional<TicketOrder>& order);
  std::optional<Error> find_squat(const std::vector<LeaseWant>& wants) const;
  std::vector<LeaseKey> taken_twice(const Others& others) const;
  Result<std::vector<LeaseHolder>> find_double_holders() const;
  static std::vector<LeaseRange> held_there(const Others& others, const LeaseWant& want);
  bool are_own(const std::vector<LeaseHolder>& holders) const;
  bool take_shared();
  void release();
  bool has_all(const std::vector<LeaseWant>& wants) const;
  std::vector<LeaseHolder> earlier_waiters(const std::vector<LeaseWant>& wants,
                                           const std::optional<TicketOrder>& order) const;
  std::vector<LeaseHolder> drop_for_unknown_holder(const std::string& words,
                                                   const std::vector<LeaseWant>& wants);
  std::string record_text() const;
  Result<void> write_record();
  Result<void> make_record();
  void remove_record();

  LeaseFolder folder_;
  Words words_;
  bool is_running_ = false;
  std::int64_t since_ms_ = 0;  ///< Unix time since when something is held
  std::vector<Held> held_;
  std::vector<LeaseWant> shared_wants_;  ///< wanted, but held by other agents of the task
  std::optional<LeaseFile> record_;      ///< locked while something is held
  bool is_record_new_ = true;
};

}  // namespace train
