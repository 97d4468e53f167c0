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

// The protocol of `AgentCall::Verb::wait`, one line each. The host makes the ticket on the first
// line; when its input ends, it removes the ticket and ends.

/// Each side sends at least this often; an empty line if nothing has changed.
constexpr milliseconds wait_sign_of_life{5'000};
/// A side that is silent for this long is considered gone.
constexpr milliseconds wait_silence{30'000};

/// From the launcher: the ticket, as of now.
struct WaitTicket {
  Ticket ticket;
  /// Lease folder, as `LeaseRequest::directory`; only the first one counts.
  std::string directory = {};

  bool operator==(const WaitTicket&) const = default;
};
std::string encode_wait_ticket(const WaitTicket& ticket);
/// Class `host` if it is malformed. The line has no newline.
Result<WaitTicket> decode_wait_ticket(std::string_view line);

/// From the host, first once the ticket exists, then whenever any of it has changed.
struct WaitReport {
  std::int64_t arrived_ns = 0;       ///< arrival of the ticket; Unix time, by the host's clock
  std::vector<Ticket> tickets = {};  ///< of other tasks; the first `most_tickets` in the line
  HostReport host = {};

  bool operator==(const WaitReport&) const = default;
};
std::string encode_wait_report(const WaitReport& report);
/// Class `host` if it is malformed. The line has no newline.
Result<WaitReport> decode_wait_report(std::string_view line);

inline constexpr std::size_t longest_wait_ticket = std::size_t{16} << 10;
inline constexpr std::size_t longest_wait_report = longest_host_report + (std::size_t{2} << 20);

}  // namespace train
