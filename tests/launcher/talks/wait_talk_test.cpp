// SPDX-License-Identifier: Apache-2.0
#include "launcher/talks/wait_talk.hpp"

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
  ticket.hosts = 2;
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
  report.tickets.resize(most_tickets + 1, some_ticket());
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

TEST_CASE("a ticket is one of a task, whatever it says of those that it has passed") {
  Ticket ticket = some_ticket();
  for (const char* task : {"", "m", "ABCD2345", "abcd2345x", "abcd 345", "abcd234\n", "abcd1890"}) {
    ticket.order.task = task;
    CHECK_FALSE(decode_ticket(encode_ticket({ticket, 1})));
  }
  ticket.order.task = "abcd2345";
  for (const char* passed : {"", "\xff\xff\xff\xff\xff\xff\xff\xff", "not a task"}) {
    ticket.passed = {passed};
    CHECK_FALSE(decode_ticket(encode_ticket({ticket, 1})));
  }
}

TEST_CASE("a task reads what it has written itself, however long") {
  Ticket ticket = some_ticket();
  ticket.name = ticket.launcher = ticket.wants = ticket.user = std::string(4'000, '\xff');
  ticket.passed.assign(most_passed + 1, "wxyz2345");
  const std::string text = encode_ticket({ticket, INT64_MAX});
  CHECK(text.size() <= longest_ticket_record);
  const auto decoded = decode_ticket(text);
  REQUIRE(decoded);
  CHECK(decoded->ticket.passed.size() == most_passed);
}

TEST_CASE("a ticket of an older program does not say on how many hosts it waits") {
  std::string text = encode_ticket({some_ticket(), 1});
  const std::string hosts = R"("hosts":2,)";
  text.erase(text.find(hosts), hosts.size());
  CHECK(decode_ticket(text)->ticket.hosts == 0);
}

TEST_CASE("a ticket of no known urgency is refused") {
  Ticket ticket = some_ticket();
  ticket.priority = 100;
  CHECK_FALSE(decode_wait_ticket(line_of(encode_wait_ticket({ticket}))));
}
