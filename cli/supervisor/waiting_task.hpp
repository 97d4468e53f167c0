// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "backends/event_loop/loop.hpp"
#include "cli/request/transports.hpp"
#include "cli/supervisor/placed_launch.hpp"
#include "launcher/queue/wait_driver.hpp"

namespace train {

/// A task that waits for slots that others hold, in the queue of all hosts that it may use. Its
/// tickets exist while this object lives and its loop is run.
class WaitingTask {
 public:
  /// Both arguments must outlive this object.
  WaitingTask(PlacedLaunch& launch, HostConnections& connections);

  /// Waits until it is the task's turn and the task fits on the free slots; reports its place
  /// meanwhile. Then the launch has the new plan, which is recorded; returns an outcome if the task
  /// does not run. Call it again if others took the planned slots first. On return, signals are
  /// held back.
  std::optional<RunOutcome> await_turn(StopSignals& signals);
  /// The order of its tickets, for leasing the slots.
  std::optional<TicketOrder> order() const { return order_; }

 private:
  Turn plan();
  Turn turn_without_slots();
  void report_place();
  void report_lost(int host, const Error& why);
  void report_passed(const waiter_action::ReportPassed& passed);
  void report_clocks(const waiter_action::ReportClocks& clocks);
  void give_up(const Error& why);
  void note_alive();
  TerminalText place_words() const;
  std::vector<std::string> lines_of_holders() const;
  Occupancy occupancy() const;
  Occupancy unreachable() const;
  std::vector<std::string> names_of_unreachable() const;
  Result<void> record(TaskState state, const Plan& plan);

  PlacedLaunch& launch_;
  Loop loop_;  ///< part of the loop of `HostConnections`, which continues after this object
  WaitDriver driver_;
  std::unique_ptr<Subscription> alive_;
  bool has_begun_ = false;
  bool is_steady_ = false;
  bool stands_aside_ = false;
  std::string told_turn_;   ///< place in the queue that was last reported
  bool is_taking_ = false;  ///< the slots are being leased; tickets show it is alive
  std::optional<Plan> planned_;
  std::optional<Error> gave_up_;
  std::optional<int> stop_signal_;
  std::optional<TicketOrder> order_;
};

}  // namespace train
