// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace train {

/// Whether this is an id as `make_task_id` makes them. A claimed task without such an id does not
/// count as a task.
inline bool looks_like_task_id(std::string_view text) {
  constexpr std::size_t length = 8;
  return text.size() == length && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '2' && c <= '7');
         });
}

/// The place of a waiting task in the line. It is the same on all hosts that the task may use, so
/// that two tasks never see different orders. The lowest is served first.
struct TicketOrder {
  /// Unix time: the latest arrival of its tickets, each by the clock of its host; or later.
  std::int64_t time_ns = 0;
  /// That arrival itself: it decides between tasks that have stepped behind the same one.
  std::int64_t arrived_ns = 0;
  std::string task = {};

  auto operator<=>(const TicketOrder&) const = default;
};

/// Maximum spread of the arrivals of one task on its hosts, if clocks are right.
inline constexpr std::int64_t usual_spread_ns = 20'000'000'000;

/// As in Determined: 1 is the most urgent, 99 the least urgent.
inline constexpr int most_urgent = 1;
inline constexpr int least_urgent = 99;
inline constexpr int usual_priority = 42;

/// The ticket of a task that waits for slots of a host. The user is the owner of the file;
/// everything else is written by the task.
struct Ticket {
  TicketOrder order = {};
  /// False: some hosts have not reported the arrival yet, so `order` may still become later.
  bool is_final = false;
  /// The hosts in its line have too little for it, whatever others hold: other tasks go first until
  /// more hosts are in the line. It keeps its order.
  bool stands_aside = false;
  int priority = usual_priority;
  std::string name = {};      ///< of the task
  std::string launcher = {};  ///< where it was launched
  std::string wants = {};     ///< number of slots on all its hosts, as a quantity
  int hosts = 0;              ///< number of hosts on which it waits; 0: not said
  std::int64_t uid = -1;      ///< user id on the host
  std::string user = {};      ///< user name on the host; empty: none
  bool is_own_user = false;   ///< it is the user of the asking task
  std::int64_t waited_ms = 0;
  /// When its file was made: Unix time, by the host's kernel, whatever the file says; 0: not kept
  /// by the file system. An old file that is renamed to a ticket stays old.
  std::int64_t created_ns = 0;
  /// Tasks of other users that it has passed on the host: the slots that they want were free there
  /// for long, or stay free for them.
  std::vector<std::string> passed = {};

  bool operator==(const Ticket&) const = default;
};

/// Whether a task has to wait for this ticket. Without an order, the task is behind all tickets. An
/// order is claimed by its owner, so tickets of other users count only if their file was also made
/// before the task's own (`created_ns`, of its ticket there; 0: not known), give or take the
/// spread of arrivals and the time by which the task has stepped back. This only removes pairs from
/// the common order, so there is no deadlock.
inline bool blocks(const Ticket& ticket, const std::string& task,
                   const std::optional<TicketOrder>& order, std::int64_t created_ns = 0) {
  if (ticket.order.task == task || ticket.stands_aside) return false;
  if (!order) return true;
  if (!(ticket.order < *order)) return false;
  if (ticket.is_own_user || ticket.created_ns == 0 || created_ns == 0) return true;
  const std::int64_t stepped_back = std::max<std::int64_t>(0, order->time_ns - order->arrived_ns);
  return ticket.created_ns - created_ns <= stepped_back + usual_spread_ns;
}

/// Whether a task has passed another user's ticket on the host, according to its own ticket there.
inline bool has_passed(const Ticket& own, const Ticket& other) {
  return !other.is_own_user &&
         std::find(own.passed.begin(), own.passed.end(), other.order.task) != own.passed.end();
}

}  // namespace train
