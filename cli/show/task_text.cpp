// SPDX-License-Identifier: Apache-2.0
#include "cli/show/task_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cli/show/rank_results.hpp"
#include "cli/show/task_picture.hpp"
#include "cli/show/task_table.hpp"
#include "cli/terminal/table.hpp"
#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/text/duration.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

std::string next_line(const TaskRecord& task, const std::vector<RecordedEvent>& events) {
  const std::vector<std::string> commands = next_commands(task, events);
  return commands.empty() ? "" : fmt::format("next       {}\n", fmt::join(commands, "; "));
}

std::string state_lines(const TaskRecord& task, const std::vector<RecordedEvent>& events) {
  std::string text;
  if (task.exit_code) text += fmt::format("exit code  {}\n", *task.exit_code);
  if (!task.cause.empty())
    text += fmt::format("cause      {}{}{}\n", task.error_class,
                        task.error_class.empty() ? "" : ": ", escaped(task.cause));
  if (task.is_unattended)
    text += fmt::format(
        "cause      its launcher (process {}) has died{}, and its ranks may go on{}: {} {}\n",
        task.launcher_pid, task.state == TaskState::stopping ? " while it stopped it" : "",
        time_left_text(task),
        task.state == TaskState::stopping ? "train task kill" : "train task attach", task.id);
  if (!task.unsettled_hosts.empty())
    text += fmt::format("left on    {}: not known to be clean; train task kill {} asks once more\n",
                        escaped(summarize_hosts(task.unsettled_hosts)), task.id);
  return text + next_line(task, events);
}

std::string context_line(const ContextRecord& context) {
  if (context.directory.empty()) return "";
  std::string line = "context    " + escaped(context.directory);
  if (!context.sha256.empty())
    line += fmt::format(": {} file{}, {} bytes, sha256 {:.12}", context.files,
                        context.files == 1 ? "" : "s", context.bytes, context.sha256);
  return line + "\n";
}

std::string commit_line(const GitRecord& git) {
  if (git.commit.empty()) return "";
  std::string line = "commit     " + git.commit;
  if (!git.is_dirty) line += ", maybe with changes";
  if (git.is_dirty.value_or(false)) line += ", with changes";
  return line + "\n";
}

// "loss 0.25, step 100", of the last attempt that has reported.
std::string metrics_line(const TaskRecord& task) {
  const auto last = std::find_if(task.attempts.rbegin(), task.attempts.rend(),
                                 [](const AttemptRecord& each) { return each.reports > 0; });
  if (last == task.attempts.rend()) return "";
  std::string values;
  if (!last->last_report.empty()) values = "; rank 0: " + escaped_and_shortened(last->last_report);
  return fmt::format("metrics    {} report{}{}\n", last->reports, last->reports == 1 ? "" : "s",
                     values);
}

std::string head_of(const TaskRecord& task, const std::vector<RecordedEvent>& events,
                    UnixMillis now, const std::string& news) {
  std::string text = fmt::format("task       {}\nname       {}\nstate      {}\n", task.id,
                                 escaped(task.name), shown_state(task));
  text += news + state_lines(task, events);
  text += fmt::format(
      "slots      {}\nhosts      {}\nranks      {}\nuser       {}\ncreated    {}\n"
      "started    {}\nelapsed    {}\n",
      task.slots, escaped(summarized_names(task.hosts)), ranks_text(task), escaped(task.user),
      local_time(task.created), task.started ? local_time(*task.started) : "-",
      elapsed_text(task, now));
  text += metrics_line(task);
  text += fmt::format("directory  {}\nlogs       {}\n", escaped(task.working_directory),
                      task.log_directory);
  return text + context_line(task.context) + commit_line(task.git);
}

// How many of the first and last entries are shown of a long list.
constexpr std::size_t first_attempts = 1;
constexpr std::size_t last_attempts = 4;
constexpr std::size_t first_events = 3;
constexpr std::size_t last_events = 9;

// The entries that are left out between the first and the last of `count`.
struct Gap {
  std::size_t begin = 0;
  std::size_t size = 0;
};
Gap gap_in(std::size_t count, std::size_t first, std::size_t last) {
  return count <= first + last + 1 ? Gap() : Gap{first, count - first - last};
}

std::string gap_line(const Gap& gap, const char* what) {
  return fmt::format("... {} {} are not shown here; --json has all\n", gap.size, what);
}

// Lines below an attempt: what ended it, and what log policies found in it.
std::string attempt_remarks(const AttemptRecord& attempt, const TaskRecord& task) {
  std::string text;
  if (!attempt.cause.empty() && attempt.cause != task.cause)
    text += fmt::format("         {}\n", escaped(attempt.cause));
  for (const std::string& found : attempt.log_policies)
    text += fmt::format("         log policy: {}\n", escaped_and_shortened(found));
  return text;
}

