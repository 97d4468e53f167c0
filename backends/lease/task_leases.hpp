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

/// What one task holds of this host. The locks go with `drop`, or when this and all copies of its
/// descriptors in other processes are closed. Calls may wait for a disk: not for a loop.
class TaskLeases {
 public:
  /// Who the holder is, for others: `leases` is filled in.
  struct Words {
    std::string key;  ///< of the agent: no other has the same on this host
    std::string task;
    std::string name;
    std::string launcher;
  };

  TaskLeases(LeaseFolder folder, Words words);
  TaskLeases(const TaskLeases&) = delete;
  TaskLeases& operator=(const TaskLeases&) = delete;

  /// Takes all of them, or none: then it returns who is in the way, at least one. What is held
  /// already is kept where it is still wanted, and let go where it is not. Something new is only
  /// taken when it is the task's turn: those who wait with a lower order are in the way, of one
  /// that has not waited all. Where somebody squats on a name that this needs, all is taken in the
  /// next folder of the order. Class `host` where something cannot be locked at all; who waits is
  /// told of an unknown holder where that is a squatter's doing.
  Result<std::vector<LeaseHolder>> take(const std::vector<LeaseWant>& wants,
                                        const std::optional<TicketOrder>& order = {});
  /// Others are told that the ranks were started. What other agents of the task held when this one
  /// took all else, and have let go since, it takes now.
  void note_running();
  /// Lets go of all, whoever else has its descriptors.
  void drop();
  /// To be called now and then: others may tidy the folder, or have removed what says who we are.
  void keep_young();
  /// What holds the locks.
  std::vector<int> descriptors() const;
  /// Those that this has not returned before: whoever is to hold them as well gets each once.
  std::vector<int> take_new_descriptors();

 private:
  struct Held {
    LeaseWant want;
    LeaseFile file;
    std::vector<LeaseRange> ranges;
    bool is_fresh = true;  ///< it was not held before the last call of `take`
    bool is_new = true;    ///< nobody else was given its descriptor
  };

  /// Of what others hold all but the locks in our own folder.
  struct Others {
    ClaimedRanges claimed_here = {};
    std::vector<LeaseFolder> folders = {};  ///< the other ones of the order
    ClaimedRanges claimed_there = {};
  };

  Result<Others> look_at_others() const;
  Result<std::vector<LeaseHolder>> take_each(const std::vector<LeaseWant>& wants,
                                             std::vector<Held>& held);
  Result<std::optional<Held>> take_one(const LeaseWant& want, const Others& others) const;
  Result<std::vector<LeaseHolder>> take_or_say_who(const LeaseWant& want, Others& others,
                                                   std::vector<Held>& held) const;
  Result<std::vector<LeaseHolder>> take_here(const std::vector<LeaseWant>& wants,
                                             const std::optional<TicketOrder>& order);
  std::optional<Error> squat_among(const std::vector<LeaseWant>& wants) const;
  std::vector<LeaseKey> taken_twice(const Others& others) const;
  Result<std::vector<LeaseHolder>> who_took_it_as_well() const;
  static std::vector<LeaseRange> held_there(const Others& others, const LeaseWant& want);
  bool are_own(const std::vector<LeaseHolder>& holders) const;
  bool take_lent();
  void release();
  bool has_all(const std::vector<LeaseWant>& wants) const;
  std::vector<LeaseHolder> who_comes_first(const std::vector<LeaseWant>& wants,
                                           const std::optional<TicketOrder>& order) const;
  std::vector<LeaseHolder> somebody_who(const std::string& words,
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
  std::vector<LeaseWant> lent_;      ///< other agents of the task hold it
  std::optional<LeaseFile> record_;  ///< locked while something is held
  bool is_record_new_ = true;
};

}  // namespace train
