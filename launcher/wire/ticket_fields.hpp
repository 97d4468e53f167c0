// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "config_schema/text/error.hpp"
#include "launcher/lease/ticket.hpp"

namespace train {

/// What is in the file of a ticket. Anybody may have written it.
struct TicketRecord {
  Ticket ticket;              ///< without its user and without `waited_ms`
  std::int64_t since_ms = 0;  ///< Unix time since when it waits

  bool operator==(const TicketRecord&) const = default;
};

/// The most bytes of a ticket's file; what says more is not read.
inline constexpr std::size_t longest_ticket_record = std::size_t{8} << 10;

/// The most tickets that are told of one host: the first in the line.
inline constexpr std::size_t most_tickets = 256;

/// The most tasks that a ticket says to have passed.
inline constexpr std::size_t most_passed = 16;

/// No arrival is later, so that an order can always rise.
inline constexpr std::int64_t latest_arrival = std::int64_t{1} << 62;

nlohmann::json json_of(const TicketOrder& order);
TicketOrder ticket_order_of(const nlohmann::json& value);
nlohmann::json json_of(const Ticket& ticket);
Ticket ticket_of(const nlohmann::json& value);

std::string encode_ticket(const TicketRecord& record);
/// Class `host` when it is none.
Result<TicketRecord> decode_ticket(std::string_view text);

}  // namespace train
