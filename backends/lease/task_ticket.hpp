// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/lease/lease_file.hpp"
#include "backends/lease/lease_folder.hpp"
#include "launcher/lease/ticket.hpp"

namespace train {

/// The prefix of the names of tickets.
inline constexpr std::string_view ticket_prefix = "ticket-";

/// The tickets of tasks that wait for this host, in the order of the queue: those whose process
/// lives, in this folder and the other ones of the order. Only reads. `user_name_of` returns the
/// name of a user id, or an empty string.
std::vector<Ticket> tickets_on(const LeaseFolder& folder,
                               const std::function<std::string(std::int64_t uid)>& user_name_of);

/// One task's place in the queue of this host, a file beside the locks. It counts as long as this
/// object has it locked, and is removed with it. Calls may wait for a disk: not for a loop.
class TaskTicket {
 public:
  /// `key` is the agent's, unique on this host. `ticket` is written with its arrival as its order
  /// unless its order is final. Class `host`; `busy` if the folder is full.
  static Result<TaskTicket> make(const LeaseFolder& folder, const std::string& key,
                                 const Ticket& ticket);
  TaskTicket(TaskTicket&&) = default;
  TaskTicket& operator=(TaskTicket&&) = delete;
  ~TaskTicket();

  /// Rewrites the ticket when its text or order has changed. Class `host`.
  Result<void> write(const Ticket& ticket);
  /// The time of arrival: Unix time in nanoseconds, by the kernel of this host.
  std::int64_t arrived_ns() const { return arrived_ns_; }
  /// False once the file was removed, for example by a cleaner.
  bool is_there() const { return file_.is_in(folder_); }
  void touch() const { file_.touch(); }

 private:
  TaskTicket(const LeaseFolder& folder, LeaseFile file) : folder_(folder), file_(std::move(file)) {}
  Error not_written(int error) const;

  const LeaseFolder& folder_;
  LeaseFile file_;
  std::int64_t arrived_ns_ = 0;
};

}  // namespace train
