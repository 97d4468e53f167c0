// SPDX-License-Identifier: Apache-2.0
#include "tests/launcher/queue/queue_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace train::simulation {

using namespace std::chrono_literals;

namespace {

constexpr auto look_pause = 100ms;        // of a host at its own locks
constexpr auto supervisor_silence = 30s;  // after which a host takes a launcher for dead
constexpr auto host_sign_of_life = 5s;
constexpr auto trouble_ends = 120s;
constexpr auto longest_task = 20s;
// From the last trouble and the end of a holder to the next one's start: hosts are reached again
// with back-off, and what was refused is tried again after a pause.
constexpr auto slack = 120s;
constexpr std::int64_t unix_start_ns = 1'700'000'000'000'000'000;

int total(const std::map<int, int>& held) {
  return std::accumulate(held.begin(), held.end(), 0,
                         [](int sum, const auto& each) { return sum + each.second; });
}

}  // namespace

QueueWorld::Counts& QueueWorld::Counts::operator+=(const Counts& other) {
  for (int Counts::*each :
       {&Counts::served, &Counts::gave_up, &Counts::killed, &Counts::refused_newcomers,
        &Counts::refused_waiters, &Counts::lost_hosts, &Counts::stepped_behind,
        &Counts::stood_aside, &Counts::turns_on_some, &Counts::passed, &Counts::lies,
        &Counts::lies_that_hide, &Counts::late_clocks, &Counts::early_clocks, &Counts::orders_cut,
        &Counts::last_steps_behind, &Counts::strangers_first, &Counts::strangers_passed})
    this->*each += other.*each;
  return *this;
}

QueueWorld::QueueWorld(std::uint64_t seed, Enemies enemies) : chance_(seed) {
  const auto number = [this](int least, int most) {
    return least + static_cast<int>(chance_.below(static_cast<std::uint64_t>(most - least + 1)));
  };
  most_delay_ = chance_.one_in(2) ? nanoseconds(5ms) : nanoseconds(400ms);
  const int hosts = number(1, 4);
  for (int i = 0; i < hosts; ++i) {
    FakeHost& host = hosts_.emplace_back();
    host.slots = number(1, 4);
    if (chance_.one_in(3)) host.clock_ahead_ns = nanoseconds(chance_.up_to(4s) - 2s).count();
  }
  const bool has_trouble = !chance_.one_in(3);
  if (enemies == Enemies::some) make_enemies(has_trouble);
  const int tasks = number(2, 9);
  for (int i = 0; i < tasks; ++i) {
    FakeTask& task = tasks_.emplace_back();
    task.id = fmt::format("{}{}", static_cast<char>('a' + number(0, 25)), i);
    task.user = number(0, 1);
    for (int host = 0; host < hosts; ++host)
      if (chance_.one_in(2)) task.hosts.push_back(host);
    if (task.hosts.empty()) task.hosts.push_back(number(0, hosts - 1));
    int there = 0;
    for (const int host : task.hosts) there += hosts_[static_cast<std::size_t>(host)].slots;
    task.slots = number(1, there);
    task.length = 1s + chance_.up_to(longest_task - 1s);
    task.waits = !chance_.one_in(3);
    task.links.resize(task.hosts.size());
    task.known.resize(task.hosts.size());
    task.arrivals.resize(task.hosts.size());
    if (!task.waits) {
      task.slots = 1;  // small ones keep coming
      after(chance_.up_to(30s), [this, i] { try_without_ticket(i); });
      continue;
    }
    Ticket words;
    words.wants = std::to_string(task.slots);
    words.hosts = static_cast<int>(task.hosts.size());
    if (chance_.one_in(3)) words.priority = number(1, 99);
    if (are_launchers_wrong_ && chance_.one_in(2)) task.clock_ahead_ns = hours();
    // Who needs hosts that lie may wait in vain, and others behind it: its user gives up.
    const bool has_limit = chance_.one_in(10) || !is_served_by_honest_hosts(task);
    const auto limit =
        has_limit ? std::optional<nanoseconds>(5s + chance_.up_to(30s)) : std::nullopt;
    task.waiter.emplace(words, task.id, words.hosts, limit, Waiter::Timing{.pass_limit = 3s});
    after(chance_.up_to(30s), [this, i] {
      at(i).waiter->start(time_.now(), unix_time(at(i).clock_ahead_ns));
      carry_out(i);
      hear(i);
    });
    if (has_trouble && chance_.one_in(6)) after(chance_.up_to(60s), [this, i] { kill(i); });
  }
  if (has_trouble) cause_trouble();
}

