// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/agent_attach.hpp"
#include "cli/commands/commands.hpp"

namespace train {

void add_agent(CLI::App& app, Choice& choice) {
  const auto flags = std::make_shared<AgentAttachFlags>();
  CLI::App* agent = app.add_subcommand("agent")->group("");  // hidden: for launchers, not for users
  agent->require_subcommand(1);
  // Adds a verb with one argument: a key, or the kind of the request.
  const auto add = [&](const char* verb, const char* word, ExitCode (*run)(const std::string&)) {
    CLI::App* command = agent->add_subcommand(verb);
    command->add_option(word, flags->key)->required();
    command->callback(
        [&choice, flags, run] { choice.run = [flags, run] { return run(flags->key); }; });
  };
  CLI::App* attach = agent->add_subcommand("attach");
  attach->add_option("KEY", flags->key)->required();
  attach->add_option("--open-files", flags->open_files);
  attach->callback(
      [&choice, flags] { choice.run = [flags] { return agent_attach_command(*flags); }; });
  add("reattach", "KEY", agent_reattach_command);
  add("sweep", "KEY", agent_sweep_command);
  add("exec", "KEY", agent_exec_command);
  add("get", "KEY", agent_get_command);
  add("look", "WORD", agent_look_command);
  add("check", "WORD", [](const std::string&) { return agent_check_command(); });
  add("wait", "KEY", agent_wait_command);
}

}  // namespace train
