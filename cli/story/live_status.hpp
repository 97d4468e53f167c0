// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "cli/logs/rank_output.hpp"
#include "cli/story/status_watch.hpp"
#include "cli/terminal/terminal.hpp"
#include "launcher/ports/timers.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

/// What a launch of one trial in the foreground does, as rows below the output on its terminal. It
/// looks a few times per second, and shows nothing for launches that are over at once.
class LiveStatus {
 public:
  /// `look` returns what the supervisor knows. All arguments must outlive this object.
  LiveStatus(Terminal& terminal, Timers& timers, const RankOutput& output, const TaskRecord& task,
             std::function<ControlStatus()> look)
      : terminal_(terminal),
        timers_(timers),
        output_(output),
        task_(task),
        look_(std::move(look)) {}

  /// Shows rows until `end`.
  void begin();
  /// Removes the rows.
  void end();

 private:
  void draw();

  Terminal& terminal_;
  Timers& timers_;
  const RankOutput& output_;
  const TaskRecord& task_;
  std::function<ControlStatus()> look_;
  StatusWatch watch_;
  std::unique_ptr<Subscription> next_;
};

}  // namespace train
