// SPDX-License-Identifier: Apache-2.0
#include "cli/show/task_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "backends/posix/proc.hpp"
#include "cli/terminal/table.hpp"
#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/text/duration.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

const std::vector<std::string> heading = {"ID",    "NAME", "STATE",   "SLOTS",   "HOSTS",
                                          "RANKS", "USER", "STARTED", "ELAPSED", "RESTARTS"};
constexpr std::size_t state_column = 2;

UnixMillis elapsed(const TaskRecord& task, UnixMillis now) {
  return std::max<UnixMillis>(0, task.ended.value_or(now) - task.started.value_or(task.created));
}

void add_row(TableRows& rows, const TaskRecord& task, std::string hosts, std::string started,
             std::string elapsed) {
  auto& row = rows.emplace_back();
  row.reserve(heading.size());
  row.emplace_back(task.id);
  row.emplace_back(task.name);
  row.emplace_back(shown_state(task));
  row.emplace_back(task.slots);
  row.emplace_back(std::move(hosts));
  row.emplace_back(std::to_string(task.world_size));
  row.emplace_back(task.user);
  row.emplace_back(std::move(started));
  row.emplace_back(std::move(elapsed));
  row.emplace_back(std::to_string(task.restarts));
}

// Caches the last summary: most tasks have the same hosts as the one before.
class HostSummaries {
 public:
  const std::string& of(const std::string& names) {
    if (names != names_ || summary_.empty()) summary_ = summarized_names(names_ = names);
    return summary_;
  }

 private:
  std::string names_;
  std::string summary_;
};

// A task of another user or machine: only its record, which is elsewhere, has its ranks and
// restarts.
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

std::string time_left_text(const TaskRecord& task) {
  if (!task.lost_in_ms) return "";
  return fmt::format(" for {} at most", format_duration(*task.lost_in_ms));
}

std::string elapsed_text(const TaskRecord& task, UnixMillis now) {
  const std::string text = format_duration(elapsed(task, now));
  return task.state == TaskState::lost ? ">=" + text : text;
}

std::string local_time(UnixMillis instant) {
  const std::time_t seconds = instant / 1000;
  std::tm broken_down{};
  ::localtime_r(&seconds, &broken_down);
  // Written by hand: for thousands of tasks, formatting would take as long as reading them.
  std::string text = std::to_string(broken_down.tm_year + 1900);
  const auto add = [&text](char separator, int number) {
    text += separator;
    text += static_cast<char>('0' + number / 10);
    text += static_cast<char>('0' + number % 10);
  };
  add('-', broken_down.tm_mon + 1);
  add('-', broken_down.tm_mday);
  add(' ', broken_down.tm_hour);
  add(':', broken_down.tm_min);
  add(':', broken_down.tm_sec);
  return text;
}

std::string summarized_names(const std::string& names) {
  const auto parts = split(names, ',');
  return summarize_hosts({parts.begin(), parts.end()});
}

UnixMillis now_on_the_wall() { return unix_time_ms(); }

std::string tasks_to_table(const std::vector<TaskRecord>& tasks, UnixMillis now,
                           const std::vector<HeldTask>& held) {
  TableRows rows = {heading};
  rows.reserve(1 + tasks.size() + held.size());
  HostSummaries summaries;
  for (const TaskRecord& task : tasks) {
    add_row(rows, task, summaries.of(task.hosts), task.started ? local_time(*task.started) : "-",
            elapsed_text(task, now));
    if (task.lost_in_ms)
      rows.back()[state_column] += fmt::format(" (lost in {})", format_duration(*task.lost_in_ms));
  }
  for (const HeldTask& task : held) rows.push_back(row_of(task, now));
  return table_text(std::move(rows));
}

std::string tasks_to_csv(const std::vector<TaskRecord>& tasks, UnixMillis now,
                         const std::vector<HeldTask>& held) {
  TableRows rows = {heading};
  rows.reserve(1 + tasks.size() + held.size());
  for (const TaskRecord& task : tasks)
    add_row(rows, task, task.hosts, task.started ? std::to_string(*task.started) : "",
            std::to_string(elapsed(task, now)));
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
