// SPDX-License-Identifier: Apache-2.0
#include "cli/completion/completion.hpp"

#include "cli/commands/commands.hpp"
#include "cli/commands/flags.hpp"
#include "cli/terminal/talk.hpp"

namespace train {

void add_completion(CLI::App& app, Choice& choice) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* script =
      app.add_subcommand("completion", "Print the script that completes command lines in a shell")
          ->group("Commands");
  script->add_option("SHELL", *shell, "One of bash, zsh, and fish")
      ->type_name("")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}));
  script->footer(
      "Examples:\n"
      "  train completion bash > ~/.local/share/bash-completion/completions/train");
  script->callback([&choice, shell] {
    choice.run = [shell] { return answer(completion_script(*shell).value_or("")); };
  });

  // The scripts call it; hidden, since users do not.
  CLI::App* complete = app.add_subcommand("complete")->group("");
  complete->callback([&app, &choice] {
    choice.run = [&app, words = choice.take_command()] {
      return answer(completion_of(app, words));
    };
  });
}

}  // namespace train
