// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "backends/posix/descriptor.hpp"
#include "cli/commands/flags.hpp"
#include "cli/commands/launch.hpp"
#include "cli/request/user_file.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "cli/task_commands/task_commands.hpp"
#include "cli/terminal/talk.hpp"
#include "config_schema/fields/secrets.hpp"
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

tl::unexpected<Error> cannot(const std::string& task_id, const std::string& why, std::string hint) {
  return fail(ErrorClass::no_input,
              fmt::format("task {} cannot be launched again: {}", task_id, why), std::move(hint));
}

bool is_redacted(const RerunRequest& kept, const std::string& text) {
  return kept.has_redactions && text.find("(redacted)") != text.npos;
}

// The experiment with its secrets. They are not kept, so they are read from its file if that is
// unchanged.
Result<std::string> whole_experiment(const std::string& task_id, const RerunRequest& kept) {
  if (!is_redacted(kept, kept.experiment_text)) return kept.experiment_text;
  const std::string what = fmt::format("secrets of '{}' are not kept, and ", kept.config);
  auto text = kept.config == "-" ? Result<std::string>(fail(ErrorClass::no_input, "it was no file"))
                                 : read_input(kept.config, "experiment");
  if (!text)
    return cannot(task_id, what + text.error().diagnostics.front().message,
                  "launch it as it was launched before");
  if (without_secrets(*text) != kept.experiment_text)
    return cannot(task_id, what + "the file has changed since",
                  fmt::format("train launch {} launches it as it is now", kept.config));
  return text;
}

// The same for the defaults that the user's file had.
Result<ExperimentDefaults> whole_defaults(const std::string& task_id, const RerunRequest& kept) {
  const ExperimentDefaults& known = kept.overrides.defaults;
  if (!is_redacted(kept, known.text)) return known;
  auto now = read_user_file();
  if (!now) return tl::make_unexpected(now.error());
  if (!*now || without_secrets((*now)->defaults.text) != known.text)
    return cannot(task_id,
                  fmt::format("secrets of '{}' are not kept, and its defaults have changed since",
                              known.file),
                  "launch it as it was launched before");
  return std::move((*now)->defaults);
}

Result<void> check_withheld(const std::string& task_id, const RerunRequest& kept,
                            const std::vector<std::string>& settings) {
  for (const std::string& key : kept.withheld) {
    const bool is_given = std::any_of(settings.begin(), settings.end(), [&](const auto& setting) {
      return setting.starts_with(key + "=");
    });
    if (!is_given)
      return cannot(task_id,
                    fmt::format("the value of --set {} was a secret, and is not kept", key),
                    fmt::format("give it again: train task rerun {} --set {}=...", task_id, key));
  }
  return {};
}

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
    return cannot(task->id, text.error().diagnostics.front().message,
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
    return report(cannot(task_id,
                         fmt::format("its directory '{}' cannot be used: {}", kept->directory,
                                     system_reason(errno)),
                         "")
                      .value());
  if (const auto given = check_withheld(task_id, *kept, flags.settings); !given)
    return report(given.error());
  auto experiment = whole_experiment(task_id, *kept);
  if (!experiment) return report(experiment.error());
  auto defaults = whole_defaults(task_id, *kept);
  if (!defaults) return report(defaults.error());

  LaunchFlags launch;
  launch.detach = flags.detach;
  launch.strict = flags.strict;
  launch.wait = flags.wait;
  if (flags.detach) launch.tee.mode = Tee::Mode::none;
  RequestFlags& request = launch.request;
  request.config = kept->config;
  request.config_text = std::move(*experiment);
  request.host_source = kept->host_source;
  request.host_list = kept->host_list;
  request.host_file = kept->host_file;
  request.host_text = kept->host_text;
  request.include = kept->include;
  request.exclude = kept->exclude;
  request.transport = kept->transport;
  request.context = kept->context;
  request.slots = kept->overrides.slots;
  request.global_batch = kept->overrides.global_batch;
  request.max_runtime = kept->overrides.max_runtime;
  request.settings = kept->overrides.settings;
  request.defaults = std::move(*defaults);
  request.settings.insert(request.settings.end(), flags.settings.begin(), flags.settings.end());
  request.environment = kept->environment;
  request.command = kept->overrides.command;
  request.fills_hosts = kept->overrides.workers.has_value();
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
