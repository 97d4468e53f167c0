// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "config_schema/text/error.hpp"
#include "launcher/frames/fields.hpp"
#include "launcher/lease/ticket.hpp"

namespace train {

/// The contents of a ticket file. Any user may have written it.
struct TicketRecord {
  Ticket ticket;              ///< without its user and without `waited_ms`
  std::int64_t since_ms = 0;  ///< Unix time since when the task waits

  bool operator==(const TicketRecord&) const = default;
};

/// Size limit of a ticket file in bytes; a longer one is not read.
inline constexpr std::size_t longest_ticket_record = std::size_t{8} << 10;

/// Limit of the tickets reported for one host: the first ones in the line.
inline constexpr std::size_t most_tickets = 256;

/// Limit of the tasks that a ticket may name as passed.
inline constexpr std::size_t most_passed = 16;

/// Latest possible arrival, so that an order can always rise.
inline constexpr std::int64_t latest_arrival = std::int64_t{1} << 62;

/// Limit of the bytes of each text of a ticket or a holder.
inline constexpr std::size_t longest_holder_text = 512;

void fields(auto& f, Described<TicketOrder> auto& order) {
  f.number("time_ns", order.time_ns, 0, latest_arrival);
  f.number("arrived_ns", order.arrived_ns, 0, latest_arrival);
  f.words("task", order.task, longest_holder_text);
}

// A longer id than a task's could make the ticket of a task that passes it too long to be read.
void fields(auto& f, Described<Ticket> auto& ticket) {
  f.object("order", ticket.order);
  f.flag("final", ticket.is_final);
  f.flag("aside", ticket.stands_aside);
  f.number("priority", ticket.priority, most_urgent, least_urgent);
  f.words("name", ticket.name, longest_holder_text);
  f.words("launcher", ticket.launcher, longest_holder_text);
  f.words("wants", ticket.wants, longest_holder_text);
  f.number("hosts", ticket.hosts);
  f.number("uid", ticket.uid, -1);
  f.words("user", ticket.user, longest_holder_text);
  f.flag("own_user", ticket.is_own_user);
  f.number("waited_ms", ticket.waited_ms);
  f.number("here_since_ns", ticket.created_ns, 0, latest_arrival);
  f.cut_texts("passed", ticket.passed, most_passed, longest_holder_text);
  f.check(
      [&] {
        return looks_like_task_id(ticket.order.task) &&
               std::all_of(ticket.passed.begin(), ticket.passed.end(), looks_like_task_id);
      },
      "a task without a task's id");
}

void fields(auto& f, Described<TicketRecord> auto& record) {
  fields(f, record.ticket);
  f.number("since_ms", record.since_ms);
}

std::string encode_ticket(const TicketRecord& record);
/// Class `host` if it is malformed.
Result<TicketRecord> decode_ticket(std::string_view text);

}  // namespace train
