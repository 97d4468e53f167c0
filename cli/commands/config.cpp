// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/commands/flags.hpp"
#include "cli/completion/value_kind.hpp"
#include "cli/terminal/talk.hpp"
#include "config_schema/config_check.hpp"
#include "config_schema/experiment/experiment_tree.hpp"
#include "config_schema/fields/json_schema.hpp"
#include "config_schema/text/text.hpp"
#include "config_schema/yaml/yaml_writer.hpp"

namespace train {

namespace {

struct ConfigCheckFlags {
  std::vector<std::string> files;
  bool are_hosts = false;  ///< reads all files as hosts files
  bool warnings = false;   ///< reports warnings as well
  bool json = false;
};

struct ConfigShowFlags {
  RequestFlags request;  ///< only the experiment, `-n`, `--batch` and `--set` are used
  bool origin = false;
  bool json = false;
};

struct ConfigSchemaFlags {
  std::string name = "experiment";
};

// The result of a check of all files.
struct Checked {
  std::vector<Finding> findings;
  std::optional<ErrorClass> worst;  ///< nothing: every file is valid
};

// Adds a file that cannot be read. In text output the message contains the file name; in JSON the
// name is a field.
void add_unreadable(Checked& checked, const std::string& file, bool as_data, const Error& error) {
  for (Diagnostic diagnostic : error.diagnostics) {
    if (as_data) diagnostic.place.source = file;
    checked.findings.push_back({Severity::error, std::move(diagnostic)});
  }
  if (!checked.worst) checked.worst = error.error_class;
}

// YAML parses a hosts file of plain lines as one scalar.
bool is_not_a_mapping(const Finding& finding) {
  return finding.diagnostic.message.starts_with("an experiment is a mapping");
}

Checked check_files(const ConfigCheckFlags& flags) {
  Checked checked;
  for (const std::string& file : flags.files) {
    const auto text = read_input(file, flags.are_hosts ? "hosts" : "configuration");
    if (!text) {
      add_unreadable(checked, file, flags.json, text.error());
      continue;
    }
    const SourceText source{file, *text};
    const FileKind kind = flags.are_hosts ? FileKind::hosts : kind_of(source);
    auto findings = check_file(source, kind);
    if (has_errors(findings)) {
      checked.worst = kind == FileKind::hosts ? ErrorClass::hosts : ErrorClass::config;
      if (is_not_a_mapping(findings.front()))
        findings.front().diagnostic.hint += "; a hosts file without 'hosts:' needs --hosts";
    }
    checked.findings.insert(checked.findings.end(), findings.begin(), findings.end());
  }
  return checked;
}

// Prints the first findings, up to about a screen; the others are counted.
void print_findings(const std::vector<Finding>& findings, bool with_warnings) {
  constexpr int most = 20;
  std::string file;
  int said = 0;
  int left_out = 0;
  const auto end_file = [&] {
    if (left_out > 0) talk(terminal_text("{}: ... and {} more", file, left_out));
    said = left_out = 0;
  };
  for (const Finding& finding : findings) {
    if (finding.diagnostic.place.source != file) end_file();
    file = finding.diagnostic.place.source;
    if (finding.severity != Severity::error && !with_warnings) continue;
    if (said++ >= most) {
      ++left_out;
      continue;
    }
    Diagnostic diagnostic = finding.diagnostic;
    if (finding.severity == Severity::obstacle)
      diagnostic.message = "launch refuses this: " + diagnostic.message;
    const TerminalText text = terminal_text(diagnostic);
    talk(finding.severity == Severity::error ? text : "warning: " + text);
  }
  end_file();
}

ExitCode config_check_command(const ConfigCheckFlags& flags) {
  const Checked checked = check_files(flags);
  ExitCode answered;
  if (flags.json)
    answered = answer(findings_to_json(checked.findings));
  else
    print_findings(checked.findings, flags.warnings);
  if (!checked.worst) return answered;
  const ExitCode code = exit_code_of(*checked.worst);
  talk(verdict(*checked.worst, code));
  return code;
}

ExitCode config_show_command(const ConfigShowFlags& flags) {
  const RequestFlags& request = flags.request;
  const auto text = read_input(request.config, "configuration");
  if (!text) return report(text.error());
  const auto shown = effective_experiment({request.config, *text}, overrides_of(request));
  if (!shown) return report(shown.error());
  if (flags.json) return answer(json_text(**shown) + "\n");
  return answer(yaml_text(**shown, flags.origin ? YamlComments::origins : YamlComments::none));
}

ExitCode config_schema_command(const ConfigSchemaFlags& flags) {
  const auto schema = published_schema(flags.name);
  if (schema) return answer(*schema);
  const std::string meant = did_you_mean(flags.name, schema_names());
  return report(make_error(
      ErrorClass::usage, fmt::format("there is no schema '{}'", flags.name),
      meant.empty() ? fmt::format("the schemas are {}", join_words(schema_names())) : meant));
}

}  // namespace

void add_config_commands(CLI::App& app, Choice& choice) {
  CLI::App* config = app.add_subcommand("config", "Check and show experiments and hosts files");
  config->group("Commands");
  config->require_subcommand(1);

  const auto checked = std::make_shared<ConfigCheckFlags>();
  CLI::App* check =
      config->add_subcommand("check", "Say what is wrong with files; silent if nothing")
          ->group("Commands");
  check->add_option("FILE", checked->files, "Experiments and hosts files (- for standard input)")
      ->type_name("")
      ->check(names("file"))
      ->required();
  check->add_flag("--hosts", checked->are_hosts,
                  "Read them as hosts files, as those without YAML need it");
  check->add_flag("-W,--warnings", checked->warnings,
                  "Also say what is legal, but has no effect or cannot be launched");
  check->add_flag("--json", checked->json, "Print all that is found as JSON");
  check->footer(
      "Examples:\n"
      "  train config check experiment.yaml hosts.yaml\n"
      "  train config check -W experiment.yaml");
  check->callback(
      [&choice, checked] { choice.run = [checked] { return config_check_command(*checked); }; });

  const auto shown = std::make_shared<ConfigShowFlags>();
  CLI::App* show =
      config->add_subcommand("show", "Print an experiment with all defaults")->group("Commands");
  add_config(*show, shown->request, "show")->required();
  add_overrides(*show, shown->request);
  show->add_flag("--origin", shown->origin,
                 "Say where each value comes from: file and line, option, or default");
  show->add_flag("--json", shown->json, "Print JSON");
  show->footer(
      "Examples:\n"
      "  train config show experiment.yaml --set framework=jax --origin");
  show->callback([&choice, shown] {
    shown->request.defaults = choice.defaults;
    choice.run = [shown] { return config_show_command(*shown); };
  });

  const auto named = std::make_shared<ConfigSchemaFlags>();
  CLI::App* schema =
      config->add_subcommand("schema", "Print a JSON Schema, for editors")->group("Commands");
  schema
      ->add_option("NAME", named->name,
                   "One of experiment (default), hosts, diagnostics, doctor, plan, task, and event")
      ->type_name("")
      ->check(names("schema", kind_of_words(schema_names())));
  schema->footer(
      "Examples:\n"
      "  train config schema > experiment.schema.json\n"
      "  train config schema hosts > hosts.schema.json");
  schema->callback(
      [&choice, named] { choice.run = [named] { return config_schema_command(*named); }; });
  config->footer(
      "Examples:\n"
      "  train config check experiment.yaml");  // last: subcommands would inherit it
}

}  // namespace train
