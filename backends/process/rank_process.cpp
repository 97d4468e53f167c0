// SPDX-License-Identifier: Apache-2.0
#include "backends/process/rank_process.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <map>

#include "backends/process/programs.hpp"
#include "launcher/rendezvous/environment.hpp"

namespace train {

namespace {

constexpr const char* default_path = "/usr/local/bin:/usr/bin:/bin";

// The session environment of this host, without what another launcher left in it, and over it the
// variables of the rank, but for those that are for sessions without one.
std::map<std::string, std::string> environment_of_rank(const RankCommand& command) {
  std::map<std::string, std::string> environment = session_environment();
  std::erase_if(environment, [](const auto& entry) { return is_scrubbed(entry.first); });
  for (const EnvironmentEntry& entry : command.environment)
    for (const std::string_view name : ruled_out_by(entry.name))
      environment.erase(std::string(name));
  for (const EnvironmentEntry& entry : command.environment) {
    if (entry.is_default)
      environment.emplace(entry.name, entry.text);
    else
      environment[entry.name] = entry.text;
  }
  return environment;
}

std::string path_variable(const std::map<std::string, std::string>& environment) {
  const auto path = environment.find("PATH");
  return path == environment.end() ? default_path : path->second;
}

}  // namespace

std::map<std::string, std::string> session_environment() {
  std::map<std::string, std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      environment[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  return environment;
}

Result<ProcessSpec> process_of_rank(const RankCommand& command, FileCalls* calls) {
  if (auto directory = check_working_directory(command.working_directory, calls); !directory)
    return tl::make_unexpected(directory.error());
  const auto environment = environment_of_rank(command);
  ProcessSpec spec;
  spec.working_directory = command.working_directory;
  for (const auto& [name, value] : environment)
    spec.environment.push_back(fmt::format("{}={}", name, value));
  if (command.entrypoint.argv.empty()) {
    spec.program = "/bin/sh";
    spec.argv = {"/bin/sh", "-c", command.entrypoint.shell};
    return spec;
  }
  spec.argv = command.entrypoint.argv;
  auto program =
      find_program(spec.argv.front(), path_variable(environment), command.working_directory, calls);
  if (!program) return tl::make_unexpected(program.error());
  if (auto executable = check_program(*program, calls); !executable)
    return tl::make_unexpected(executable.error());
  spec.program = *program;
  return spec;
}

}  // namespace train
