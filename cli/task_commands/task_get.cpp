// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "cli/commands/flags.hpp"
#include "cli/request/request.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "cli/task_commands/get_transfer.hpp"
#include "cli/task_commands/task_commands.hpp"
#include "cli/terminal/talk.hpp"
#include "launcher/task/rerun_request.hpp"

namespace train {

namespace {

struct TaskGetFlags {
  std::string task;
  std::string path;  ///< on the host; a relative path starts at the start directory of the rank
  std::string to;    ///< "-": standard output; empty: the current directory
  std::optional<int> trial;  ///< if the task is a search
  int rank = 0;
  bool force = false;  ///< overwrites existing files
};

constexpr std::string_view standard_output = "-";

std::string without_slashes_at_its_end(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// The request for the host; for a relative path it has the start directory of the rank, which the
// host resolves.
Result<get_talk::Start> wanted(const SqliteTaskStore& store, const TaskRecord& task,
                               const std::string& path) {
  if (path.size() > longest_get_path)
    return fail(ErrorClass::usage, fmt::format("a path has at most {} bytes, and this one {}",
                                               longest_get_path, path.size()));
  get_talk::Start start{path, {}, !task.context.directory.empty()};
  if (path.starts_with('/')) return start;
  const auto unknown = [&](const Error& why) {
    return fail(ErrorClass::no_input,
                fmt::format("where the ranks of task {} started is not on record: {}", task.id,
                            in_one_line(why)),
                "give the path from / on");
  };
  const auto text = store.read_launch(task.id);
  if (!text) return unknown(text.error());
  const auto kept = decode_rerun(*text);
  if (!kept) return unknown(kept.error());
  const auto experiment = kept->config.empty()
                              ? make_experiment(kept->overrides, ReadFor::checking)
                              : parse_experiment({kept->config, kept->experiment_text},
                                                 kept->overrides, ReadFor::checking);
  if (!experiment) return unknown(experiment.error());
  const std::string& directory = experiment->working_directory;
  if (start.in_context)
    start.directory = directory_in_context(directory);
  else if (directory.empty())
    start.directory = task.working_directory;
  else
    start.directory = without_slashes_at_its_end(
        (std::filesystem::path(task.working_directory) / directory).lexically_normal().string());
  return start;
}

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string last_name(const std::string& path) {
  const std::string whole = without_slashes_at_its_end(path);
  return whole.substr(whole.rfind('/') + 1);
}

Result<GetTarget> named_target(const std::string& to) {
  GetTarget target{".", last_name(to), IfThere::refuse};
  const std::string whole = without_slashes_at_its_end(to);
  if (to.ends_with('/'))
    target.folder = whole;
  else if (const std::size_t slash = whole.rfind('/'); slash != whole.npos)
    target.folder = whole.substr(0, std::max<std::size_t>(slash, 1));
  if (!is_directory(target.folder))
    return fail(ErrorClass::no_input, fmt::format("there is no directory '{}'", target.folder),
                "make it, or give another place");
  if (!is_entry_name(target.name))
    return fail(ErrorClass::usage, fmt::format("'{}' is no name of a file", target.name));
  return target;
}

Result<GetTarget> target_in(const std::string& directory, const std::string& path) {
  GetTarget target{without_slashes_at_its_end(directory), last_name(path), IfThere::refuse};
  if (is_entry_name(target.name)) return target;
  return fail(ErrorClass::usage, fmt::format("'{}' has no name that it could have here", path),
              "say what it is to be called: train task get TASK PATH NAME");
}

Result<GetTarget> target_of(const TaskGetFlags& flags) {
  const std::string to = flags.to.empty() ? "." : flags.to;
  auto target = is_directory(to) ? target_in(to, flags.path) : named_target(to);
  if (!target) return target;
  if (flags.force) target->if_there = IfThere::replace;
  struct stat status {};
  const std::string path = path_in(target->folder, target->name);
  if (!flags.force && ::lstat(path.c_str(), &status) == 0)
    return fail(ErrorClass::usage, fmt::format("'{}' is there already", path),
                "--force writes over it");
  return target;
}

ExitCode task_get_command(const TaskGetFlags& flags) {
  std::optional<GetTarget> target;
  if (flags.to != standard_output) {
    auto found = target_of(flags);
    if (!found) return report(found.error());
    target = std::move(*found);
  }
  auto store = open_task_store();
  if (!store) return report(store.error());
  const auto task = (*store)->find(flags.task);
  if (!task) return report(task.error());
  const auto where = read_rank_host(**store, *task, flags.trial, flags.rank);
  if (!where) return report(where.error());
  const auto start = wanted(**store, *task, flags.path);
  if (!start) return report(start.error());
  store->reset();  // the transfer may take long
  return transfer_results(*where, *start, target);
}

}  // namespace

void add_task_get(CLI::App& task, Choice& choice) {
  const auto flags = std::make_shared<TaskGetFlags>();
  CLI::App* get =
      task.add_subcommand("get", "Copy a file or folder that a rank has left")->group("Commands");
  add_task_name(*get, flags->task);
  get->add_option("PATH", flags->path,
                  "a file or folder there, from where the rank started, or from / on")
      ->type_name("")
      ->required()
      ->check(names("file", value_kind::unknown));
  get->add_option("TO", flags->to,
                  "its place here; else the current directory; - for standard output")
      ->type_name("")
      ->check(names("file"));
  get->add_option("--rank", flags->rank, "From the host of this rank; else of rank 0")
      ->type_name("N")
      ->check(whole_number(0, highest_rank));
  add_trial(*get, flags->trial);
  get->add_flag("--force", flags->force, "Overwrite existing files");
  get->footer(
      "Examples:\n"
      "  train task get k3wq checkpoints\n"
      "  train task get k3wq --rank 3 profile.json profiles/rank-3.json");
  get->callback([&choice, flags] { choice.run = [flags] { return task_get_command(*flags); }; });
}

}  // namespace train
