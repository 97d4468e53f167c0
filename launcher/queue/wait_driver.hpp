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

/// Carries out a `Waiter` over connections, one to each host; its tickets exist as long as this
/// object. All callbacks come from the ports.
class WaitDriver {
 public:
  /// The ports.
  struct Ports {
    Timers& timers;
    Transport& transport;
  };
  struct Hooks {
    /// It is the task's turn on some hosts: plans with these and returns the result.
    std::function<Turn()> on_turn;
    /// The task's place in the line is known, or has changed.
    std::function<void()> on_place;
    std::function<void(int host, const Error& why)> on_lost;
    std::function<void(const waiter_action::ReportClocks& clocks)> on_clocks;
    std::function<void(const waiter_action::ReportPassed& passed)> on_passed;
    /// The number of slots of the host of which no task holds any part.
    std::function<int(int host, const HostReport& report)> count_idle_slots;
    /// The wait is over.
    std::function<void(const Error& why)> on_over;
  };

  /// `ticket`: everything except its order. What the ports refer to must outlive the driver. The
  /// driver must not be destroyed inside its callbacks.
  WaitDriver(Ports ports, std::vector<Host> hosts, const std::string& task, Ticket ticket,
             std::optional<nanoseconds> limit, Hooks hooks);
  WaitDriver(const WaitDriver&) = delete;
  WaitDriver& operator=(const WaitDriver&) = delete;

  /// Begins to reach the hosts. To be called once. `unix_now_ns`: as for `Waiter`.
  void start(std::int64_t unix_now_ns);
  /// The planned slots were taken by another task before.
  void refused();

  /// By host: its last report, while it has the ticket.
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
  void perform(const waiter_action::ReportPlace&) { hooks_.on_place(); }
  void perform(const waiter_action::ReportLost& action) { hooks_.on_lost(action.host, action.why); }
  void perform(const waiter_action::ReportClocks& action) { hooks_.on_clocks(action); }
  void perform(const waiter_action::ReportPassed& action) { hooks_.on_passed(action); }
  void perform(const waiter_action::GiveUp& action) { hooks_.on_over(action.why); }

  Ports ports_;
  const std::vector<Host> hosts_;
  const std::string task_;
  Hooks hooks_;
  Waiter waiter_;
  Instant started_{0};
  std::vector<OfHost> of_hosts_;
  std::vector<std::unique_ptr<HostLink>> closed_;  ///< must not be destroyed inside their callbacks
  std::unique_ptr<Subscription> removal_;
  std::unique_ptr<Subscription> life_;
  DeadlineTimer deadline_;
};

}  // namespace train
