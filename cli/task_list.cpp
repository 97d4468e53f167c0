// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "cli/commands.hpp"
#include "cli/state_directory.hpp"
#include "cli/talk.hpp"
#include "cli/task_control.hpp"
#include "cli/task_hosts.hpp"
#include "cli/task_table.hpp"
#include "config_schema/fields/secrets.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/control/control_talk.hpp"
#include "launcher/record/task_json.hpp"

namespace train {

namespace {

std::string show(const std::vector<TaskRecord>& tasks, TaskListFlags::Format format) {
  switch (format) {
    case TaskListFlags::Format::json:
      return tasks_to_json(tasks);
    case TaskListFlags::Format::csv:
      return tasks_to_csv(tasks, now_on_the_wall());
    case TaskListFlags::Format::table:
      break;
  }
  return tasks_to_table(tasks, now_on_the_wall());
}

// As much of a table as a terminal shows at once.
std::string screenful(const std::string& table, const winsize& size) {
  std::vector<std::string> lines = split_lines(table);
  const auto rows = static_cast<std::size_t>(std::max<int>(size.ws_row, 3)) - 1;
  if (lines.size() > rows) {
    const std::size_t hidden = lines.size() - rows + 1;
    lines.resize(rows - 1);
    lines.push_back(fmt::format("and {} more", hidden));
  }
  std::string text;
  for (const std::string& line : lines) {
    std::size_t end = 0;
    for (int column = 0; end < line.size() && column < size.ws_col; ++column)
      end += std::max<std::size_t>(1, utf8_length(std::string_view(line).substr(end)));
    text += line.substr(0, end) + "\n";
  }
  return text;
}

// What is drawn next: on a terminal always, over what was drawn before; else what has changed, but
// for the time that has passed.
class Redrawing {
 public:
  std::string next(const std::vector<TaskRecord>& tasks) {
    winsize size{};
    const bool is_terminal = ::isatty(STDOUT_FILENO) == 1 &&
                             ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    if (is_terminal)
      return "\x1b[H\x1b[2J" + screenful(tasks_to_table(tasks, now_on_the_wall()), size);
    std::string facts = tasks_to_json(tasks);
    if (facts == shown_) return "";
    const bool is_first = shown_.empty();
    shown_ = std::move(facts);
    return (is_first ? "" : "\n") + tasks_to_table(tasks, now_on_the_wall());
  }

 private:
  std::string shown_;
};

// Whether nobody reads what is printed any more, after a while.
bool has_no_reader_after(std::chrono::milliseconds pause) {
  pollfd out = {STDOUT_FILENO, 0, 0};
  return ::poll(&out, 1, static_cast<int>(pause.count())) > 0;
}

ExitCode watch_tasks(SqliteTaskStore& store, bool all) {
  constexpr std::chrono::milliseconds pause{1'000};
  std::signal(SIGPIPE, SIG_IGN);
  Redrawing redrawing;
  do {
    const auto tasks = store.list(all);
    if (!tasks) return report(tasks.error());
    const auto passed = pass_on(redrawing.next(*tasks));
    if (!passed) return report(passed.error());
    if (!*passed) return ExitCode();
  } while (!has_no_reader_after(pause));
  return ExitCode();
}

}  // namespace

ExitCode task_list_command(const TaskListFlags& flags) {
  auto store = open_task_store();
  if (!store) return report(store.error());
  if (flags.watch) return watch_tasks(**store, flags.all);
  const auto tasks = (*store)->list(flags.all);
  if (!tasks) return report(tasks.error());
  return answer(show(*tasks, flags.format));
}

ExitCode task_show_command(const TaskShowFlags& flags) {
  auto store = open_task_store();
  if (!store) return report(store.error());
  auto task = (*store)->find(flags.task);
  if (!task) return report(task.error());
  task->config_text = without_secrets(task->config_text);  // earlier versions kept them
  task->unsettled_hosts = names_of_unsettled_hosts(**store, *task);
  Result<std::optional<ControlStatus>> now;
  if (!is_final(task->state)) now = ask_now((*store)->control_socket(task->id));
  if (!flags.json) return answer(task_to_text(*task, now_on_the_wall(), describe_now(now).text()));
  if (!now) talk(terminal_text(now.error()));
  return answer(task_to_json(*task, now && *now ? control_status_json(**now) : std::string()));
}

}  // namespace train
