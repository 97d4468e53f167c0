// SPDX-License-Identifier: Apache-2.0
#include "cli/task_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "backends/event_loop/loop.hpp"
#include "backends/posix/proc.hpp"
#include "cli/table.hpp"
#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

const std::vector<std::string> heading = {"ID",    "NAME", "STATE",   "SLOTS",   "HOSTS",
                                          "RANKS", "USER", "STARTED", "ELAPSED", "RESTARTS"};

UnixMillis elapsed(const TaskRecord& task, UnixMillis now) {
  return std::max<UnixMillis>(0, task.ended.value_or(now) - task.started.value_or(task.created));
}

std::vector<std::string> row_of(const TaskRecord& task, UnixMillis now) {
  return {task.id,
          task.name,
          std::string(shown_state(task)),
          task.slots,
          summarized_names(task.hosts),
          std::to_string(task.world_size),
          task.user,
          task.started ? local_time(*task.started) : "-",
          elapsed_text(task, now),
          std::to_string(task.restarts)};
}

// A task of somebody else, or of another machine: its ranks and restarts only its record has.
std::vector<std::string> row_of(const HeldTask& task, UnixMillis now) {
  const bool is_known = task.held_ms > 0;
  return {task.id,
          task.name,
          state_of(task),
          slots_text(task),
          summarize_hosts(task.hosts),
          "-",
          task.user,
          is_known ? local_time(now - task.held_ms) : "-",
          is_known ? format_duration(task.held_ms) : "-",
          "-"};
}

}  // namespace

std::string elapsed_text(const TaskRecord& task, UnixMillis now) {
  const std::string text = format_duration(elapsed(task, now));
  return task.state == TaskState::lost ? ">=" + text : text;
}

std::string local_time(UnixMillis instant) {
  const std::time_t seconds = instant / 1000;
  std::tm broken_down{};
  ::localtime_r(&seconds, &broken_down);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &broken_down);
  return text;
}

std::string summarized_names(const std::string& names) {
  const auto parts = split(names, ',');
  return summarize_hosts({parts.begin(), parts.end()});
}

UnixMillis now_on_the_wall() { return unix_time_ms(); }

milliseconds booted_on_the_wall() {
  return milliseconds(now_on_the_wall()) - std::chrono::floor<milliseconds>(boot_time());
}

std::string format_duration(UnixMillis duration) {
  const UnixMillis seconds = duration / 1000;
  if (seconds < 60) return fmt::format("{}.{}s", seconds, duration % 1000 / 100);
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  if (seconds < 86'400) return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
  return fmt::format("{}d{:02}h", seconds / 86'400, seconds / 3600 % 24);
}

std::string tasks_to_table(const std::vector<TaskRecord>& tasks, UnixMillis now,
                           const std::vector<HeldTask>& held) {
  TableRows rows = {heading};
  for (const TaskRecord& task : tasks) rows.push_back(row_of(task, now));
  for (const HeldTask& task : held) rows.push_back(row_of(task, now));
  return table_text(std::move(rows));
}

std::string tasks_to_csv(const std::vector<TaskRecord>& tasks, UnixMillis now,
                         const std::vector<HeldTask>& held) {
  TableRows rows = {heading};
  for (const TaskRecord& task : tasks) {
    auto row = row_of(task, now);
    row[4] = task.hosts;
    row[7] = task.started ? std::to_string(*task.started) : "";
    row[8] = std::to_string(elapsed(task, now));
    rows.push_back(std::move(row));
  }
  for (const HeldTask& task : held) {
    auto row = row_of(task, now);
    row[4] = fmt::format("{}", fmt::join(task.hosts, ","));
    row[5] = row[9] = "";
    row[7] = task.held_ms > 0 ? std::to_string(now - task.held_ms) : "";
    row[8] = task.held_ms > 0 ? std::to_string(task.held_ms) : "";
    rows.push_back(std::move(row));
  }
  return table_csv(rows);
}

}  // namespace train
