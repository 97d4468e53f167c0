// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/measuring_task.hpp"

#include <fmt/format.h>

#include <utility>

#include "backends/log/log_reader.hpp"
#include "cli/commands/launch.hpp"
#include "cli/terminal/talk.hpp"
#include "launcher/placement/refusal.hpp"

namespace train {

namespace {

// All output of rank 0 on standard output.
Result<std::string> output_of(const TaskRecord& task, std::size_t longest) {
  LogDirectory directory(task.log_directory);
  if (auto listed = directory.refresh(); !listed) return tl::make_unexpected(listed.error());
  LogReader reader(directory, rank_log_file(task.log_directory, 0));
  std::string text;
  while (text.size() <= longest) {
    const auto next = reader.peek();
    if (!next) return tl::make_unexpected(next.error());
    if (!*next) break;
    const bool is_output = (*next)->record.stream == OutputStream::out;
    const auto bytes = reader.take();
    if (!bytes) return tl::make_unexpected(bytes.error());
    if (*bytes && is_output) text += **bytes;
  }
  return text;
}

// Only the last line counts: a session may print a greeting before.
std::string last_line(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

RequestFlags flags_for(const MeasuringTask& task) {
  RequestFlags flags;
  static_cast<HostFlags&>(flags) = task.flags;
  // Ranks find `train` through PATH. Their agent resolves the program with another PATH, so a shell
  // is used.
  flags.command = {"/bin/sh", "-c", "exec " + task.command};
  flags.slots = task.slots;
  flags.settings = task.settings;
  flags.settings.insert(flags.settings.end(), {"name=check", "max_restarts=0"});
  flags.fills_hosts = false;
  return flags;
}

}  // namespace

Result<Measured> run_measuring(const MeasuringTask& task, std::optional<StopSignals>& signals) {
  LaunchFlags launch;
  launch.request = flags_for(task);
  launch.tee.mode = Tee::Mode::none;
  auto request = load_request(launch.request, ReadFor::launching);
  if (!request) return tl::make_unexpected(request.error());
  request->inventory.hosts = task.hosts;
  request->inventory.warnings.clear();  // already reported
  request->user_variables.of_experiment = task.environment;
  auto plan = make_plan(request->experiment, request->inventory, {}, request->user_variables);
  if (!plan) return tl::make_unexpected(to_error(plan.error()));
  const auto launched = launch_to_the_end(*request, *plan, launch, {}, signals);
  if (!launched) return tl::make_unexpected(launched.error());
  if (!launched->ended.last_words.empty()) talk(launched->ended.last_words);
  if (launched->ended.code.value() != 0)
    return fail(ErrorClass::host,
                fmt::format("the task that measures them has failed (exit {})",
                            launched->ended.code.value()),
                fmt::format("'train task logs {}' shows why", launched->task.id));
  auto text = output_of(launched->task, task.longest_line);
  if (!text) return tl::make_unexpected(text.error());
  return Measured{std::move(*plan), last_line(std::move(*text))};
}

}  // namespace train
