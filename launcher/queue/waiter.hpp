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

/// What a waiter wants done, in order.
namespace waiter_action {
/// Reach this host, and send it `Waiter::ticket(host)` first.
struct Open {
  int host = 0;
};
/// Close the connection to this host; its ticket goes with it.
struct Close {
  int host = 0;
};
/// Send this host `Waiter::ticket(host)`, which has changed.
struct Send {
  int host = 0;
};
/// It is the task's turn on some host: plan with what the hosts where it is (`is_turn_on`) have
/// last said, and with nothing of the others; answer with `planned`, from inside or later.
struct Plan {};
/// `Waiter::place()` is known, or another one.
struct TellPlace {};
/// This host is out of reach, and tried again; once each time.
struct TellLost {
  int host = 0;
  Error why;
};
/// Its arrivals cannot be so far apart: a clock is wrong. Once.
struct TellClocks {
  int ahead = 0;   ///< the host whose clock tells the latest
  int behind = 0;  ///< the earliest
  nanoseconds lead{0};
  bool is_passed_over = false;  ///< the order is earlier than what the first of them tells
};
/// On this host the task goes before another one from now on: it does not take what lies free, or
/// waits on several hosts and as much as it wants stays free for it here.
struct TellPassed {
  int host = 0;
  Ticket other;
};
/// It waits no longer: class `busy` at the limit, `host` where no host can be reached.
struct GiveUp {
  Error why;
};
}  // namespace waiter_action

using WaiterAction =
    std::variant<waiter_action::Open, waiter_action::Close, waiter_action::Send,
                 waiter_action::Plan, waiter_action::TellPlace, waiter_action::TellLost,
                 waiter_action::TellClocks, waiter_action::TellPassed, waiter_action::GiveUp>;

/// Among those of one user, who is less urgent steps behind who is more so: the order of `own`
/// then, just after that of the last of these; nothing where it is behind them already. Nobody else
/// is overtaken, since orders only rise. Orders later than `latest_ns` are no honest ones yet, and
/// not stepped behind.
std::optional<TicketOrder> order_behind_more_urgent(const Ticket& own,
                                                    const std::vector<Ticket>& others,
                                                    std::int64_t latest_ns);

/// So often a task steps behind more urgent ones of its user. Then it keeps its place, so that they
/// cannot keep it waiting for ever, nor can a host that makes them up.
inline constexpr int most_steps_behind = 16;

/// What comes of a plan.
enum class Turn {
  fits,         ///< all of it, and it is being taken now
  held,         ///< by others, some of it
  lacks_hosts,  ///< the hosts that stand in the line would not do without anybody on them
};

/// Where a task stands.
struct PlaceInLine {
  int number = 1;                ///< 1: nobody is before it
  std::optional<Ticket> before;  ///< who is directly before it
};

