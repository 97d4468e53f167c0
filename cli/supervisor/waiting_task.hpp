// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "backends/event_loop/loop.hpp"
#include "cli/request/transports.hpp"
#include "cli/supervisor/placed_launch.hpp"
#include "launcher/queue/wait_driver.hpp"

namespace train {

/// A task that waits for slots which others hold, in the line of all hosts that it may use. Its
/// tickets are there as long as this is, and somebody runs the loop.
class WaitingTask {
 public:
  /// Both must outlive this.
  WaitingTask(PlacedLaunch& launch, Reach& reach);

  /// Waits until it is the task's turn and it fits on what is free; says its place meanwhile. What
  /// was planned is the launch's plan then, and recorded; an outcome where it does not run. Again:
  /// what was planned before was taken by others. Signals are held back then.
  std::optional<RunOutcome> await_turn(StopSignals& signals);
  /// Of what is to be taken.
  std::optional<TicketOrder> order() const { return order_; }

 private:
  Turn plan();
  Turn turn_without_slots();
  void tell_place();
  void tell_lost(int host, const Error& why);
  void tell_passed(const waiter_action::TellPassed& passed);
  void tell_clocks(const waiter_action::TellClocks& clocks);
  void give_up(const Error& why);
  void note_alive();
  TerminalText place_words() const;
  std::vector<std::string> lines_of_holders() const;
  Occupancy occupancy() const;
  Occupancy unreachable() const;
  std::vector<std::string> names_of_unreachable() const;
  Result<void> record(TaskState state, const Plan& plan);

  PlacedLaunch& launch_;
  Loop loop_;  ///< a part of the one that goes on when this is over
  WaitDriver driver_;
  std::unique_ptr<Subscription> alive_;
  bool has_begun_ = false;
  bool is_steady_ = false;
  bool stands_aside_ = false;
  std::string told_turn_;   ///< where it was, last
  bool is_taking_ = false;  ///< what was planned; the hosts still hear that this launcher lives
  std::optional<Plan> planned_;
  std::optional<Error> gave_up_;
  std::optional<int> stop_signal_;
  std::optional<TicketOrder> order_;
};

}  // namespace train
