// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/wait_talk.hpp"

#include "launcher/wire/ticket_fields.hpp"
#include "tests/catch.hpp"

using namespace train;

namespace {

Ticket some_ticket() {
  Ticket ticket;
  ticket.order = {7'000, 6'000, "abcd2345"};
  ticket.is_final = true;
  ticket.priority = 7;
  ticket.name = "digits \xff";
  ticket.launcher = "alice@head";
  ticket.wants = "0.5";
  ticket.uid = 1'000;
  ticket.user = "alice";
  ticket.is_own_user = true;
  ticket.waited_ms = 12;
  return ticket;
}

std::string_view line_of(const std::string& text) {
  REQUIRE(text.find('\n') == text.size() - 1);
  return std::string_view(text).substr(0, text.size() - 1);
}

}  // namespace

TEST_CASE("a ticket is sent as it is") {
  const WaitTicket told{some_ticket(), "/srv/leases"};
  const std::string text = encode_wait_ticket(told);
  const auto ticket = decode_wait_ticket(line_of(text));
  REQUIRE(ticket);
  CHECK(*ticket == told);
}

TEST_CASE("a host's line is told as it is, as far as it fits") {
  WaitReport report{5'000, {some_ticket()}, {}};
  report.host.cpus = 4;
  report.host.holders.push_back({.task = "h"});
  report.host.tickets = {some_ticket()};
  const std::string text = encode_wait_report(report);
  const auto decoded = decode_wait_report(line_of(text));
  REQUIRE(decoded);
  CHECK(*decoded == report);
  report.tickets.resize(most_tickets + 1);
  const std::string longer = encode_wait_report(report);
  CHECK(decode_wait_report(line_of(longer))->tickets.size() == most_tickets);
}

TEST_CASE("what a ticket's file says is read again, and foreign words are not trusted") {
  const TicketRecord record{some_ticket(), 1'700'000'000'000};
  const std::string text = encode_ticket(record);
  CHECK(decode_ticket(text).value() == record);
  for (const char* words :
       {"", "[]", "{}", R"({"order": {"time_ns": -1, "arrived_ns": 0, "task": "a"}})"})
    CHECK_FALSE(decode_ticket(words));
  CHECK_FALSE(decode_ticket(std::string(longest_ticket_record + 1, ' ') + text));
}

TEST_CASE("a ticket of no known urgency is refused") {
  Ticket ticket = some_ticket();
  ticket.priority = 100;
  CHECK_FALSE(decode_wait_ticket(line_of(encode_wait_ticket({ticket}))));
}
