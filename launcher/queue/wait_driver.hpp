// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/frames/line_buffer.hpp"
#include "launcher/ports/deadline_timer.hpp"
#include "launcher/ports/timers.hpp"
#include "launcher/ports/transport.hpp"
#include "launcher/queue/waiter.hpp"
#include "launcher/talks/wait_talk.hpp"

namespace train {

/// Carries out a `Waiter` over connections, one to each host; its tickets are there as long as this
/// object is. All callbacks come from the ports.
class WaitDriver {
 public:
  /// How the world is reached.
  struct Ports {
    Timers& timers;
    Transport& transport;
  };
  struct Hooks {
    /// It is the task's turn on some host: what comes of a plan with those where it is.
    std::function<Turn()> on_turn;
    /// Its place is known, or another one.
    std::function<void()> on_place;
    std::function<void(int host, const Error& why)> on_lost;
    std::function<void(const waiter_action::TellClocks& clocks)> on_clocks;
    std::function<void(const waiter_action::TellPassed& passed)> on_passed;
    /// Slots of the host that nobody holds any of.
    std::function<int(int host, const HostReport& report)> count_idle_slots;
    /// It waits no longer.
    std::function<void(const Error& why)> on_over;
  };

  /// `ticket`: all but its order. What the ports refer to must outlive the driver, which is not to
  /// be destroyed from inside of its callbacks.
  WaitDriver(Ports ports, std::vector<Host> hosts, const std::string& task, Ticket ticket,
             std::optional<nanoseconds> limit, Hooks hooks);
  WaitDriver(const WaitDriver&) = delete;
  WaitDriver& operator=(const WaitDriver&) = delete;

  /// Begins to reach the hosts. Once. `unix_now_ns`: as for `Waiter`.
  void start(std::int64_t unix_now_ns);
  /// What was being taken was taken by somebody else.
  void refused();

  /// By host: what it has last said, while it has the ticket.
  std::vector<std::optional<HostReport>> reports() const;
  bool is_turn_on(int host) const { return waiter_.is_turn_on(host); }
  std::optional<TicketOrder> order() const { return waiter_.order(); }
  PlaceInLine place() const { return waiter_.place(); }

 private:
  struct OfHost {
    std::unique_ptr<HostLink> link;
    LineBuffer text;
    HostReport report;
  };

  void received(int host, std::string_view bytes);
  void took(int host, std::string_view line);
  void carry_out();
  void close(int host);
  void send_ticket(int host);
  void show_life();

  void perform(const waiter_action::Open& action);
  void perform(const waiter_action::Close& action) { close(action.host); }
  void perform(const waiter_action::Send& action) { send_ticket(action.host); }
  void perform(const waiter_action::Plan&);
  void perform(const waiter_action::TellPlace&) { hooks_.on_place(); }
  void perform(const waiter_action::TellLost& action) { hooks_.on_lost(action.host, action.why); }
  void perform(const waiter_action::TellClocks& action) { hooks_.on_clocks(action); }
  void perform(const waiter_action::TellPassed& action) { hooks_.on_passed(action); }
  void perform(const waiter_action::GiveUp& action) { hooks_.on_over(action.why); }

  Ports ports_;
  const std::vector<Host> hosts_;
  const std::string task_;
  Hooks hooks_;
  Waiter waiter_;
  Instant started_{0};
  std::vector<OfHost> of_hosts_;
  std::vector<std::unique_ptr<HostLink>> closed_;  ///< not destroyed inside of their callbacks
  std::unique_ptr<Subscription> removal_;
  std::unique_ptr<Subscription> life_;
  DeadlineTimer deadline_;
};

}  // namespace train