std::int64_t QueueWorld::unix_time(std::int64_t ahead_ns) const {
  return unix_start_ns + time_.now().count() + ahead_ns;
}

void QueueWorld::cause_trouble() {
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) {
    if (chance_.one_in(2)) continue;
    const nanoseconds begin = chance_.up_to(60s);
    after(begin, [this, host] { cut(host); });
    after(begin + chance_.up_to(60s),
          [this, host] { hosts_[static_cast<std::size_t>(host)].is_cut = false; });
  }
}

void QueueWorld::promise(bool is_kept, const std::string& words) {
  if (!is_kept) broken_.push_back(fmt::format("{} ms: {}", time_.now() / 1ms, words));
}

void QueueWorld::play() {
  const auto is_done = [](const FakeTask& task) { return task.is_done; };
  nanoseconds limit = trouble_ends + slack;
  for (const FakeTask& task : tasks_) limit += task.length + slack;
  while (!std::all_of(tasks_.begin(), tasks_.end(), is_done) && time_.now() < limit &&
         broken_.empty() && time_.step()) {
  }
  for (const FakeTask& task : tasks_)
    promise(task.is_done || !broken_.empty(), fmt::format("task {} is never served", task.id));
  for (const FakeTask& task : tasks_) {
    const int hosts = static_cast<int>(task.hosts.size());
    promise(
        task.plans <= task.reports + task.refusals + task.losses + task.passes,
        fmt::format("task {} plans {} times for {} reports", task.id, task.plans, task.reports));
    // Once for its order, and once for each order that somebody more urgent has had.
    // And once for each that it passes, and does not pass any more.
    const int others = task.turns_aside + 2 * task.passes;
    const int orders = 1 + 2 * static_cast<int>(tasks_.size()) * (hosts + 1) + others;
    promise(task.sends <= hosts * std::max(orders, 1 + most_steps_behind + others),
            fmt::format("task {} has told hosts of its order {} times", task.id, task.sends));
  }
  if (!broken_.empty()) return;
  // What nobody waits for any more is gone once all ends were seen.
  const Instant seen = time_.now() + supervisor_silence + 2 * most_delay_ + 1s;
  while (time_.now() < seen && time_.step()) {
  }
  for (const FakeHost& host : hosts_) {
    promise(host.tickets.empty(), "a ticket is left");
    promise(host.held.empty(), "something is still held");
  }
}

int QueueWorld::own_index(const FakeTask& task, int host) const {
  return static_cast<int>(std::find(task.hosts.begin(), task.hosts.end(), host) -
                          task.hosts.begin());
}

void QueueWorld::carry_out(int task) {
  FakeTask& t = at(task);
  if (t.is_dead || t.has_run) return;
  for (auto actions = t.waiter->take_actions(); !actions.empty();
       actions = t.waiter->take_actions())
    for (const WaiterAction& action : actions)
      std::visit([&](const auto& each) { perform(task, each); }, action);
  if (t.waiter->ticket(0).order.time_ns > t.waiter->ticket(0).order.arrived_ns)
    ++counts_.stepped_behind;
  tick(task);
}

