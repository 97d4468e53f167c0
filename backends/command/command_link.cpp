// SPDX-License-Identifier: Apache-2.0
#include "backends/command/command_link.hpp"

#include <fmt/format.h>

#include <utility>

#include "backends/posix/child.hpp"
#include "config_schema/text/shell_words.hpp"
#include "config_schema/text/terminal_text.hpp"

namespace train {

namespace {

constexpr std::size_t most_kept = 4'096;  // bytes of the standard error
constexpr std::size_t max_said = 600;
constexpr std::size_t max_command = 300;

}  // namespace

CommandShared::CommandShared(Loop& event_loop, CommandOptions options,
                             std::shared_ptr<SetupWindow> setup_window)
    : ProcessLinkShared(event_loop, options, std::move(setup_window)),
      environment(std::move(options.environment)),
      programs(event_loop, std::move(options.search_path)) {}

CommandLink::CommandLink(std::shared_ptr<CommandShared> shared, Host host, AgentCall call,
                         LinkEvents events)
    : ProcessLink(shared, std::move(host), std::move(call), std::move(events)),
      commands_(std::move(shared)) {}

void CommandLink::begin() {
  const std::weak_ptr<ProcessLink> weak = weak_from_this();
  commands_->programs.find(host().command.at(0), [this, weak](Result<std::string> program) {
    const auto self = weak.lock();
    if (!self || is_closed()) return;
    if (!program) {
      for (Diagnostic& diagnostic : program.error().diagnostics)
        diagnostic.hint = "'transport: {command: [...]}' of the host names it";
      return fail_with(program.error());
    }
    program_ = *program;
    enter_window();
  });
}

Result<ProgramCall> CommandLink::next_call(const std::string& bootstrap) {
  said_.clear();
  return ProgramCall{.program = program_,
                     .arguments = command_arguments(host(), bootstrap),
                     .environment = environment_for(program_, commands_->environment)};
}

void CommandLink::read_log(std::string_view bytes) {
  said_ += bytes;
  if (said_.size() > most_kept) said_.erase(0, said_.size() - most_kept);
}

LinkInfo CommandLink::on_ready(const BootstrapTalk& talk) {
  LinkInfo info;
  info.transport = "command";
  info.address = talk.host_address();
  if (info.address.empty()) info.address = host().address.empty() ? host().name : host().address;
  return info;
}

// "'kubectl exec -i worker-1 -- /bin/sh -c ...'".
std::string CommandLink::endpoint() const {
  return fmt::format("'{}'", printable(shell_line(command_arguments(host(), "...")), max_command));
}

Error CommandLink::failed(std::string what) const {
  std::string said = printable(said_, max_said);
  if (said.empty()) said = printable(noise(), max_said);
  if (!said.empty()) what += fmt::format("; it said '{}'", said);
  return make_error(
      ErrorClass::host, std::move(what),
      fmt::format("check that this says hello: {}",
                  printable(shell_line(command_arguments(host(), "echo hello")), max_command)));
}

void CommandLink::on_early_end(const ExitStatus& end) {
  fail_with(failed(fmt::format("{} {} before the agent was ready", endpoint(), exit_text(end))));
}

Error CommandLink::lost_agent(const ExitStatus& end) const {
  return failed(fmt::format("the connection by {} {}", endpoint(), exit_text(end)));
}

Error CommandLink::silence(double seconds) const {
  return failed(fmt::format("{} was silent for {:g} s while the agent was being started",
                            endpoint(), seconds));
}

}  // namespace train