std::vector<std::string> attempt_row(const AttemptRecord& attempt, UnixMillis now) {
  const UnixMillis lasted = attempt.ended.value_or(now) - attempt.started;
  return {std::to_string(attempt.number), local_time(attempt.started),
          attempt.ended ? local_time(*attempt.ended) : "-",
          format_duration(std::max<UnixMillis>(0, lasted)), summarized_names(attempt.hosts)};
}

std::string attempts_of(const TaskRecord& task, UnixMillis now) {
  if (task.attempts.empty()) return "";
  TableRows rows = {{"ATTEMPT", "BEGAN", "ENDED", "LASTED", "HOSTS"}};
  for (const AttemptRecord& attempt : task.attempts) rows.push_back(attempt_row(attempt, now));
  const std::string table = table_text(std::move(rows));
  const std::vector<std::string> lines = split_lines(table);
  const Gap gap = gap_in(task.attempts.size(), first_attempts, last_attempts);
  std::string text = "\n" + lines.front() + "\n";
  for (std::size_t i = 0; i < task.attempts.size(); ++i) {
    if (gap.size > 0 && i == gap.begin) {
      text += gap_line(gap, "attempts");
      i += gap.size;
    }
    text += lines[i + 1] + "\n" + attempt_remarks(task.attempts[i], task);
  }
  return text;
}

// Formats lines with the time, and with the date if it differs from the line before.
class TimeLine {
 public:
  void add(const RecordedEvent& event) {
    constexpr std::size_t day_width = 10;  // "2026-11-24"
    std::string day;
    std::string time = "-";
    if (event.at) {
      const std::string at = local_time(*event.at);
      day = at.substr(0, day_width);
      time = at.substr(day_width + 1);
      if (std::exchange(day_, day) == day) day.clear();
    }
    text_ += fmt::format("{:<10}  {:<8}  {}\n", day, time, escaped_and_shortened(event.words));
  }
  void add_line(const std::string& line) { text_ += line; }
  std::string take() { return std::move(text_); }

 private:
  std::string day_;
  std::string text_;
};

// Whether an event is shown. The begin of a launch is left out if it followed the creation of the
// task at once; it comes later if the task has waited for its slots.
bool is_told(const std::vector<RecordedEvent>& events, std::size_t number) {
  constexpr UnixMillis at_once = 1'000;
  const RecordedEvent& event = events[number];
  if (event.what != RecordedEvent::What::supervised || number != 1) return true;
  return event.at.value_or(0) - events.front().at.value_or(0) >= at_once;
}

std::string events_of(const std::vector<RecordedEvent>& events) {
  std::vector<const RecordedEvent*> told;
  for (std::size_t i = 0; i < events.size(); ++i)
    if (is_told(events, i)) told.push_back(&events[i]);
  if (told.empty()) return "";
  const Gap gap = gap_in(told.size(), first_events, last_events);
  TimeLine line;
  line.add_line("\nDATE        TIME      EVENT\n");
  for (std::size_t i = 0; i < told.size(); ++i) {
    if (gap.size > 0 && i == gap.begin) {
      line.add_line(gap_line(gap, "events"));
      i += gap.size;
    }
    line.add(*told[i]);
  }
  return line.take();
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

std::vector<std::string> next_commands(const TaskRecord& task,
                                       const std::vector<RecordedEvent>& events) {
  if (!is_final(task.state) || task.state == TaskState::succeeded) return {};
  std::vector<std::string> commands;
  if (!task.attempts.empty()) {
    commands.push_back("train task logs " + task.id);
    const RankRecord* const culprit = failed_rank(task.ranks, events);
    if (culprit != nullptr) commands.back() += fmt::format(" --rank {}", culprit->rank);
    commands.back() += " --tail 50";
  }
  commands.push_back("train task rerun " + task.id);
  return commands;
}

std::string task_to_text(const TaskRecord& task, const std::vector<RecordedEvent>& events,
                         UnixMillis now, const std::string& news, const TextOptions& options) {
  std::string text = head_of(task, events, now, news) + attempts_of(task, now) + events_of(events);
  if (task.ranks.empty()) return text;
  // Ranks get the rest of the screen, at least this many rows.
  constexpr std::size_t least_rows = 16;
  const auto height = static_cast<std::size_t>(std::max(24, options.height));
  text += "\n" + picture_to_text(draw_task(task.ranks, height / 4), options) + "\n";
  const std::size_t left = height - std::min(height, lines_of(text));
  return text + rank_results_to_text(task.ranks, std::max(left, least_rows));
}

}  // namespace train
