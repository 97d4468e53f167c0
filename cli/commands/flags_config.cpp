// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/flags.hpp"

namespace train {

void add_config_commands(CLI::App& app, Chosen& chosen, ConfigFlags& flags) {
  CLI::App* config = app.add_subcommand("config", "Check and show experiments and hosts files");
  config->group("Commands");
  config->require_subcommand(1);

  CLI::App* check =
      config->add_subcommand("check", "Say what is wrong with files; silent if nothing")
          ->group("Commands");
  check->add_option("FILE", flags.check.files, "Experiments and hosts files (- for standard input)")
      ->type_name("")
      ->check(names("file"))
      ->required();
  check->add_flag("--hosts", flags.check.are_hosts, "Read them as hosts files");
  check->add_flag("-W,--warnings", flags.check.warnings,
                  "Also say what is legal, but has no effect or cannot be launched");
  check->add_flag("--json", flags.check.json, "Print all that is found as JSON");
  check->callback([&] { chosen = [&] { return config_check_command(flags.check); }; });

  CLI::App* show =
      config->add_subcommand("show", "Print an experiment with all defaults")->group("Commands");
  add_config(*show, flags.show.request, "show")->required();
  add_overrides(*show, flags.show.request);
  show->add_flag("--origin", flags.show.origin, "Say where each value comes from");
  show->add_flag("--json", flags.show.json, "Print JSON");
  show->callback([&] { chosen = [&] { return config_show_command(flags.show); }; });

  CLI::App* schema =
      config->add_subcommand("schema", "Print a JSON Schema, for editors")->group("Commands");
  schema
      ->add_option("NAME", flags.schema.name,
                   "experiment (default), hosts, diagnostics, plan, task")
      ->type_name("")
      ->check(names("schema"));
  schema->callback([&] { chosen = [&] { return config_schema_command(flags.schema); }; });
}

}  // namespace train