// A sooner one that is asked for already does as well.
void QueueWorld::tick(int task) {
  FakeTask& t = at(task);
  const auto deadline = t.waiter->next_deadline();
  if (!deadline || (t.tick_at && *t.tick_at <= *deadline)) return;
  t.tick_at = deadline;
  time_.at(*deadline, [this, task, due = *deadline] {
    FakeTask& due_task = at(task);
    if (due_task.tick_at != due || due_task.is_done || due_task.has_run) return;
    due_task.tick_at.reset();
    due_task.waiter->tick(time_.now());
    carry_out(task);
  });
}

// Hosts say that they live.
void QueueWorld::hear(int task) {
  FakeTask& t = at(task);
  if (t.is_done || t.has_run) return;
  for (std::size_t i = 0; i < t.links.size(); ++i)
    if (t.links[i] && t.links[i]->is_on_host && !t.links[i]->is_silent)
      t.waiter->note_sign_of_life(static_cast<int>(i), time_.now());
  after(host_sign_of_life, [this, task] { hear(task); });
}

void QueueWorld::perform(int task, const waiter_action::Open& action) {
  FakeTask& t = at(task);
  auto& link = t.links[static_cast<std::size_t>(action.host)];
  link = std::make_shared<Link>();
  link->task = task;
  link->host = t.hosts[static_cast<std::size_t>(action.host)];
  if (hosts_[static_cast<std::size_t>(link->host)].is_cut) {
    link->is_silent = true;
    const auto found_out = chance_.one_in(2) ? nanoseconds(10ms) : nanoseconds(chance_.up_to(20s));
    return after(found_out, [this, link] { lose(link); });
  }
  send_ticket(link);
}

void QueueWorld::perform(int task, const waiter_action::Close& action) {
  auto& link = at(task).links[static_cast<std::size_t>(action.host)];
  if (!link) return;
  link->is_known_to_supervisor = false;
  const nanoseconds seen = link->is_silent ? nanoseconds(supervisor_silence) : trip();
  after(seen, [this, gone = std::exchange(link, nullptr)] { remove_ticket(gone); });
}

void QueueWorld::perform(int task, const waiter_action::Send& action) {
  FakeTask& t = at(task);
  ++t.sends;
  check_sent(task);
  if (const auto& link = t.links[static_cast<std::size_t>(action.host)]) send_ticket(link);
}

void QueueWorld::perform(int task, const waiter_action::ReportLost&) {
  if (!at(task).is_dead) ++counts_.lost_hosts;
  ++at(task).losses;
}

// Clocks of hosts are as wrong here as they like.
void QueueWorld::perform(int, const waiter_action::ReportClocks& action) {
  REQUIRE(action.ahead != action.behind);
}

void QueueWorld::perform(int task, const waiter_action::ReportPassed&) {
  ++counts_.passed;
  ++at(task).passes;
}

void QueueWorld::perform(int task, const waiter_action::GiveUp&) {
  ++counts_.gave_up;
  close_links(task);
  at(task).is_done = true;
}

// Bytes stay in order.
void QueueWorld::send_ticket(const std::shared_ptr<Link>& link) {
  const FakeTask& t = at(link->task);
  link->last_to_host = std::max(link->last_to_host, time_.now() + trip());
  time_.at(link->last_to_host, [this, link, ticket = t.waiter->ticket(own_index(t, link->host))] {
    ticket_came(link, ticket);
  });
}

void QueueWorld::ticket_came(const std::shared_ptr<Link>& link, const Ticket& ticket) {
  if (link->is_silent || !link->is_known_to_supervisor) return;
  FakeHost& host = hosts_[static_cast<std::size_t>(link->host)];
  if (host.is_cut) {
    link->is_silent = true;
    return after(chance_.up_to(supervisor_silence), [this, link] { lose(link); });
  }
  const bool is_new = !std::exchange(link->is_on_host, true);
  if (is_new) {
    host.tickets.push_back(link);
    link->arrived_ns = unix_time(host.clock_ahead_ns);
  }
  if (link->ticket.stands_aside && !ticket.stands_aside) link->final_since.reset();  // from now on
  link->ticket = ticket;
  link->ticket.created_ns = link->arrived_ns;
  if (!ticket.is_final)
    link->ticket.order = {link->arrived_ns, link->arrived_ns, ticket.order.task};
  else if (!link->final_since)
    link->final_since = time_.now();
  if (is_new) report_to(link);
  host_changed(link->host);
}

