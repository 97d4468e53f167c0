// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/lease/ticket.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// Actions of a waiter, in order.
namespace waiter_action {
/// Reach this host, and send it `Waiter::ticket(host)` first.
struct Open {
  int host = 0;
};
/// Close the connection to this host, which removes the ticket.
struct Close {
  int host = 0;
};
/// Send this host the changed `Waiter::ticket(host)`.
struct Send {
  int host = 0;
};
/// It is the task's turn on some hosts (`is_turn_on`): plan with their last reports only, and
/// answer with `planned`, from inside or later.
struct Plan {};
/// `Waiter::place()` is known, or has changed.
struct ReportPlace {};
/// This host is out of reach, and will be tried again; sent once for each outage.
struct ReportLost {
  int host = 0;
  Error why;
};
/// The arrivals are too far apart: some clock is wrong. Sent once.
struct ReportClocks {
  int ahead = 0;   ///< the host with the latest arrival
  int behind = 0;  ///< the host with the earliest arrival
  nanoseconds lead{0};
  bool is_passed_over = false;  ///< the order is earlier than the latest arrival
};
/// On this host, the task goes before another one from now on: the other one does not take free
/// slots, or waits on several hosts while the slots that it wants stay free for it here.
struct ReportPassed {
  int host = 0;
  Ticket other;
};
/// The wait is over: class `busy` at the limit, `host` if no host can be reached.
struct GiveUp {
  Error why;
};
}  // namespace waiter_action

using WaiterAction =
    std::variant<waiter_action::Open, waiter_action::Close, waiter_action::Send,
                 waiter_action::Plan, waiter_action::ReportPlace, waiter_action::ReportLost,
                 waiter_action::ReportClocks, waiter_action::ReportPassed, waiter_action::GiveUp>;

/// Among the tasks of one user, less urgent ones step behind more urgent ones. Returns the new
/// order of `own`, just after the last more urgent one; nothing if it is behind them already. No
/// other task is overtaken, since orders only rise. Orders later than `latest_ns` are not honest,
/// and are ignored.
std::optional<TicketOrder> order_behind_more_urgent(const Ticket& own,
                                                    const std::vector<Ticket>& others,
                                                    std::int64_t latest_ns);

/// A task steps behind more urgent ones of its user at most this often. Then it keeps its place, so
/// that neither they nor a host that makes them up can keep it waiting forever.
inline constexpr int most_steps_behind = 16;

/// The result of a plan.
enum class Turn {
  fits,         ///< everything fits, and is being taken now
  held,         ///< others hold a part of what is needed
  lacks_hosts,  ///< the hosts in the line would not suffice even if they were free
};

/// The place of a task in the line.
struct PlaceInLine {
  int number = 1;                ///< 1: no task is before it
  std::optional<Ticket> before;  ///< the task directly before it
};

