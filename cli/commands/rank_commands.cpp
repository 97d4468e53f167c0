// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/measure.hpp"
#include "cli/agent/once_per_host.hpp"
#include "cli/agent/report_writer.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/flags.hpp"
#include "cli/terminal/talk.hpp"

namespace train {

namespace {

struct ReportFlags {
  std::vector<std::string> words;  ///< NAME=VALUE
  std::optional<std::string> step;
};

struct OncePerHostFlags {
  std::vector<std::string> command;  ///< after `--`
  std::string name;
  bool is_setup = false;
};

ExitCode report_command(const ReportFlags& flags) {
  const auto written = write_report(flags.words, flags.step);
  if (!written) return report(written.error());
  if (!written->empty()) talk(terminal_text("{}", *written));
  return ExitCode();
}

ExitCode once_per_host_command(const OncePerHostFlags& flags) {
  const auto code = run_once_per_host({flags.command, flags.name, flags.is_setup});
  return code ? ExitCode(*code) : report(code.error());
}

ExitCode measure_links_command() {
  const auto line = measure_links_of_task();
  return line ? answer(*line) : report(line.error());
}

ExitCode measure_allreduce_command(const std::string& python) {
  const auto line = measure_allreduce_of_task(python);
  return line ? answer(*line) : report(line.error());
}

}  // namespace

void add_report(CLI::App& app, Choice& choice) {
  const auto flags = std::make_shared<ReportFlags>();
  CLI::App* report =
      app.add_subcommand("report", "Report metrics from a training script to its task")
          ->group("Commands");
  report
      ->add_option("METRICS", flags->words, "What was measured: validation_loss=0.3 accuracy=0.91")
      ->type_name("NAME=VALUE");
  report
      ->add_option("--step", flags->step,
                   "How far the training is, in whatever it counts: the report's step")
      ->type_name("N");
  report->footer(
      "Examples:\n"
      "  train report --step 100 validation_loss=0.3 accuracy=0.91");
  report->callback([&choice, flags] { choice.run = [flags] { return report_command(*flags); }; });
}

void add_once_per_host(CLI::App& app, Choice& choice) {
  const auto flags = std::make_shared<OncePerHostFlags>();
  CLI::App* once =
      app.add_subcommand("once-per-host", "Run a command for all ranks of a host, in one of them")
          ->group("Commands");
  once->add_option("--name", flags->name, "What is run once, where commands differ by rank")
      ->type_name("NAME");
  once->add_flag("--is-setup", flags->is_setup)->group("");  // what agents call for `setup`
  once->footer(
      "Examples:\n"
      "  train once-per-host --name data -- mkdir -p data");
  once->callback([&choice, flags] {
    flags->command = choice.take_command();
    choice.run = [flags] { return once_per_host_command(*flags); };
  });
}

void add_measuring(CLI::App& app, Choice& choice) {
  CLI::App* links = app.add_subcommand("measure-links", "Measure the links between the ranks");
  links->group("");
  links->callback([&choice] { choice.run = measure_links_command; });
  CLI::App* nccl = app.add_subcommand("measure-allreduce", "Measure NCCL with the ranks");
  nccl->group("");
  const auto python = std::make_shared<std::string>("python3");
  nccl->add_option("PYTHON", *python, "Whose NCCL it is");
  nccl->callback(
      [&choice, python] { choice.run = [python] { return measure_allreduce_command(*python); }; });
}

}  // namespace train