void QueueWorld::remove_ticket(const std::shared_ptr<Link>& link) {
  auto& tickets = hosts_[static_cast<std::size_t>(link->host)].tickets;
  if (std::erase(tickets, link) > 0) host_changed(link->host);
  link->is_on_host = false;
}

void QueueWorld::close_links(int task) {
  for (int host = 0; host < static_cast<int>(at(task).hosts.size()); ++host)
    perform(task, waiter_action::Close{host});
}

// A host looks now and then, and says what it sees then.
void QueueWorld::host_changed(int host) {
  if (std::exchange(hosts_[static_cast<std::size_t>(host)].is_report_due, true)) return;
  after(chance_.up_to(look_pause), [this, host] { report(host); });
}

void QueueWorld::report(int host) {
  FakeHost& h = hosts_[static_cast<std::size_t>(host)];
  h.is_report_due = false;
  for (const auto& link : h.tickets) report_to(link);
}

void QueueWorld::report_to(const std::shared_ptr<Link>& link) {
  if (link->is_silent) return;
  const FakeHost& host = hosts_[static_cast<std::size_t>(link->host)];
  std::vector<Ticket> others = host.strangers;
  for (const auto& other : host.tickets)
    if (other != link) others.push_back(ticket_as_seen(*other, link->task));
  Held held = host.held;
  std::int64_t arrived_ns = link->arrived_ns;
  if (host.lies) lie(host.is_stubborn, held, others, arrived_ns);
  Held of_others = held;
  of_others.erase(link->task);
  const int idle = host.slots - total(of_others);
  link->last_to_supervisor = std::max(link->last_to_supervisor, time_.now() + trip());
  time_.at(link->last_to_supervisor, [this, link, arrived_ns, idle, held = std::move(held),
                                      others = std::move(others)]() mutable {
    FakeTask& task = at(link->task);
    if (link->is_silent || !link->is_known_to_supervisor || task.is_dead || task.has_run) return;
    const int index = own_index(task, link->host);
    task.known[static_cast<std::size_t>(index)] = std::move(held);
    task.arrivals[static_cast<std::size_t>(index)] = arrived_ns;
    ++task.reports;
    task.waiter->reported(index, arrived_ns, std::move(others), time_.now(), idle);
    carry_out(link->task);
  });
}

// The launcher sees the end of a connection.
void QueueWorld::lose(const std::shared_ptr<Link>& link) {
  FakeTask& task = at(link->task);
  if (!std::exchange(link->is_known_to_supervisor, false) || task.is_dead || task.has_run ||
      task.is_done)
    return;
  const int index = own_index(task, link->host);
  task.links[static_cast<std::size_t>(index)] = nullptr;
  task.waiter->lost(index, make_error(ErrorClass::host, "cut"), time_.now());
  carry_out(link->task);
}

// Both ends see it, or time out, in any order.
void QueueWorld::cut(int host) {
  FakeHost& h = hosts_[static_cast<std::size_t>(host)];
  h.is_cut = true;
  for (const auto& link : h.tickets) {
    link->is_silent = true;
    after(chance_.up_to(supervisor_silence), [this, link] { remove_ticket(link); });
    after(chance_.up_to(supervisor_silence), [this, link] { lose(link); });
  }
}

void QueueWorld::kill(int task) {
  FakeTask& t = at(task);
  if (t.is_done || t.has_run) return;
  ++counts_.killed;
  t.is_dead = t.is_done = true;
  close_links(task);
  after(chance_.up_to(10s), [this, task] { release(task); });
}

