// SPDX-License-Identifier: Apache-2.0
// Those of a QueueWorld who wish the others ill, and what they may not bring about.
#include <fmt/format.h>

#include <algorithm>

#include "launcher/wire/ticket_fields.hpp"
#include "tests/launcher/queue/queue_world.hpp"

namespace train::simulation {

using namespace std::chrono_literals;

std::int64_t QueueWorld::hours() {
  const std::int64_t wrong = nanoseconds(1h + chance_.up_to(9h)).count();
  return chance_.one_in(2) ? wrong : -wrong;
}

void QueueWorld::make_enemies(bool has_trouble) {
  const bool has_liars = chance_.one_in(2);
  are_launchers_wrong_ = chance_.one_in(3);
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    FakeHost& h = hosts_[static_cast<std::size_t>(host)];
    if (chance_.one_in(3)) {
      h.clock_ahead_ns = hours();
      ++(h.clock_ahead_ns > 0 ? counts_.late_clocks : counts_.early_clocks);
    }
    h.lies = has_liars && chance_.one_in(2);
    h.is_stubborn = chance_.one_in(2);
    if (h.lies) keep_lying(host);
  }
  // Who makes its ticket anew, or has stepped behind one that is late, may come behind a stranger.
  const bool may_stay = !has_trouble && !has_liars && !are_launchers_wrong_;
  for (auto left = chance_.below(4); left > 0; --left) make_stranger(may_stay && chance_.one_in(2));
}

// A user who claims what he likes, wants nothing, and does not go as long as anybody waits, if he
// has come late enough to be before nobody, or after a while.
void QueueWorld::make_stranger(bool stays) {
  const auto host = static_cast<std::size_t>(chance_.below(hosts_.size()));
  constexpr auto late = 75s;  // 30 s for all to come, 20 s to step behind, 20 s of spread
  const nanoseconds begin = stays ? late + chance_.up_to(20s) : chance_.up_to(60s);
  Ticket words;
  words.order = {chance_.one_in(4) ? silly_time() : 1, 1, fmt::format("stranger{}", begin.count())};
  words.is_final = !chance_.one_in(4);
  words.priority = most_urgent;
  after(begin, [this, host, words]() mutable {
    words.created_ns = unix_time(hosts_[host].clock_ahead_ns);
    hosts_[host].strangers.push_back(words);
    host_changed(static_cast<int>(host));
  });
  if (stays) return;
  after(begin + chance_.up_to(60s), [this, host, task = words.order.task] {
    std::erase_if(hosts_[host].strangers,
                  [&](const Ticket& each) { return each.order.task == task; });
    host_changed(static_cast<int>(host));
  });
}

// It says something else all the time.
void QueueWorld::keep_lying(int host) {
  host_changed(host);
  after(chance_.up_to(3s), [this, host] { keep_lying(host); });
}

std::int64_t QueueWorld::silly_time() {
  switch (chance_.below(6)) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
      return unix_time(0);
    case 3:
      return unix_time(nanoseconds(19s).count());
    case 4:
      return unix_time(hours());
    default:
      return latest_arrival;
  }
}

Ticket QueueWorld::made_up_ticket() {
  Ticket ticket;
  ticket.order = {silly_time(), silly_time(), fmt::format("nobody{}", chance_.below(1'000))};
  ticket.is_final = chance_.one_in(2);
  ticket.stands_aside = chance_.one_in(8);
  ticket.is_own_user = chance_.one_in(2);
  ticket.priority = most_urgent;
  ticket.created_ns = silly_time();
  return ticket;
}

// What a host says can be anything that is understood.
void QueueWorld::lie(bool is_stubborn, Held& held, std::vector<Ticket>& others,
                     std::int64_t& arrived_ns) {
  ++counts_.lies;
  constexpr int nobody = -1;
  constexpr int more_than_all = 100;
  if (chance_.one_in(3)) held[nobody] = more_than_all;
  if (chance_.one_in(3)) arrived_ns = silly_time();
  for (auto left = chance_.below(4); left > 0; --left) others.push_back(made_up_ticket());
  if (!is_stubborn) return;
  Ticket first;
  first.order = {0, 0, "nobody"};
  others.push_back(first);
}

bool QueueWorld::is_served_by_honest_hosts(const FakeTask& task) const {
  int slots = 0;
  for (const int host : task.hosts) {
    const FakeHost& h = hosts_[static_cast<std::size_t>(host)];
    if (!h.lies) slots += h.slots;
  }
  return slots >= task.slots;
}

// Hosts take what is sent, and no host, nor any clock, makes the order later than the launcher's
// own clock and half of the hosts do.
void QueueWorld::check_sent(int task) {
  FakeTask& t = at(task);
  const TicketOrder& order = t.waiter->ticket(0).order;
  if (!t.waiter->order()) return;
  promise(
      order.arrived_ns >= 0 && order.arrived_ns <= order.time_ns && order.time_ns <= latest_arrival,
      fmt::format("task {} has an order that is none", t.id));
  if (!t.unix_offset_ns) {
    std::vector<std::int64_t> told;
    for (std::size_t i = 0; i < t.hosts.size(); ++i)
      if (t.waiter->stands_on(static_cast<int>(i))) told.push_back(t.arrivals[i]);
    std::sort(told.begin(), told.end());
    const std::int64_t median = told[(told.size() - 1) / 2];
    t.unix_offset_ns = std::max(unix_time(t.clock_ahead_ns), median) - time_.now().count();
    if (order.time_ns < told.back()) ++counts_.orders_cut;
    t.order_ns = order.time_ns;
  }
  promise(order.time_ns <= *t.unix_offset_ns + time_.now().count() + usual_spread_ns + 1,
          fmt::format("task {} has an order that is too late", t.id));
  promise(order.time_ns >= t.order_ns, fmt::format("the order of task {} falls", t.id));
  if (std::exchange(t.order_ns, order.time_ns) == order.time_ns) return;
  if (++t.rises == most_steps_behind) ++counts_.last_steps_behind;
  promise(t.rises <= most_steps_behind, fmt::format("task {} has no place to keep", t.id));
}

// Some host that it stands on shows it others who come first.
bool QueueWorld::is_kept_back(int task, bool by_liars) const {
  const FakeTask& t = at(task);
  for (int i = 0; i < static_cast<int>(t.hosts.size()); ++i) {
    const int host = t.hosts[static_cast<std::size_t>(i)];
    if (by_liars && !hosts_[static_cast<std::size_t>(host)].lies) continue;
    if (t.waiter->stands_on(i) && !t.waiter->is_turn_on(i)) return true;
  }
  return false;
}

}  // namespace train::simulation
