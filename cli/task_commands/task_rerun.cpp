// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "backends/posix/descriptor.hpp"
#include "cli/commands/flags.hpp"
#include "cli/commands/launch.hpp"
#include "cli/request/kept_request.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "cli/task_commands/task_commands.hpp"
#include "cli/terminal/talk.hpp"
#include "launcher/task/rerun_request.hpp"

namespace train {

namespace {

struct TaskRerunFlags {
  std::string task;
  std::vector<std::string> settings;  ///< --set, in order; applied after those of the task
  bool detach = false;
  bool strict = false;
  std::optional<std::string> wait;  ///< as `LaunchFlags::wait`
};

// The kept request, and the record of its task.
struct Kept {
  TaskRecord task;
  RerunRequest request;
};

Result<Kept> read_kept(const std::string& prefix) {
  auto store = open_task_store();
  if (!store) return tl::make_unexpected(store.error());
  const auto task = (*store)->find(prefix);
  if (!task) return tl::make_unexpected(task.error());
  const auto text = (*store)->read_launch(task->id);
  if (!text)
    return cannot_launch(task->id, text.error().diagnostics.front().message,
                         fmt::format("train task show {} --json has its configuration", task->id));
  auto request = decode_rerun(*text);
  if (!request) return tl::make_unexpected(request.error());
  return Kept{*task, std::move(*request)};
}

void report_retaken_values(const TaskRecord& task) {
  TerminalText said = terminal_text("launching again what task {} was", task.id);
  if (!task.context.directory.empty())
    said += terminal_text(", with the context '{}' as it is now", task.context.directory);
  talk(said + terminal_text("; variables of the environment have the values that they have here"));
}

ExitCode task_rerun_command(const TaskRerunFlags& flags) {
  auto found = read_kept(flags.task);
  if (!found) return report(found.error());
  const std::string& task_id = found->task.id;
  const RerunRequest* const kept = &found->request;
  if (::chdir(kept->directory.c_str()) != 0)
    return report(cannot_launch(task_id,
                                fmt::format("its directory '{}' cannot be used: {}",
                                            kept->directory, system_reason(errno)),
                                "")
                      .value());
  auto request = flags_of_kept(task_id, *kept, flags.settings);
  if (!request) return report(request.error());

  LaunchFlags launch;
  launch.detach = flags.detach;
  launch.strict = flags.strict;
  launch.wait = flags.wait;
  if (flags.detach) launch.tee.mode = Tee::Mode::none;
  launch.request = std::move(*request);
  report_retaken_values(found->task);
  return launch_command(launch);
}

}  // namespace

void add_task_rerun(CLI::App& task, Choice& choice) {
  const auto flags = std::make_shared<TaskRerunFlags>();
  CLI::App* rerun =
      task.add_subcommand("rerun", "Launch the same once more, as a new task")->group("Commands");
  add_task_name(*rerun, flags->task);
  add_settings(*rerun, flags->settings);
  rerun->add_flag("-d,--detach", flags->detach,
                  "Return once the ranks have started; print the task's id");
  rerun->add_flag("--strict", flags->strict,
                  "Fail a search of which any trial has failed, and not only all");
  const auto wait = std::make_shared<std::string>();
  add_wait(*rerun, *wait);
  rerun->footer(
      "Examples:\n"
      "  train task rerun k3wq\n"
      "  train task rerun k3wq --set hyperparameters.lr=0.01 -d --wait=10m");
  rerun->callback([&choice, flags, wait] {
    flags->wait = wait_of(*wait);
    choice.run = [flags] { return task_rerun_command(*flags); };
  });
}

}  // namespace train
