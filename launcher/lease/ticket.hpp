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

/// Whether it is an id as `make_task_id` makes them. Whoever says to be a task and has none is
/// none.
inline bool looks_like_task_id(std::string_view text) {
  constexpr std::size_t length = 8;
  return text.size() == length && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '2' && c <= '7');
         });
}

/// Where a task that waits stands in the line. It is the same on all hosts that the task may use,
/// so that two tasks never see two orders. The lowest is served first.
struct TicketOrder {
  /// Unix time: the latest arrival of its tickets, each by the clock of its host, or later.
  std::int64_t time_ns = 0;
  /// That arrival itself: of tasks that have stepped behind the same one, who was there first.
  std::int64_t arrived_ns = 0;
  std::string task = {};

  auto operator<=>(const TicketOrder&) const = default;
};

/// How far the arrivals of one task on its hosts are apart, by clocks that are right.
inline constexpr std::int64_t usual_spread_ns = 20'000'000'000;

/// As in Determined: 1 is the most urgent, 99 the least.
inline constexpr int most_urgent = 1;
inline constexpr int least_urgent = 99;
inline constexpr int usual_priority = 42;

/// What a task that waits for slots of a host says of itself there. The user is the owner of its
/// file, all else are its own words.
struct Ticket {
  TicketOrder order = {};
  /// Not yet: some hosts have not said when the task arrived, and `order` may still become later.
  bool is_final = false;
  /// The hosts that stand in the line have too little for it, whoever holds what there: others go
  /// first until more stand. It keeps its order.
  bool stands_aside = false;
  int priority = usual_priority;
  std::string name = {};      ///< of the task
  std::string launcher = {};  ///< where it was launched
  std::string wants = {};     ///< how many slots of all its hosts, as a quantity
  int hosts = 0;              ///< on how many it waits for them; 0: it does not say
  std::int64_t uid = -1;      ///< on the host
  std::string user = {};      ///< its name there; empty: it has none
  bool is_own_user = false;   ///< the user of who has asked
  std::int64_t waited_ms = 0;
  /// When its file was made: Unix time, by the host's kernel, whatever the file says; 0: the file
  /// system does not keep it. An old file that comes under the name of a ticket stays old.
  std::int64_t here_since_ns = 0;
  /// Tasks of others that it has passed on the host: what they want lay free there for long, or
  /// stays free for them.
  std::vector<std::string> passed = {};

  bool operator==(const Ticket&) const = default;
};

/// Whether a task has to wait for this ticket. Without an order of its own it stands behind all.
/// An order is its owner's word. Of other users only those count whose file was made before the
/// task's as well (`here_since_ns`, of its own ticket there; 0: not known), but for the spread of
/// arrivals and what the task has stepped back. That only takes pairs out of the order that all
/// have in common, so that nobody waits in a circle.
inline bool is_in_the_way(const Ticket& ticket, const std::string& task,
                          const std::optional<TicketOrder>& order, std::int64_t here_since_ns = 0) {
  if (ticket.order.task == task || ticket.stands_aside) return false;
  if (!order) return true;
  if (!(ticket.order < *order)) return false;
  if (ticket.is_own_user || ticket.here_since_ns == 0 || here_since_ns == 0) return true;
  const std::int64_t stepped_back = std::max<std::int64_t>(0, order->time_ns - order->arrived_ns);
  return ticket.here_since_ns - here_since_ns <= stepped_back + usual_spread_ns;
}

/// Whether a task has passed another user's ticket on the host, as its own one there says.
inline bool has_passed(const Ticket& own, const Ticket& other) {
  return !other.is_own_user &&
         std::find(own.passed.begin(), own.passed.end(), other.order.task) != own.passed.end();
}

}  // namespace train