/// One task that waits for slots of hosts that have no server: it has a ticket on each host that it
/// may use, and sees the tickets of others there.
///
/// Its order is the latest arrival of its tickets, within the bounds of honest clocks: no later
/// than the launcher's own clock, or the lower median of the arrivals, plus the usual spread. So a
/// minority of hosts cannot make it late. Until all hosts have reported the arrival, or are out of
/// reach, its tickets have the lowest possible order, and others wait for them.
///
/// Each host is decided separately: it is the task's turn where no other task is before it, even if
/// smaller requests would fit there meanwhile. The task takes slots as soon as its request fits on
/// these hosts. The line of one host thus says nothing about another, and a lying host affects only
/// itself.
///
/// There is no deadlock: who is before whom (`blocks`) is a part of one order that all hosts
/// share, and the task with the lowest order is first on all of its hosts. Large requests do not
/// starve: they have a ticket on each host that they may use, and later tasks are behind them on
/// each of these. Orders only rise, and for each task at most `most_steps_behind` times.
///
/// A ticket of another user does not reserve slots that its task leaves unused: if as many slots as
/// it wants were free on its only host for `pass_limit`, it is passed there. A task that waits on
/// several hosts may lack slots on another one, and is passed only if the slots that it wants stay
/// free nevertheless.
///
/// A task does not wait for tasks that share no host with it, nor for tasks that the reachable
/// hosts cannot serve: those stand aside until there are more hosts.
class Waiter {
 public:
  struct Timing {
    /// From the first arrival on: hosts that have not answered by then join the line later.
    milliseconds settle_limit{10'000};
    milliseconds silence_limit{30'000};  ///< without a message from a host that was reached
    milliseconds reach_limit{60'000};    ///< from Open to the first message of the host
    milliseconds back_off{1'000};        ///< before a host is reached again; doubled each time
    milliseconds longest_back_off{30'000};
    milliseconds pause{
        250};  ///< after slots that were planned with were taken; then twice that ...
    milliseconds longest_pause{5'000};
    milliseconds no_host_limit{300'000};  ///< without any host in the line, after there was one
    /// Longer than a launch takes when it has its turn, including an upload to many hosts.
    milliseconds pass_limit{300'000};
  };

  /// `own`: everything except its order. `limit`: of the wait; nothing: unlimited.
  Waiter(Ticket own, const std::string& task, int hosts, std::optional<nanoseconds> limit,
         Timing timing);
  Waiter(Ticket own, const std::string& task, int hosts,
         std::optional<nanoseconds> limit = std::nullopt)
      : Waiter(std::move(own), task, hosts, limit, Timing()) {}

  /// Begins to reach the hosts. To be called once. `unix_now_ns`: the time of the launcher's wall
  /// clock.
  void start(Instant now, std::int64_t unix_now_ns);
  /// A report of a host: the arrival of the ticket there, and the tickets of others. Comes when
  /// these, or the leases there, have changed. `idle_slots`: number of slots of which no task holds
  /// any part.
  void reported(int host, std::int64_t arrived_ns, std::vector<Ticket> others, Instant now,
                int idle_slots = 0);
  /// The host is alive, and nothing has changed.
  void note_sign_of_life(int host, Instant now);
  /// The connection is over, or could not be opened.
  void lost(int host, const Error& why, Instant now);
  /// The result of Plan.
  void planned(Turn turn, Instant now);
  /// Another task has taken some of the planned slots before. The task keeps its place.
  void refused(Instant now);
  /// Time has passed.
  void tick(Instant now);
  std::optional<Instant> next_deadline() const;

  std::vector<WaiterAction> take_actions() { return std::exchange(actions_, {}); }
  /// The ticket as it is to be on that host.
  Ticket ticket(int host) const;
  /// The order, once it is final; it is sent with the requests for leases.
  std::optional<TicketOrder> order() const;
  PlaceInLine place() const;
  /// The host has the ticket, and its last report counts.
  bool stands_on(int host) const { return at(host).state == State::standing; }
  /// The task has a ticket with its final order on this host, and no other task is before it.
  bool is_turn_on(int host) const;
  bool is_over() const { return is_over_; }

 private:
  enum class State { opening, standing, away };
  struct OfHost {
    State state = State::away;
    bool is_known = false;  ///< it has answered once, or cannot be reached
    std::int64_t arrived_ns = 0;
    std::vector<Ticket> others;  ///< while it is in the line
    int idle_slots = 0;
    /// Tasks in the way, and since when the slots that they want are free.
    std::map<std::string, Instant> lying_since;
    std::vector<std::string> passed;  ///< tasks that were passed, while they are present
    Instant last_word{0};             ///< the last message, or the opening
    Instant open_at{0};               ///< next opening, while it is away
    milliseconds back_off{0};
  };

  OfHost& at(int host) { return hosts_[static_cast<std::size_t>(host)]; }
  const OfHost& at(int host) const { return hosts_[static_cast<std::size_t>(host)]; }
  void open(int host, Instant now);
  void leave(int host, const Error& why, Instant now);
  bool has_any_ticket() const;
  bool has_any_turn() const;
  bool are_all_known() const;
  void send_all();
  void settle(Instant now);
  std::int64_t latest_order_ns(Instant now) const;
  void compare_clocks();
  void step_behind(Instant now);
  bool is_before_us(const OfHost& host, const Ticket& other) const;
  double slots_to_pass(const Ticket& other) const;
  void note_idle(OfHost& host, Instant now) const;
  bool forget_passed(OfHost& host) const;
  void pass(Instant now);
  void consider(Instant now);
  void end(Error why);

  const Timing timing_;
  const std::optional<nanoseconds> limit_;
  Ticket own_;
  std::vector<OfHost> hosts_;
  std::int64_t unix_offset_ns_ = 0;  ///< offset of Unix time to `Instant`
  int steps_behind_ = 0;
  std::optional<Instant> first_arrival_;
  std::optional<Instant> no_host_since_;  ///< no host is in the line
  std::optional<Instant> give_up_at_;
  /// Something changed since the last plan that may change its result.
  bool has_news_ = false;
  bool is_taking_ = false;          ///< the planned slots are being taken
  std::optional<Instant> plan_at_;  ///< earliest time of the next plan
  milliseconds pause_{0};
  std::optional<std::pair<int, std::string>> told_place_;
  std::vector<WaiterAction> actions_;
  bool is_over_ = false;
};

}  // namespace train
