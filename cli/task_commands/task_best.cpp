// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "cli/commands/flags.hpp"
#include "cli/show/search_of_task.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "cli/task_commands/task_commands.hpp"
#include "cli/terminal/talk.hpp"
#include "config_schema/yaml/yaml_document.hpp"
#include "config_schema/yaml/yaml_writer.hpp"
#include "launcher/search/metric_value.hpp"

namespace train {

namespace {

struct TaskBestFlags {
  std::string task;
  bool only_hyperparameters = false;
};

// JSON is a subset of YAML, so the YAML reader parses it.
ExitCode print_yaml(const nlohmann::ordered_json& value) {
  const auto read = read_yaml({"the best trial", value.dump()}, ErrorClass::bug);
  return read ? answer(yaml_text(**read, YamlComments::none)) : report(read.error());
}

ExitCode task_best_command(const TaskBestFlags& flags) {
  auto store = open_task_store();
  if (!store) return report(store.error());
  const auto task = (*store)->find(flags.task);
  if (!task) return report(task.error());
  const auto search = search_of_task(**store, *task);
  if (!search) return report(search.error());
  if (!*search) return report(no_search(*task));
  const auto best = best_of(**search);
  if (!best) return report(no_report(*task, **search));
  const TrialRecord& trial = (*search)->trials[static_cast<std::size_t>(best->trial)];
  const auto hyperparameters = nlohmann::json::parse(trial.hyperparameters_json);
  if (flags.only_hyperparameters) return print_yaml({{"hyperparameters", hyperparameters}});
  return print_yaml({{"trial", best->trial},
                     {"step", json_of_step(best->step)},
                     {(*search)->config.metric, best->metric},
                     {"hyperparameters", hyperparameters}});
}

}  // namespace

void add_task_best(CLI::App& task, Choice& choice) {
  const auto flags = std::make_shared<TaskBestFlags>();
  CLI::App* best =
      task.add_subcommand("best", "Print the best trial of a search, as YAML")->group("Commands");
  add_task_name(*best, flags->task);
  best->add_flag("--hyperparameters", flags->only_hyperparameters,
                 "Print the hyperparameters alone, as an experiment takes them");
  best->footer(
      "Examples:\n"
      "  train task best k3wq --hyperparameters > best.yaml");
  best->callback([&choice, flags] { choice.run = [flags] { return task_best_command(*flags); }; });
}

}  // namespace train
