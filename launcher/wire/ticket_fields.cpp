// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/ticket_fields.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "launcher/frames/json_fields.hpp"
#include "launcher/wire/lease_fields.hpp"
#include "launcher/wire/message_limits.hpp"

namespace train {

using nlohmann::json;

namespace {

// A longer id could make the ticket of a task that passes it too long to be read.
void check_task_id(const std::string& task) {
  if (!looks_like_task_id(task)) throw Malformed{"a task without a task's id"};
}

json passed_of(const Ticket& ticket) {
  json tasks = json::array();
  for (const std::string& task : ticket.passed)
    if (tasks.size() < most_passed) tasks.push_back(holder_text(task));
  return tasks;
}

// Files of earlier versions lack these fields.
void read_newer_fields(const json& value, Ticket& ticket) {
  if (value.contains("here_since_ns"))
    ticket.here_since_ns = number_field(value, "here_since_ns", 0, latest_arrival);
  ticket.hosts = optional_int_field(value, "hosts", 0, INT32_MAX).value_or(0);
  if (!value.contains("passed")) return;
  for (const json& each : array_field(value, "passed", most_passed)) {
    ticket.passed.push_back(to_bytes(each));
    check_task_id(ticket.passed.back());
  }
}

}  // namespace

json json_of(const TicketOrder& order) {
  return {{"time_ns", order.time_ns},
          {"arrived_ns", order.arrived_ns},
          {"task", holder_text(order.task)}};
}

TicketOrder ticket_order_of(const json& value) {
  return {number_field(value, "time_ns", 0, latest_arrival),
          number_field(value, "arrived_ns", 0, latest_arrival),
          text_field(value, "task", longest_holder_text)};
}

json json_of(const Ticket& ticket) {
  return {{"order", json_of(ticket.order)},
          {"final", ticket.is_final},
          {"aside", ticket.stands_aside},
          {"priority", ticket.priority},
          {"name", holder_text(ticket.name)},
          {"launcher", holder_text(ticket.launcher)},
          {"wants", holder_text(ticket.wants)},
          {"hosts", ticket.hosts},
          {"uid", ticket.uid},
          {"user", holder_text(ticket.user)},
          {"own_user", ticket.is_own_user},
          {"waited_ms", ticket.waited_ms},
          {"here_since_ns", ticket.here_since_ns},
          {"passed", passed_of(ticket)}};
}

Ticket ticket_of(const json& value) {
  Ticket ticket;
  ticket.order = ticket_order_of(field(value, "order"));
  check_task_id(ticket.order.task);
  ticket.is_final = bool_field(value, "final");
  ticket.stands_aside = bool_field(value, "aside");
  ticket.priority = int_field(value, "priority", most_urgent, least_urgent);
  ticket.name = text_field(value, "name", longest_holder_text);
  ticket.launcher = text_field(value, "launcher", longest_holder_text);
  ticket.wants = text_field(value, "wants", longest_holder_text);
  ticket.uid = number_field(value, "uid", -1);
  ticket.user = text_field(value, "user", longest_holder_text);
  ticket.is_own_user = bool_field(value, "own_user");
  ticket.waited_ms = number_field(value, "waited_ms");
  read_newer_fields(value, ticket);
  return ticket;
}

std::string encode_ticket(const TicketRecord& record) {
  json value = json_of(record.ticket);
  value["since_ms"] = record.since_ms;
  return value.dump() + "\n";
}

Result<TicketRecord> decode_ticket(std::string_view text) {
  return decode_document<TicketRecord>(
      text, longest_ticket_record, "what a task that waits says of itself is not understood",
      [](const json& value) {
        return TicketRecord{ticket_of(value), number_field(value, "since_ms")};
      });
}

}  // namespace train
