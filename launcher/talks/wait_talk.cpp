// SPDX-License-Identifier: Apache-2.0
#include "launcher/talks/wait_talk.hpp"

#include <nlohmann/json.hpp>

#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/frames/json_fields.hpp"
#include "launcher/wire/ticket_fields.hpp"

namespace train {

using nlohmann::json;

std::string encode_wait_ticket(const WaitTicket& ticket) {
  const json value{{"ticket", json_of(ticket.ticket)}, {"directory", from_bytes(ticket.directory)}};
  return value.dump() + "\n";
}

Result<WaitTicket> decode_wait_ticket(std::string_view line) {
  return decode_document<WaitTicket>(
      line, longest_wait_ticket, "what the launcher says of its ticket is not understood",
      [](const json& value) {
        return WaitTicket{ticket_of(field(value, "ticket")),
                          text_field(value, "directory", longest_lease_directory)};
      });
}

std::string encode_wait_report(const WaitReport& report) {
  json tickets = json::array();
  for (const Ticket& ticket : report.tickets)
    if (tickets.size() < most_tickets) tickets.push_back(json_of(ticket));
  const json value{{"arrived_ns", report.arrived_ns},
                   {"tickets", std::move(tickets)},
                   {"host", json_of(report.host)}};
  return value.dump() + "\n";
}

Result<WaitReport> decode_wait_report(std::string_view line) {
  return decode_document<WaitReport>(
      line, longest_wait_report, "what the host says of its line is not understood",
      [](const json& value) {
        WaitReport report;
        report.arrived_ns = number_field(value, "arrived_ns", 0, latest_arrival);
        for (const json& each : array_field(value, "tickets", most_tickets))
          report.tickets.push_back(ticket_of(each));
        report.host = host_report_of(field(value, "host"));
        return report;
      });
}

}  // namespace train
