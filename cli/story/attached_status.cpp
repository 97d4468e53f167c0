// SPDX-License-Identifier: Apache-2.0
#include "cli/story/attached_status.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cli/surroundings/time_text.hpp"
#include "cli/terminal/bottom_rows.hpp"
#include "launcher/task/task.hpp"

namespace train {

namespace {

// How long ago the attempt has begun, or the ranks have started for the first time; 0 while it is
// stopped: no record tells when that began.
milliseconds age_of(const AttachedStatus::Seen& seen) {
  const TaskRecord& task = seen.task;
  if (seen.status.phase != attempt_states().row(AttemptState::running).name) return {};
  std::optional<UnixMillis> began = task.restarts == 0 ? task.started : std::nullopt;
  if (!began && !task.attempts.empty()) began = task.attempts.back().started;
  if (!began) return {};
  const auto now = std::chrono::duration_cast<milliseconds>(wall_time());
  return std::max(milliseconds(0), now - milliseconds(*began));
}

}  // namespace

bool AttachedStatus::write(std::string_view text) {
  if (!text.empty()) terminal_.write(Terminal::Stream::out, std::string(text));
  if (terminal_.full()) terminal_.flush();
  return !terminal_.closed(Terminal::Stream::out);
}

void AttachedStatus::draw(const MergedLogs& logs) {
  if (Clock::now() < next_) return;
  terminal_.show_below(screen_of_stderr() ? rows(logs) : std::vector<std::string>());
  next_ = Clock::now() + between_looks;
}

void AttachedStatus::end() {
  terminal_.show_below({});
  terminal_.flush();
}

std::vector<std::string> AttachedStatus::rows(const MergedLogs& logs) {
  const auto seen = look_();
  if (!seen) return {};
  if (!watch_) watch_.emplace(age_of(*seen));
  auto status = watch_->look(seen->status, seen->task, Clock::now().time_since_epoch());
  if (!status) return {};
  status->unfinished = logs.rewritten_lines(most_unfinished_lines);
  return launch_status_rows(*status);
}

}  // namespace train
