// SPDX-License-Identifier: Apache-2.0
#include "cli/task_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "backends/event_loop/loop.hpp"
#include "backends/posix/proc.hpp"
#include "cli/table.hpp"
#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "launcher/run/outcome.hpp"

namespace train {

namespace {

const std::vector<std::string> heading = {"ID",    "NAME", "STATE",   "SLOTS",   "HOSTS",
                                          "RANKS", "USER", "STARTED", "ELAPSED", "RESTARTS"};

std::vector<std::string> split_names(const std::string& names) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= names.size()) {
    const std::size_t comma = std::min(names.find(',', begin), names.size());
    parts.push_back(names.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

std::string local_time(UnixMillis instant) {
  const std::time_t seconds = instant / 1000;
  std::tm broken_down{};
  ::localtime_r(&seconds, &broken_down);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &broken_down);
  return text;
}

UnixMillis elapsed(const TaskRecord& task, UnixMillis now) {
  return std::max<UnixMillis>(0, task.ended.value_or(now) - task.started.value_or(task.created));
}

// Nobody saw the end of a lost task, so its time is only known to be at least this.
std::string elapsed_text(const TaskRecord& task, UnixMillis now) {
  const std::string text = format_duration(elapsed(task, now));
  return task.state == TaskState::lost ? ">=" + text : text;
}

std::vector<std::string> row_of(const TaskRecord& task, UnixMillis now) {
  return {task.id,
          task.name,
          std::string(shown_state(task)),
          task.slots,
          summarize_hosts(split_names(task.hosts)),
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

std::string how_ended(const RankRecord& rank) {
  std::string text = "-";
  if (rank.exit_code) text = fmt::format("exit {}", *rank.exit_code);
  if (rank.signal) text = signal_name(*rank.signal);
  return rank.stopped ? text + " (stopped by train)" : text;
}

std::string memory_text(const std::optional<std::int64_t>& bytes) {
  constexpr double mib = 1u << 20;
  constexpr double gib = 1u << 30;
  if (!bytes) return "-";
  const auto size = static_cast<double>(*bytes);
  return size < gib ? fmt::format("{:.1f} MiB", size / mib) : fmt::format("{:.1f} GiB", size / gib);
}

constexpr const char* rank_columns = "{:>6}  {:<20}  {:<10}  {:>7}  {:>10}  {:>10}  {}\n";

std::string line_of(const RankRecord& rank) {
  return fmt::format(rank_columns, rank.rank, escaped(rank.host),
                     rank.slots.empty() ? "-" : rank.slots,
                     rank.cpu_ms ? format_duration(*rank.cpu_ms) : "-", memory_text(rank.memory),
                     memory_text(rank.memory_peak), how_ended(rank));
}

}  // namespace

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
  return table_text(rows);
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

namespace {

std::string context_line(const ContextRecord& context) {
  if (context.directory.empty()) return "";
  std::string line = "context    " + escaped(context.directory);
  if (!context.sha256.empty())
    line += fmt::format(": {} file{}, {} bytes, sha256 {:.12}", context.files,
                        context.files == 1 ? "" : "s", context.bytes, context.sha256);
  return line + "\n";
}

}  // namespace

namespace {

std::string commit_line(const GitRecord& git) {
  if (git.commit.empty()) return "";
  std::string line = "commit     " + git.commit;
  if (!git.is_dirty) line += ", maybe with changes";
  if (git.is_dirty.value_or(false)) line += ", with changes";
  return line + "\n";
}

// "loss 0.25, step 100", of the last attempt that has said anything.
std::string metrics_line(const TaskRecord& task) {
  const auto last = std::find_if(task.attempts.rbegin(), task.attempts.rend(),
                                 [](const AttemptRecord& each) { return each.reports > 0; });
  if (last == task.attempts.rend()) return "";
  std::string values;
  if (!last->last_report.empty()) values = "; rank 0: " + escaped_and_shortened(last->last_report);
  return fmt::format("metrics    {} report{}{}\n", last->reports, last->reports == 1 ? "" : "s",
                     values);
}

}  // namespace

std::string task_to_text(const TaskRecord& task, UnixMillis now, const std::string& news) {
  std::string text = fmt::format(
      "task       {}\nname       {}\nstate      {}\nslots      {}\nhosts      {}\nranks      {}\n"
      "user       {}\ncreated    {}\nstarted    {}\nelapsed    {}\n",
      task.id, escaped(task.name), shown_state(task), task.slots,
      escaped(summarize_hosts(split_names(task.hosts))), task.world_size, escaped(task.user),
      local_time(task.created), task.started ? local_time(*task.started) : "-",
      elapsed_text(task, now));
  text += news;
  text += metrics_line(task);
  if (task.exit_code) text += fmt::format("exit code  {}\n", *task.exit_code);
  if (!task.cause.empty())
    text += fmt::format("cause      {}{}{}\n", task.error_class,
                        task.error_class.empty() ? "" : ": ", escaped(task.cause));
  if (task.is_unattended)
    text += fmt::format("cause      its launcher (process {}) has died{} {}\n", task.launcher_pid,
                        task.state == TaskState::stopping
                            ? " while it stopped it: train task kill"
                            : ", and its ranks may go on: train task attach",
                        task.id);
  if (!task.unsettled_hosts.empty())
    text += fmt::format("left on    {}: not known to be clean; train task kill {} asks once more\n",
                        escaped(summarize_hosts(task.unsettled_hosts)), task.id);
  text += fmt::format("directory  {}\nlogs       {}\n", escaped(task.working_directory),
                      task.log_directory);
  text += context_line(task.context) + commit_line(task.git) + "\n";
  text += fmt::format(rank_columns, "RANK", "HOST", "SLOTS", "CPU", "MEMORY", "PEAK", "ENDED");
  for (const RankRecord& rank : task.ranks) text += line_of(rank);
  return text;
}

}  // namespace train
