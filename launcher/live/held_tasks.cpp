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

// As `make_task_id` makes them.
bool is_task_id(const std::string& text) {
  constexpr std::size_t length = 8;
  return text.size() == length && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '2' && c <= '7');
         });
}

bool is_of_a_slot(const LeaseHolder::Held& held) {
  using Kind = LeaseKey::Kind;
  return is_gpu(held.key) || held.key.kind == Kind::device || held.key.kind == Kind::place;
}

Quantity slots_of(const LiveHost& host, std::size_t index) {
  const std::vector<LeaseHolder::Held>& leases = host.report->holders[index].leases;
  Quantity slots;
  // Of CPUs more may be held than there are: a hosts file says how many.
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

std::string user_of(const LeaseHolder& holder) {
  return holder.user.empty() ? fmt::format("user {}", holder.uid) : holder.user;
}

}  // namespace

std::vector<HeldTask> held_tasks(const std::vector<LiveHost>& hosts) {
  std::vector<HeldTask> tasks;
  std::map<std::pair<std::string, std::string>, std::size_t> known;  // by id and user
  for (const LiveHost& host : hosts) {
    if (!host.is_known()) continue;
    const auto& holders = host.report->holders;
    for (std::size_t i = 0; i < holders.size(); ++i) {
      const LeaseHolder& holder = holders[i];
      if (!is_task_id(holder.task)) continue;
      const auto [found, is_new] = known.try_emplace({holder.task, user_of(holder)}, tasks.size());
      if (is_new)
        tasks.push_back({.id = holder.task,
                         .name = holder.name,
                         .user = user_of(holder),
                         .launcher = holder.launcher});
      HeldTask& task = tasks[found->second];
      task.held_ms = std::max(task.held_ms, holder.held_ms);
      task.is_running = task.is_running || holder.is_running;
      task.is_own = task.is_own || holder.uid == host.report->uid;
      if (!host.same_as.empty()) continue;
      task.slots = task.slots + slots_of(host, i);
      // One that plans a machine under two names holds it as two.
      if (task.hosts.empty() || task.hosts.back() != host.host.name)
        task.hosts.push_back(host.host.name);
    }
  }
  std::stable_sort(tasks.begin(), tasks.end(), [](const HeldTask& one, const HeldTask& other) {
    return one.held_ms < other.held_ms;
  });
  return tasks;
}

std::vector<std::string> unknown_holdings(const LiveHost& host) {
  std::vector<std::string> said;
  if (!host.is_known() || !host.same_as.empty()) return said;
  for (const LeaseHolder& holder : host.report->holders)
    if (!is_task_id(holder.task))
      said.push_back(fmt::format("{} held by {}", words_of(holder.leases), short_words_of(holder)));
  return said;
}

}  // namespace train
