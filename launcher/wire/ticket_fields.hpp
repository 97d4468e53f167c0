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

nlohmann::json json_of(const TicketOrder& order);
TicketOrder ticket_order_of(const nlohmann::json& value);
nlohmann::json json_of(const Ticket& ticket);
Ticket ticket_of(const nlohmann::json& value);

std::string encode_ticket(const TicketRecord& record);
/// Class `host` if it is malformed.
Result<TicketRecord> decode_ticket(std::string_view text);

}  // namespace train
