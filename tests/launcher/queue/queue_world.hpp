// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launcher/queue/waiter.hpp"
#include "tests/launcher/simulation/virtual_time.hpp"

namespace train::simulation {

/// Who wishes the others ill: hosts that lie in what they report, clocks that are hours wrong, and
/// users who claim an early order without any need of slots.
enum class Enemies { none, some };

/// Many tasks that want slots of the same hosts: those that wait, by the real `Waiter`, and those
/// that come without a ticket. Hosts, connections and clocks are fake, trouble is seeded.
class QueueWorld {
 public:
  explicit QueueWorld(std::uint64_t seed, Enemies enemies = Enemies::none);
  /// Until every task has had its slots or is given up, and its end is seen.
  void play();
  /// Sentences; empty: all promises were kept.
  const std::vector<std::string>& broken_promises() const { return broken_; }

  /// What has happened, so that a test sees that the seeds bring it about.
  struct Counts {
    int served = 0;
    int gave_up = 0;
    int killed = 0;
    int refused_newcomers = 0;
    int refused_waiters = 0;
    int lost_hosts = 0;
    int stepped_behind = 0;
    int stood_aside = 0;
    int turns_on_some = 0;  ///< plans while others were before the task on some host
    int passed = 0;         ///< tickets that leave alone what lies free, or wait for more hosts
    // With enemies:
    int lies = 0;               ///< reports of hosts that lie
    int lies_that_hide = 0;     ///< tasks that were served while a host that lies kept them back
    int late_clocks = 0;        ///< hosts that are hours ahead
    int early_clocks = 0;       ///< hosts that are hours behind
    int orders_cut = 0;         ///< orders that are earlier than the latest arrival told
    int last_steps_behind = 0;  ///< tasks that keep their place from now on
    int strangers_first = 0;    ///< takes refused for a ticket that wants nothing
    int strangers_passed = 0;   ///< slots taken in spite of one, since it came later

    Counts& operator+=(const Counts& other);
  };
  const Counts& counts() const { return counts_; }

 private:
  /// One connection of a waiting task to a host. Either end may have seen its end before the other.
  struct Link {
    int task = 0;
    int host = 0;
    bool is_known_to_supervisor = true;
    bool is_on_host = false;  ///< the host has its ticket
    bool is_silent = false;   ///< nothing arrives at either end any more
    Ticket ticket = {};
    std::int64_t arrived_ns = 0;
    std::optional<Instant> final_since = {};  ///< on the host
    Instant last_to_host{0};
    Instant last_to_supervisor{0};
  };
  using Held = std::map<int, int>;  ///< slots, by task
  struct FakeHost {
    int slots = 0;
    std::int64_t clock_ahead_ns = 0;
    Held held = {};
    std::vector<std::shared_ptr<Link>> tickets = {};
    bool is_cut = false;
    bool is_report_due = false;
    bool lies = false;                   ///< in its reports; what it gives it has
    bool is_stubborn = false;            ///< it always shows somebody who comes first
    std::vector<Ticket> strangers = {};  ///< of users who want nothing
  };
  struct FakeTask {
    std::string id = {};
    int user = 0;
    std::vector<int> hosts = {};  ///< that it may use; the world's indices
    int slots = 0;
    nanoseconds length{0};
    bool waits = true;
    std::optional<Waiter> waiter = {};
    std::vector<std::shared_ptr<Link>> links = {};    ///< by its own index of the host
    std::vector<Held> known = {};                     ///< what hosts have said is held, likewise
    std::vector<std::int64_t> arrivals = {};          ///< what hosts have said of that, likewise
    std::int64_t clock_ahead_ns = 0;                  ///< of its launcher
    std::optional<std::int64_t> unix_offset_ns = {};  ///< Unix time as it is to believe it
    std::int64_t order_ns = 0;                        ///< as last sent, once it is final
    int rises = 0;                                    ///< of that
    std::map<int, int> wanted = {};                   ///< slots by host, while they are taken
    int answers_due = 0;
    bool is_refused = false;
    Instant decided_at{0};
    std::optional<Instant> tick_at = {};
    bool is_dead = false;
    bool has_run = false;
    bool is_done = false;
    int tries = 0;
    int reports = 0, plans = 0, sends = 0, refusals = 0, losses = 0, turns_aside = 0, passes = 0;
  };

  void cause_trouble();
  void make_enemies(bool has_trouble);
  void make_stranger(bool stays);
  void keep_lying(int host);
  void lie(bool is_stubborn, Held& held, std::vector<Ticket>& others, std::int64_t& arrived_ns);
  Ticket made_up_ticket();
  std::int64_t silly_time();
  std::int64_t hours();
  std::int64_t unix_time(std::int64_t ahead_ns) const;
  bool is_served_by_honest_hosts(const FakeTask& task) const;
  void check_sent(int task);
  void tick(int task);
  void hear(int task);
  void carry_out(int task);
  void perform(int task, const waiter_action::Open& action);
  void perform(int task, const waiter_action::Close& action);
  void perform(int task, const waiter_action::Send& action);
  void perform(int task, const waiter_action::Plan& action);
  void perform(int task, const waiter_action::ReportPlace&) { (void)task; }
  void perform(int task, const waiter_action::ReportLost& action);
  void perform(int task, const waiter_action::ReportClocks& action);
  void perform(int task, const waiter_action::ReportPassed& action);
  void perform(int task, const waiter_action::GiveUp& action);
  void send_ticket(const std::shared_ptr<Link>& link);
  void ticket_came(const std::shared_ptr<Link>& link, const Ticket& ticket);
  void remove_ticket(const std::shared_ptr<Link>& link);
  void close_links(int task);
  void host_changed(int host);
  void report(int host);
  void report_to(const std::shared_ptr<Link>& link);
  void lose(const std::shared_ptr<Link>& link);
  void cut(int host);
  void kill(int task);
  bool can_ever_do(const FakeTask& task) const;
  std::optional<std::map<int, int>> plan(int task, bool with_reports) const;
  void take(int task);
  void taken_at(int task, int host, const std::optional<TicketOrder>& order);
  void answered(int task, bool is_held);
  void release(int task);
  void start(int task);
  void try_without_ticket(int task);
  void check_order(int task);
  bool is_kept_back(int task, bool by_liars) const;
  static std::int64_t arrival_of(int task, const FakeHost& host);
  Ticket ticket_as_seen(const Link& link, int task) const;
  bool has_passed_there(int task, const FakeHost& host, const Ticket& other) const;
  void after(nanoseconds delay, std::function<void()> what) {
    time_.at(time_.now() + delay, std::move(what));
  }
  nanoseconds trip() { return std::chrono::milliseconds(1) + chance_.up_to(most_delay_); }
  FakeTask& at(int task) { return tasks_[static_cast<std::size_t>(task)]; }
  const FakeTask& at(int task) const { return tasks_[static_cast<std::size_t>(task)]; }
  int own_index(const FakeTask& task, int host) const;
  void promise(bool is_kept, const std::string& words);

  Chance chance_;
  VirtualTime time_;
  nanoseconds most_delay_;
  std::vector<FakeHost> hosts_;
  bool are_launchers_wrong_ = false;  ///< some of their clocks
  std::deque<FakeTask> tasks_;
  std::vector<std::string> broken_;
  Counts counts_;
};

}  // namespace train::simulation
