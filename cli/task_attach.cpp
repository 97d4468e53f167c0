// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "backends/posix/files.hpp"
#include "cli/adoption.hpp"
#include "cli/commands.hpp"
#include "cli/detachment.hpp"
#include "cli/state_directory.hpp"
#include "cli/talk.hpp"
#include "cli/task_control.hpp"
#include "cli/task_end.hpp"
#include "cli/task_view.hpp"

namespace train {

namespace {

// What the process that was to go on with a task reports.
constexpr std::string_view it_attends = "attends";
constexpr std::string_view another_attends = "another attends";

// What Ctrl-C says; a signal handler can make no text.
char last_words_of_view[512];

void leave_view(int) {
  const ssize_t ignored =
      ::write(STDERR_FILENO, last_words_of_view, std::strlen(last_words_of_view));
  (void)ignored;
  ::_exit(exit_code_of(ErrorClass::interrupted).value());
}

void say_on_interrupt(const std::string& task_id) {
  const std::string words =
      "\n" + talk_text(terminal_text("task {} goes on; to see it again, or stop it:\n"
                                     "  train task attach {}\n"
                                     "  train task kill {}",
                                     task_id, task_id, task_id));
  last_words_of_view[words.copy(last_words_of_view, sizeof last_words_of_view - 1)] = '\0';
  std::signal(SIGINT, leave_view);
}

// What the ranks print, until the task has ended or nobody attends it any more.
ExitCode view(const TaskAttachFlags& flags, SqliteTaskStore& store, TaskRecord task) {
  std::signal(SIGPIPE, SIG_IGN);
  say_on_interrupt(task.id);
  TaskViewing viewing{.choice = {}, .follow = true};
  auto& last = viewing.choice.lines.last;
  if (!flags.from_start) last = screen_lines();
  for (int attempt = flags.from_start ? 0 : task.restarts; attempt <= task.restarts; ++attempt) {
    if (attempt > 0 && !last) talk(terminal_text("attempt {}", attempt));
    const auto printed = print_attempt(viewing, store, task, attempt);
    if (!printed) return report(printed.error());
    if (!*printed) return ExitCode();
    last.reset();
  }
  return task.is_unattended ? tell_unattended(task) : tell_end(task);
}

// The supervisor that goes on with the task has the credentials of another terminal.
ExitCode lend_and_view(const TaskAttachFlags& flags, SqliteTaskStore& store, TaskRecord task) {
  if (const TerminalText words = lend_credentials(store.control_socket(task.id)); !words.empty())
    talk(words);
  return view(flags, store, std::move(task));
}

// In the process that is to go on with the task.
ExitCode attend(const std::string& task_id, Detachment& detachment) {
  auto adoption = Adoption::begin(task_id);
  if (!adoption) {
    if (adoption.error().error_class != ErrorClass::busy) return report(adoption.error());
    detachment.tell(std::string(another_attends));
    return exit_code_of(ErrorClass::busy);
  }
  const std::string log = adoption->store().launcher_log(task_id);
  const Ended ended = adoption->run([&](const TerminalText& words) {
    if (!words.empty()) talk(words);
    detachment.leave_terminal(std::string(it_attends), log);
  });
  if (!ended.last_words.empty()) talk(ended.last_words);
  if (ended.is_displaced) detachment.tell(std::string(another_attends));
  return ended.code;
}

}  // namespace

ExitCode task_attach_command(const TaskAttachFlags& flags) {
  std::string task_id;
  {
    auto store = open_task_store();
    if (!store) return report(store.error());
    auto task = (*store)->find(flags.task);
    if (!task) return report(task.error());
    if (is_final(task->state)) return tell_end(*task);
    if (!task->is_unattended) return lend_and_view(flags, **store, std::move(*task));
    std::vector<std::string> arguments = {"task", "attach", task->id};
    if (flags.from_start) arguments.emplace_back("--from-start");
    if (auto same = become_kept_program(**store, *task, arguments); !same)
      return report(same.error());
    task_id = task->id;
  }
  // The store is closed: it must not go through a fork.
  Detachment detachment;
  const auto code = detachment.fork([&](const std::string& told) {
    say_on_interrupt(task_id);
    auto store = open_task_store();
    if (!store) return report(store.error());
    auto task = (*store)->find(task_id);
    if (!task) return report(task.error());
    if (told != it_attends) return lend_and_view(flags, **store, std::move(*task));
    talk(terminal_text("task {} is attended again", task_id));
    return view(flags, **store, std::move(*task));
  });
  return code ? *code : attend(task_id, detachment);
}

}  // namespace train
