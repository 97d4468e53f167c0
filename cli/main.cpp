// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <iostream>
#include <system_error>

#include "backends/posix/child.hpp"
#include "backends/posix/descriptor.hpp"
#include "backends/posix/limits.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/licenses.hpp"
#include "cli/commands/user_flags.hpp"
#include "cli/jobs/job_relay.hpp"
#include "cli/request/user_file.hpp"
#include "cli/surroundings/build_info.hpp"
#include "cli/task_commands/task_command.hpp"
#include "cli/terminal/talk.hpp"
#include "cli/terminal/usage_error.hpp"

namespace train {

namespace {

// Takes what follows `--`, the command of the ranks, off the arguments.
std::vector<std::string> take_command(std::vector<std::string>& arguments) {
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  if (separator == arguments.end()) return {};
  std::vector<std::string> command(separator + 1, arguments.end());
  arguments.erase(separator, arguments.end());
  return command;
}

constexpr const char* examples =
    "Examples:\n"
    "  train launch experiment.yaml                       on this machine\n"
    "  train launch experiment.yaml -H gpu-a:8,gpu-b:8    over SSH\n"
    "  train launch -n 4 -- python3 train.py              without a file\n"
    "  train plan experiment.yaml                         only show what would run where\n"
    "  train config check experiment.yaml                 only say what is wrong with it\n"
    "\n"
    "train COMMAND --help describes a command, train-COMMAND(1) says more; train(1) lists all "
    "pages.";

// This parse() of CLI11 takes the arguments in reverse order.
void parse(CLI::App& app, const std::vector<std::string>& arguments) {
  app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
}

// Reads the user's file, and parses the command line again with what the file adds to it.
Result<void> take_user_file(CLI::App& app, std::vector<std::string> arguments, Choice& choice) {
  const auto file = read_user_file();
  if (!file) return tl::make_unexpected(file.error());
  if (!*file) return {};
  const auto words = words_of_user(app, **file);
  if (!words) return tl::make_unexpected(words.error());
  choice.defaults = (*file)->defaults;
  arguments.insert(arguments.end(), words->begin(), words->end());
  try {
    parse(app, arguments);
  } catch (const CLI::ParseError& error) {
    return tl::make_unexpected(
        with_context(usage_error(app, error, arguments), "with the options of your config.yaml"));
  }
  return {};
}

// Runs a command on a task where its launcher is, if that is in a job of Slurm.
std::optional<ExitCode> relayed_to_job(const CLI::App& app, std::vector<std::string> arguments,
                                       const Choice& choice) {
  const CLI::App* command = app.get_subcommands().front();
  if (command->get_name() == "task") command = command->get_subcommands().front();
  const CLI::Option* task = command->get_option_no_throw("TASK");
  if (task == nullptr || task->results().empty()) return std::nullopt;
  if (task->results().size() > 1) return refuse_among_others(task->results());
  if (choice.has_taken_command && !choice.command.empty()) {
    arguments.emplace_back("--");
    arguments.insert(arguments.end(), choice.command.begin(), choice.command.end());
  }
  return relay_to_job(command->get_name(), task->results().front(), arguments);
}

ExitCode run(std::vector<std::string> arguments) {
  if (const auto enough = check_stack_limit(); !enough) return report(enough.error());
  Choice choice;
  choice.command = take_command(arguments);

  CLI::App app("Launches ranked training processes on hosts that have nothing but sshd.", "train");
  app.set_version_flag("--version", build_info, "Print the version, its commit and libraries");
  // Thrown as the version is: app.exit() below prints it on stdout.
  app.add_flag_callback(
      "--licenses", [] { throw CLI::CallForVersion(std::string(licenses()), 0); },
      "Print the licenses of train and of the libraries in it, and exit");
  app.require_subcommand(1);
  app.get_formatter()->label("SUBCOMMAND", "COMMAND ...");
  app.get_formatter()->label("REQUIRED", "");
  for (auto* add : {add_launch, add_plan, add_report, add_measuring, add_once_per_host, add_task,
                    add_hosts_commands, add_check, add_forward, add_doctor, add_config_commands,
                    add_completion, add_agent})
    add(app, choice);
  app.footer(examples);  // last: later options would inherit it

  // To CLI11 that is a flag without a value, so it is refused here.
  if (std::find(arguments.begin(), arguments.end(), "--wait=") != arguments.end())
    return report(make_error(ErrorClass::usage,
                             "--wait: an empty value names no duration (a shell variable that is "
                             "not set?)",
                             "write --wait=10m, or --wait alone to wait without an end"));
  try {
    parse(app, arguments);
  } catch (const CLI::Success& help_or_version) {
    return ExitCode(app.exit(help_or_version));
  } catch (const CLI::ParseError& error) {
    return report(usage_error(app, error, arguments));
  }
  if (!choice.has_taken_command && !choice.command.empty())
    return report(command_without_ranks(app, arguments, choice.command));
  if (takes_user_flags(app))
    if (const auto taken = take_user_file(app, arguments, choice); !taken)
      return report(taken.error());
  if (const auto relayed = relayed_to_job(app, arguments, choice)) return *relayed;
  return choice.run();
}

}  // namespace

}  // namespace train

namespace {

// Makes an error of an exception that no code below has converted: either the limit of open files
// (an event loop needs a handful of descriptors to start), or a bug.
train::Error unexpected_error(const std::exception& exception) {
  const auto* system = dynamic_cast<const std::system_error*>(&exception);
  const int number = system == nullptr ? 0 : system->code().value();
  if (number == EMFILE || number == ENFILE)
    return train::make_error(train::ErrorClass::host,
                             std::string("too many open files: ") + exception.what(),
                             "raise the limit: ulimit -n 4096");
  return train::make_error(train::ErrorClass::bug,
                           std::string("this is a bug in train: ") + exception.what(),
                           "please report it with the command that you ran");
}

}  // namespace

int main(int argc, char* argv[]) {
  train::open_closed_standard_streams();
  // Writing beyond the file size limit (ulimit -f) then fails with an error, like a full disk,
  // instead of killing the process.
  std::signal(SIGXFSZ, SIG_IGN);
  int code = 0;
  try {
    code = train::run({argv + 1, argv + argc}).value();
  } catch (const std::exception& error) {
    code = train::report(unexpected_error(error)).value();
  }
  std::cout.flush();
  train::end_program(code);
}