// As much as is free on each host where it is its turn, in order, as far as it is known.
std::optional<std::map<int, int>> QueueWorld::plan(int task, bool with_reports) const {
  const FakeTask& t = at(task);
  std::map<int, int> wanted;
  int lacking = t.slots;
  for (std::size_t i = 0; i < t.hosts.size() && lacking > 0; ++i) {
    const FakeHost& host = hosts_[static_cast<std::size_t>(t.hosts[i])];
    if (with_reports ? !t.waiter->is_turn_on(static_cast<int>(i)) : host.is_cut) continue;
    const int free = host.slots - total(with_reports ? t.known[i] : host.held);
    const int some = std::min(free, lacking);
    if (some > 0) wanted[t.hosts[i]] = some;
    lacking -= std::max(some, 0);
  }
  if (lacking > 0) return std::nullopt;
  return wanted;
}

// Without anybody on the hosts that stand.
bool QueueWorld::can_ever_do(const FakeTask& task) const {
  int slots = 0;
  for (std::size_t i = 0; i < task.hosts.size(); ++i)
    if (task.waiter->stands_on(static_cast<int>(i)))
      slots += hosts_[static_cast<std::size_t>(task.hosts[i])].slots;
  return slots >= task.slots;
}

void QueueWorld::perform(int task, const waiter_action::Plan&) {
  FakeTask& t = at(task);
  ++t.plans;
  if (is_kept_back(task, false)) ++counts_.turns_on_some;
  bool is_turn = false;
  for (int i = 0; i < static_cast<int>(t.hosts.size()); ++i)
    is_turn = is_turn || t.waiter->is_turn_on(i);
  promise(is_turn, fmt::format("task {} plans out of turn", t.id));
  const auto wanted = plan(task, true);
  const Turn turn = wanted ? Turn::fits : can_ever_do(t) ? Turn::held : Turn::lacks_hosts;
  if (turn == Turn::lacks_hosts) ++counts_.stood_aside;
  if (t.waiter->ticket(0).stands_aside != (turn == Turn::lacks_hosts)) ++t.turns_aside;
  t.waiter->planned(turn, time_.now());
  if (!wanted) return;
  t.wanted = *wanted;
  check_order(task);
  take(task);
}

// Whoever decides has seen each host that it takes slots of, as that was a look and a trip ago:
// nobody may have been before it there then.
void QueueWorld::check_order(int task) {
  const FakeTask& t = at(task);
  const Instant surely_seen = time_.now() - look_pause - 2 * most_delay_ - 2ms;
  for (std::size_t i = 0; i < t.hosts.size(); ++i) {
    const FakeHost& host = hosts_[static_cast<std::size_t>(t.hosts[i])];
    if (!t.wanted.contains(t.hosts[i]) || t.links[i]->is_silent || host.lies) continue;
    const std::int64_t arrived_ns = arrival_of(task, host);
    for (const auto& other : host.tickets)
      promise(!other->final_since || *other->final_since > surely_seen || at(other->task).has_run ||
                  has_passed(t.waiter->ticket(static_cast<int>(i)), ticket_as_seen(*other, task)) ||
                  !blocks(ticket_as_seen(*other, task), t.id, t.waiter->order(), arrived_ns),
              fmt::format("task {} takes slots before task {}", t.id, at(other->task).id));
  }
}

// Of its newest ticket there, by the host's clock; 0: it has none.
std::int64_t QueueWorld::arrival_of(int task, const FakeHost& host) {
  std::int64_t arrived_ns = 0;
  for (const auto& link : host.tickets)
    if (link->task == task) arrived_ns = link->arrived_ns;
  return arrived_ns;
}

// Whose ticket it is depends on who asks.
Ticket QueueWorld::ticket_as_seen(const Link& link, int task) const {
  Ticket ticket = link.ticket;
  ticket.uid = at(link.task).user;
  ticket.is_own_user = at(link.task).user == at(task).user;
  return ticket;
}

