// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/state_directory.hpp"
#include "cli/talk.hpp"
#include "cli/task_control.hpp"
#include "cli/task_events.hpp"
#include "cli/task_hosts.hpp"
#include "cli/task_table.hpp"
#include "cli/task_text.hpp"
#include "cli/text_options.hpp"
#include "config_schema/fields/secrets.hpp"
#include "launcher/control/control_talk.hpp"
#include "launcher/record/task_json.hpp"

namespace train {

ExitCode task_show_command(const TaskShowFlags& flags) {
  auto store = open_task_store();
  if (!store) return report(store.error());
  auto task = (*store)->find(flags.task);
  if (!task) return report(task.error());
  task->config_text = without_secrets(task->config_text);  // earlier versions kept them
  task->unsettled_hosts = names_of_unsettled_hosts(**store, *task);
  Result<std::optional<ControlStatus>> now;
  if (!is_final(task->state)) now = ask_now((*store)->control_socket(task->id));
  if (now && *now) take_usage(*task, **now);
  const std::vector<RecordedEvent> events = events_of(**store, *task);
  if (!flags.json)
    return answer(
        task_to_text(*task, events, now_on_the_wall(), describe_now(now).text(), text_options()));
  if (!now) talk(terminal_text(now.error()));
  return answer(
      task_to_json(*task, events, now && *now ? control_status_json(**now) : std::string()));
}

}  // namespace train
