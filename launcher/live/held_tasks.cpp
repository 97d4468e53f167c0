// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/held_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "launcher/lease/lease_words.hpp"
#include "launcher/live/lease_quantity.hpp"

namespace train {

namespace {

bool is_of_a_slot(const LeaseHolder::Held& held) {
  using Kind = LeaseKey::Kind;
  return is_gpu(held.key) || held.key.kind == Kind::device || held.key.kind == Kind::place;
}

Quantity slots_of(const LiveHost& host, std::size_t index) {
  const std::vector<LeaseHolder::Held>& leases = host.report->holders[index].leases;
  Quantity slots;
  // More CPUs may be held than the host has, if the hosts file says so.
  if (host.slots.kind == LiveSlotKind::cpus &&
      std::none_of(leases.begin(), leases.end(), is_of_a_slot)) {
    for (const LeaseHolder::Held& held : leases)
      if (held.key.kind == LeaseKey::Kind::cpus) slots = slots + lease_quantity(held.amount);
    return slots;
  }
  for (const auto& shares : host.slots.slots)
    for (const SlotShare& share : shares)
      if (share.holder == index) slots = slots + share.amount;
  for (const LeaseHolder::Held& held : host.slots.beside[index])
    if (is_of_a_slot(held)) slots = slots + lease_quantity(held.amount);
  return slots;
}

// `Holder` is LeaseHolder or Ticket.
template <typename Holder>
std::string user_of(const Holder& holder) {
  return holder.user.empty() ? fmt::format("user {}", holder.uid) : holder.user;
}

// The tasks, each once, in whatever order their parts are found.
class Tasks {
 public:
  template <typename Holder>
  HeldTask& of(const std::string& id, const Holder& holder) {
    const auto [found, is_new] = known_.try_emplace({id, user_of(holder)}, all.size());
    if (is_new)
      all.push_back({.id = id,
                     .name = holder.name,
                     .user = user_of(holder),
                     .launcher = holder.launcher,
                     .is_waiting = true});
    return all[found->second];
  }

  std::vector<HeldTask> all;

 private:
  std::map<std::pair<std::string, std::string>, std::size_t> known_;  // by id and user
};

// A machine under two names counts only once, by its first name.
void add_host(HeldTask& task, const LiveHost& host) {
  if (!host.same_as.empty()) return;
  if (task.hosts.empty() || task.hosts.back() != host.host.name)
    task.hosts.push_back(host.host.name);
}

void add_holders(Tasks& tasks, const LiveHost& host) {
  const auto& holders = host.report->holders;
  for (std::size_t i = 0; i < holders.size(); ++i) {
    const LeaseHolder& holder = holders[i];
    if (!looks_like_task_id(holder.task)) continue;
    HeldTask& task = tasks.of(holder.task, holder);
    task.is_waiting = false;
    task.held_ms = std::max(task.held_ms, holder.held_ms);
    task.is_running = task.is_running || holder.is_running;
    task.is_own = task.is_own || holder.uid == host.report->uid;
    if (host.same_as.empty()) task.slots = task.slots + slots_of(host, i);
    add_host(task, host);
  }
}

void add_tickets(Tasks& tasks, const LiveHost& host) {
  for (const Ticket& ticket : host.report->tickets) {
    if (!looks_like_task_id(ticket.order.task)) continue;
    HeldTask& task = tasks.of(ticket.order.task, ticket);
    if (!task.is_waiting) continue;  // it is taking the slots that it waited for
    task.held_ms = std::max(task.held_ms, ticket.waited_ms);
    task.is_own = task.is_own || ticket.uid == host.report->uid;
    task.wants = ticket.wants;
    add_host(task, host);
  }
}

}  // namespace

std::vector<HeldTask> held_tasks(const std::vector<LiveHost>& hosts) {
  Tasks tasks;
  for (const LiveHost& host : hosts)
    if (host.is_known()) add_holders(tasks, host);
  for (const LiveHost& host : hosts)
    if (host.is_known()) add_tickets(tasks, host);
  std::stable_sort(
      tasks.all.begin(), tasks.all.end(),
      [](const HeldTask& one, const HeldTask& other) { return one.held_ms < other.held_ms; });
  return std::move(tasks.all);
}

std::string state_of(const HeldTask& task) {
  if (task.is_waiting) return "waiting";
  return task.is_running ? "running" : "starting";
}

std::string slots_text(const HeldTask& task) {
  return task.is_waiting ? task.wants : to_string(task.slots);
}

namespace {

std::string holding_of(const LeaseHolder& holder) {
  return fmt::format("{} held by {}", words_of(holder.leases), short_words_of(holder));
}

}  // namespace

std::vector<std::string> unknown_holdings(const LiveHost& host) {
  std::vector<std::string> said;
  if (!host.is_known() || !host.same_as.empty()) return said;
  for (const LeaseHolder& holder : host.report->holders)
    if (!looks_like_task_id(holder.task)) said.push_back(holding_of(holder));
  return said;
}

std::vector<std::string> foreign_holdings(const LiveHost& host) {
  std::vector<std::string> said;
  if (!host.is_known() || !host.same_as.empty()) return said;
  for (std::size_t i = 0; i < host.report->holders.size(); ++i)
    if (host.report->holders[i].pid > 0 && host.slots.beside[i].empty())
      said.push_back(holding_of(host.report->holders[i]));
  return said;
}

}  // namespace train