bool QueueWorld::has_passed_there(int task, const FakeHost& host, const Ticket& other) const {
  return std::any_of(host.tickets.begin(), host.tickets.end(), [&](const auto& link) {
    return link->task == task && has_passed(link->ticket, other);
  });
}

void QueueWorld::take(int task) {
  FakeTask& t = at(task);
  const auto order = t.waiter ? t.waiter->order() : std::nullopt;
  t.answers_due = static_cast<int>(t.wanted.size());
  t.is_refused = false;
  for (const auto& [host, slots] : t.wanted) {
    (void)slots;
    after(trip(), [this, task, host = host, order] { taken_at(task, host, order); });
  }
}

void QueueWorld::taken_at(int task, int host, const std::optional<TicketOrder>& order) {
  FakeTask& t = at(task);
  FakeHost& h = hosts_[static_cast<std::size_t>(host)];
  if (t.is_dead) return;
  if (h.is_cut) return after(3s, [this, task] { answered(task, false); });
  const int slots = t.wanted.at(host);
  const std::int64_t arrived_ns = arrival_of(task, h);
  const auto is_first = [&](const Ticket& each) {
    return blocks(each, t.id, order, arrived_ns) && !has_passed_there(task, h, each);
  };
  bool is_behind = std::any_of(h.tickets.begin(), h.tickets.end(), [&](const auto& link) {
    return is_first(ticket_as_seen(*link, task));
  });
  for (const Ticket& stranger : h.strangers) {
    is_behind = is_behind || is_first(stranger);
    if (is_first(stranger))
      ++counts_.strangers_first;
    else if (order && stranger.order < *order)
      ++counts_.strangers_passed;
  }
  const bool is_held = !is_behind && total(h.held) + slots <= h.slots;
  if (is_held) {
    h.held[task] = slots;
    promise(total(h.held) <= h.slots, "more is held than there is");
    host_changed(host);
  }
  after(trip(), [this, task, is_held] { answered(task, is_held); });
}

void QueueWorld::answered(int task, bool is_held) {
  FakeTask& t = at(task);
  if (t.is_dead) return;
  t.is_refused = t.is_refused || !is_held;
  if (--t.answers_due > 0) return;
  if (!t.is_refused) return start(task);
  release(task);
  if (!t.waits) {
    ++counts_.refused_newcomers;
    return after(500ms, [this, task] { try_without_ticket(task); });
  }
  ++t.refusals;
  ++counts_.refused_waiters;
  after(most_delay_ + 2ms, [this, task] {  // what was let go has arrived before what comes next
    if (at(task).is_dead) return;
    at(task).waiter->refused(time_.now());
    carry_out(task);
  });
}

// All or nothing: what is held without the rest is let go, a host after the other.
void QueueWorld::release(int task) {
  for (int host = 0; host < static_cast<int>(hosts_.size()); ++host)
    if (hosts_[static_cast<std::size_t>(host)].held.contains(task))
      after(trip(), [this, task, host] {
        hosts_[static_cast<std::size_t>(host)].held.erase(task);
        host_changed(host);
      });
}

void QueueWorld::start(int task) {
  FakeTask& t = at(task);
  ++counts_.served;
  if (t.waits && is_kept_back(task, true)) ++counts_.lies_that_hide;
  t.has_run = true;
  if (t.waits) close_links(task);
  after(t.length, [this, task] {
    release(task);
    at(task).is_done = true;
  });
}

void QueueWorld::try_without_ticket(int task) {
  FakeTask& t = at(task);
  constexpr int most_tries = 40;
  if (++t.tries > most_tries) {
    t.is_done = true;
    return;
  }
  const auto wanted = plan(task, false);
  if (!wanted) return after(500ms, [this, task] { try_without_ticket(task); });
  t.wanted = *wanted;
  take(task);
}

}  // namespace train::simulation
