// SPDX-License-Identifier: Apache-2.0
#include "cli/task_commands/task_command.hpp"

#include "cli/task_commands/task_commands.hpp"

namespace train {

void add_task_names(CLI::App& command, std::vector<std::string>& tasks, const char* kind) {
  command.add_option("TASK", tasks, "their ids in 'train task list', or the beginnings of them")
      ->type_name("")
      ->check(names("task", kind));
}

void add_task(CLI::App& app, Choice& choice) {
  CLI::App* task = app.add_subcommand("task", "See and stop tasks");
  task->group("Commands");
  task->require_subcommand(1);
  for (auto* add : {add_task_list, add_task_show, add_task_report, add_task_best, add_task_logs,
                    add_task_attach, add_task_wait, add_task_kill, add_task_rerun, add_task_exec,
                    add_task_get, add_task_rm, add_task_prune})
    add(*task, choice);
  task->footer(
      "Examples:\n"
      "  train task list\n"
      "  train task logs k3wq -f");  // last: subcommands would inherit it
}

}  // namespace train