/// One task that waits for slots of hosts which have no server: it has a ticket on each that it may
/// use, and sees the tickets of others there.
///
/// Its order is the latest arrival of its tickets, as far as clocks can be right: no later than the
/// launcher's own clock and the usual spread, or the lower median of the arrivals and that. So a
/// minority of hosts cannot make it late. Until all hosts have told their arrival, or are out of
/// reach, its tickets say the least that it can be, and others wait for them.
///
/// It has its turn on each host by itself: where nobody is before it, whatever smaller requests
/// would fit there meanwhile. It takes slots as soon as what it wants fits on these hosts. What is
/// shown on one host thus says nothing about another, and a host that lies keeps nobody from the
/// others.
///
/// Nobody waits in a circle: who is before whom (`is_in_the_way`) is a part of one order that all
/// hosts share, and the lowest in it is first on all of its hosts. Large requests do not starve:
/// they have a ticket on each host that they may use, and whoever comes later is behind them on
/// each of these. Orders only rise, and for each task only `most_steps_behind` times.
///
/// A ticket of another user is no claim on slots that it leaves alone: where as many as it wants
/// lay free on its only host for `pass_limit`, it is passed there. One that waits on several hosts
/// may lack another of them, and is passed only where what it wants stays free nevertheless.
///
/// Who has no host in common is not waited for, nor who cannot be served by the hosts that can be
/// reached: that one stands aside until they are more.
class Waiter {
 public:
  struct Timing {
    /// From the first arrival: hosts that have not answered then join the line later.
    milliseconds settle_limit{10'000};
    milliseconds silence_limit{30'000};  ///< without a word from a host that was reached
    milliseconds reach_limit{60'000};    ///< from Open to its first word
    milliseconds back_off{1'000};        ///< before a host is reached again; then twice that ...
    milliseconds longest_back_off{30'000};
    milliseconds pause{
        250};  ///< after slots that were planned with were taken; then twice that ...
    milliseconds longest_pause{5'000};
    milliseconds nobody_limit{300'000};  ///< without any host, where there was one
    /// Longer than a launch takes that has its turn, with an upload to many hosts.
    milliseconds pass_limit{300'000};
  };

  /// `own`: all but its order. `limit`: how long it waits; nothing: without an end.
  Waiter(Ticket own, const std::string& task, int hosts, std::optional<nanoseconds> limit,
         Timing timing);
  Waiter(Ticket own, const std::string& task, int hosts,
         std::optional<nanoseconds> limit = std::nullopt)
      : Waiter(std::move(own), task, hosts, limit, Timing()) {}

  /// Begins to reach the hosts. Once. `unix_now_ns`: what time it is by the launcher's wall clock.
  void start(Instant now, std::int64_t unix_now_ns);
  /// What a host says: when the ticket arrived there, and the tickets of others. Said when that has
  /// changed, or what is held there. `idle_slots`: so many nobody holds any of.
  void reported(int host, std::int64_t arrived_ns, std::vector<Ticket> others, Instant now,
                int idle_slots = 0);
  /// It lives, and nothing has changed.
  void heard(int host, Instant now);
  /// The connection is over, or there was none.
  void lost(int host, const Error& why, Instant now);
  /// What came of Plan.
  void planned(Turn turn, Instant now);
  /// Somebody else has taken some of it before. The task keeps its place.
  void refused(Instant now);
  /// Time has passed.
  void tick(Instant now);
  std::optional<Instant> next_deadline() const;

  std::vector<WaiterAction> take_actions() { return std::exchange(actions_, {}); }
  /// As it is to be on that host.
  Ticket ticket(int host) const;
  /// Its order, once that is final; takes of what was planned go with it.
  std::optional<TicketOrder> order() const;
  PlaceInLine place() const;
  /// The host has the ticket, and what it has last said counts.
  bool stands_on(int host) const { return at(host).state == State::standing; }
  /// The task stands there with its final order, and nobody is before it.
  bool is_turn_on(int host) const;
  bool is_over() const { return is_over_; }

 private:
  enum class State { opening, standing, away };
  struct OfHost {
    State state = State::away;
    bool is_known = false;  ///< it has answered once, or cannot be reached
    std::int64_t arrived_ns = 0;
    std::vector<Ticket> others;  ///< while it stands
    int idle_slots = 0;
    /// Tasks in the way, since when what they want lies free.
    std::map<std::string, Instant> lying_since;
    std::vector<std::string> passed;  ///< while they are there
    Instant last_word{0};             ///< or when it was opened
    Instant open_at{0};               ///< while it is away
    milliseconds back_off{0};
  };

  OfHost& at(int host) { return hosts_[static_cast<std::size_t>(host)]; }
  const OfHost& at(int host) const { return hosts_[static_cast<std::size_t>(host)]; }
  void open(int host, Instant now);
  void leave(int host, const Error& why, Instant now);
  bool stands_anywhere() const;
  bool is_turn_anywhere() const;
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
  std::int64_t unix_offset_ns_ = 0;  ///< Unix time less `Instant`
  int steps_behind_ = 0;
  std::optional<Instant> first_arrival_;
  std::optional<Instant> alone_since_;  ///< no host stands
  std::optional<Instant> give_up_at_;
  bool has_news_ = false;           ///< since the last plan, which may change what comes of it
  bool is_taking_ = false;          ///< what was planned
  std::optional<Instant> plan_at_;  ///< not before
  milliseconds pause_{0};
  std::optional<std::pair<int, std::string>> told_place_;
  std::vector<WaiterAction> actions_;
  bool is_over_ = false;
};

}  // namespace train
