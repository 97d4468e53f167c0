// SPDX-License-Identifier: Apache-2.0
#include "backends/attempt/rank_process.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "backends/posix/child.hpp"
#include "backends/process/programs.hpp"
#include "config_schema/text/shell_words.hpp"
#include "launcher/rendezvous/session_variables.hpp"

namespace train {

namespace {

constexpr const char* default_path = "/usr/local/bin:/usr/bin:/bin";

// Every system has it, so it is not searched for.
constexpr const char* shell = "/bin/sh";

// Returns the path of the program, after checking that it can be executed and that the working
// directory can be entered.
Result<std::string> look_for(const std::tuple<std::string, std::string, std::string>& question,
                             FileCalls* calls) {
  const auto& [directory, path, name] = question;
  if (auto entered = check_working_directory(directory, calls); !entered)
    return tl::make_unexpected(entered.error());
  if (name == shell) return name;
  auto program = find_program(name, path, directory, calls);
  if (!program) return program;
  if (auto executable = check_program(*program, calls); !executable)
    return tl::make_unexpected(executable.error());
  return program;
}

// Makes a process of its ranks run the line first: a shell calls once-per-host, by which one rank
// of the host runs it and the others wait, and then becomes the program of the rank.
void put_setup_before(const char* name, const std::string& line, const std::string& tool,
                      ProcessSpec& spec) {
  spec.argv.front() = spec.program;
  std::vector<std::string> argv = {
      shell,
      "-c",
      R"("$0" once-per-host --name "$1" --is-setup -- /bin/sh -c "$2" || exit; shift 2; exec "$@")",
      tool,
      name,
      line};
  argv.insert(argv.end(), spec.argv.begin(), spec.argv.end());
  spec.argv = std::move(argv);
  spec.program = shell;
}

constexpr const char* hook_name = "startup-hook.sh";

// Determined's hook at the top of a context; there it is a part of the shell that becomes the
// entrypoint, here a process of its own: a program, or else a script of bash that ends at the first
// command that fails, as there.
void put_hook_before(const std::string& context, const std::string& tool, ProcessSpec& spec) {
  std::error_code ignored;
  if (context.empty() || !std::filesystem::is_regular_file(context + "/" + hook_name, ignored))
    return;
  put_setup_before(hook_name,
                   fmt::format("cd {} || exit; [ -x {} ] && exec ./{}; "
                               "exec \"$(command -v bash || echo sh)\" -e ./{}",
                               shell_quoted(context), hook_name, hook_name, hook_name),
                   tool, spec);
}

}  // namespace

RankProcesses::RankProcesses(std::string tools)
    : tools_(std::move(tools)), session_(session_environment()) {
  std::erase_if(session_, [](const auto& entry) { return is_scrubbed(entry.first); });
}

Result<std::string> RankProcesses::program_of(const RankCommand& command, FileCalls* calls) {
  const auto& argv = command.entrypoint.argv;
  const Question question{command.working_directory, path_of(command),
                          argv.empty() ? shell : argv.front()};
  if (const auto known = programs_.find(question); known != programs_.end()) return known->second;
  auto program = look_for(question, calls);
  if (program) programs_[question] = *program;
  return program;
}

Result<void> RankProcesses::check_script_of(const RankCommand& command, const std::string& hint,
                                            FileCalls* calls) {
  const auto script = find_script(command.entrypoint);
  if (!script) return {};
  const std::string path = path_of(command);
  const Question question{command.working_directory, path, script->path};
  if (scripts_.contains(question)) return {};
  auto there = check_script(*script, path, command.working_directory, hint, calls);
  if (there) scripts_.insert(question);
  return there;
}

Result<ProcessSpec> RankProcesses::process_of(const RankCommand& command, FileCalls* calls) {
  auto program = program_of(command, calls);
  if (!program) return tl::make_unexpected(program.error());
  ProcessSpec spec;
  spec.program = std::move(*program);
  spec.working_directory = command.working_directory;
  for (const auto& [name, value] : environment_of(command))
    spec.environment.push_back(fmt::format("{}={}", name, value));
  spec.argv = command.entrypoint.argv;
  spec.cpus = command.cpus;
  if (spec.argv.empty()) spec.argv = {shell, "-c", command.entrypoint.shell};
  const std::string tool = tools_ + "/train";
  if (!command.setup.empty()) put_setup_before("setup", command.setup, tool, spec);
  put_hook_before(command.context_directory, tool, spec);
  return spec;
}

void RankProcesses::add_tools(Environment& environment) const {
  if (tools_.empty()) return;
  environment.emplace("PATH", default_path);
  for (const char* name : {"PATH", "PYTHONPATH"}) {
    std::string& folders = environment[name];
    if (!folders.empty() && !folders.ends_with(':')) folders += ':';
    folders += tools_;
  }
  if (environment.contains(hang_stacks_variable)) environment["PYTHONPATH"].insert(0, tools_ + ":");
}

// The variables of the session, without those that a variable of the rank rules out, overridden by
// those of the rank; a default of the rank applies only if the session has no such variable.
RankProcesses::Environment RankProcesses::environment_of(const RankCommand& command) const {
  Environment environment = session_;
  for (const EnvironmentEntry& entry : command.environment)
    for (const std::string_view name : ruled_out_by(entry.name, entry.text))
      environment.erase(std::string(name));
  for (const EnvironmentEntry& entry : command.environment) {
    if (entry.is_default)
      environment.emplace(entry.name, entry.text);
    else
      environment[entry.name] = entry.text;
  }
  add_tools(environment);
  return environment;
}

std::string RankProcesses::path_of(const RankCommand& command) const {
  const auto of_session = session_.find("PATH");
  std::string path = of_session == session_.end() ? default_path : of_session->second;
  for (const EnvironmentEntry& entry : command.environment)
    if (entry.name == "PATH" && !(entry.is_default && of_session != session_.end()))
      path = entry.text;
  return path;
}

}  // namespace train
