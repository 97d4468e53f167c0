// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

#include "cli/logs/merged_logs.hpp"
#include "cli/story/status_watch.hpp"
#include "cli/terminal/terminal.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// What a task does that another process drives, as rows below its output on this terminal.
class AttachedStatus {
 public:
  /// What is known about the task at one moment.
  struct Seen {
    ControlStatus status;
    TaskRecord task;
  };
  /// Nothing if the supervisor does not answer.
  using Look = std::function<std::optional<Seen>()>;

  explicit AttachedStatus(Look look) : look_(std::move(look)) {}

  /// Writes whole lines to standard output; false when the reader is gone.
  bool write(std::string_view text);
  /// Draws the rows anew once a second; call it more often.
  void draw(const MergedLogs& logs);
  /// Removes the rows; everything has been written then.
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  std::vector<std::string> rows(const MergedLogs& logs);

  Terminal terminal_{[] {}};
  Look look_;
  std::optional<StatusWatch> watch_;
  Clock::time_point next_{};
};

}  // namespace train
