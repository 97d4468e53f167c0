// SPDX-License-Identifier: Apache-2.0
#include "launcher/talks/wait_talk.hpp"

#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/frames/fields.hpp"
#include "launcher/wire/ticket_fields.hpp"

namespace train {

void fields(auto& f, Described<WaitTicket> auto& ticket) {
  f.object("ticket", ticket.ticket);
  f.text("directory", ticket.directory, longest_lease_directory);
}

void fields(auto& f, Described<WaitReport> auto& report) {
  f.number("arrived_ns", report.arrived_ns, 0, latest_arrival);
  f.cut_list("tickets", report.tickets, most_tickets);
  f.value_as("host", report.host, json_of_report, report_of_json);
}

std::string encode_wait_ticket(const WaitTicket& ticket) { return line_of_fields(ticket); }

Result<WaitTicket> decode_wait_ticket(std::string_view line) {
  return decode_fields<WaitTicket>(line, longest_wait_ticket,
                                   "what the launcher says of its ticket is not understood");
}

std::string encode_wait_report(const WaitReport& report) { return line_of_fields(report); }

Result<WaitReport> decode_wait_report(std::string_view line) {
  return decode_fields<WaitReport>(line, longest_wait_report,
                                   "what the host says of its line is not understood");
}

}  // namespace train
