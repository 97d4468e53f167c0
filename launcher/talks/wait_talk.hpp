// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/lease/ticket.hpp"
#include "launcher/ports/clock.hpp"
#include "launcher/talks/host_report.hpp"

namespace train {

// What is said over the stream of `AgentCall::Verb::wait`, a line each. The host makes the ticket
// with the first line, removes it when its input ends, and ends.

/// The least that each side says while nothing changes: an empty line.
constexpr milliseconds wait_sign_of_life{5'000};
/// Without a word for so long the other side has gone.
constexpr milliseconds wait_silence{30'000};

/// From the launcher: the ticket, as it is from now on.
struct WaitTicket {
  Ticket ticket;
  std::string directory = {};  ///< in which it lies, as `LeaseRequest::directory`; the first counts

  bool operator==(const WaitTicket&) const = default;
};
std::string encode_wait_ticket(const WaitTicket& ticket);
/// Class `host` when it is none. The line is without its end.
Result<WaitTicket> decode_wait_ticket(std::string_view line);

/// From the host, first once the ticket is there, then whenever any of it has changed.
struct WaitReport {
  std::int64_t arrived_ns = 0;       ///< of the ticket; Unix time, by the host's clock
  std::vector<Ticket> tickets = {};  ///< of other tasks; the first `most_tickets` in the line
  HostReport host = {};

  bool operator==(const WaitReport&) const = default;
};
std::string encode_wait_report(const WaitReport& report);
/// Class `host` when it is none. The line is without its end.
Result<WaitReport> decode_wait_report(std::string_view line);

inline constexpr std::size_t longest_wait_ticket = std::size_t{16} << 10;
inline constexpr std::size_t longest_wait_report = longest_host_report + (std::size_t{2} << 20);

}  // namespace train
