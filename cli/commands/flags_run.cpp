// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>

#include "cli/commands/flags.hpp"
#include "cli/terminal/talk.hpp"
#include "launcher/fitness/host_fitness.hpp"

namespace train {

namespace {

void add_request_options(CLI::App& command, RequestFlags& flags) {
  command.footer(
      "What follows -- is the command of the ranks, or is appended to the entrypoint of CONFIG.");
  add_config(command, flags, "run");
  add_hosts(command, flags);
  command
      .add_option("--include", flags.include, "Only these hosts and slots: w0@w1:0,2, w[0-3]:0-1")
      ->type_name("HOSTS")
      ->check(names("hosts"));
  command.add_option("--exclude", flags.exclude, "All but these hosts and slots")
      ->type_name("HOSTS")
      ->check(names("hosts"));
  add_transport(command, flags.transport);
  command.add_flag("--allow-busy", flags.allow_busy,
                   "Take GPUs although processes outside of train compute on them");
  command
      .add_option("--context", flags.context,
                  "Send this directory to the hosts; ranks start in a copy of it")
      ->type_name("DIR")
      ->check(names("directory"));
  add_overrides(command, flags);
}

// A flag without a value is "true" to CLI11.
std::optional<CheckTier> tier_of(const std::string& text) {
  if (text == "true" || text == "fast") return CheckTier::fast;
  if (text == "full") return CheckTier::full;
  if (text == "bench") return CheckTier::bench;
  return std::nullopt;
}

void add_launch(CLI::App& app, Chosen& chosen, LaunchFlags& flags, std::string& tee,
                std::string& wait, std::string& check) {
  CLI::App* command = app.add_subcommand("launch", "Run an experiment on its hosts");
  command->group("Commands");
  add_request_options(*command, flags.request);
  auto* shown =
      command->add_option("--tee", tee, "Ranks whose output is shown: all, none, rank:0,4-7")
          ->type_name("RANKS")
          ->check(names("ranks"));
  command->add_flag("--strict", flags.strict,
                    "Fail a search of which any trial has failed, and not only all");
  command
      ->add_flag("--check", check,
                 "Look first whether hosts are fit; --check=full, --check=bench: measure")
      ->check({[](const std::string& text) {
                 return tier_of(text) ? std::string()
                                      : fmt::format("'{}' is none of fast, full and bench", text);
               },
               ""});
  command->add_flag("--exclude-unfit", flags.exclude_unfit,
                    "Likewise, and launch without those that are not");
  command->add_flag("--raw", flags.raw, "Show output as it is: colors, progress bars");
  add_wait(*command, wait);
  auto* json = command->add_flag("--json", flags.json,
                                 "Print the finished task as JSON; output goes to stderr");
  command
      ->add_flag("-d,--detach", flags.detach,
                 "Return once the ranks have started; print the task's id")
      ->excludes(json)
      ->excludes(shown);
  command->callback([&] {
    chosen = [&] {
      auto parsed = parse_tee(tee, "--tee");
      if (!parsed) return report(parsed.error());
      flags.tee = *parsed;
      flags.tee.all_to_stderr = flags.json;
      flags.tee.raw = flags.raw;
      if (flags.detach) flags.tee.mode = Tee::Mode::none;
      flags.wait = wait_of(wait);
      flags.check = tier_of(check);
      return launch_command(flags);
    };
  });
}

void add_plan(CLI::App& app, Chosen& chosen, PlanFlags& flags) {
  CLI::App* command = app.add_subcommand("plan", "Show what launch would run, touching no host");
  command->group("Commands");
  add_request_options(*command, flags.request);
  const auto set_format = [&flags](const std::string& name) {
    using Format = PlanFlags::Format;
    const std::map<std::string, Format> formats = {{"table", Format::table},
                                                   {"json", Format::json},
                                                   {"env", Format::env},
                                                   {"hostfile", Format::hostfile},
                                                   {"slurm", Format::slurm}};
    const auto found = formats.find(name);
    if (found == formats.end())
      throw CLI::ValidationError(
          "--format", fmt::format("'{}' is none of table, json, env, hostfile and slurm", name));
    flags.format = found->second;
  };
  command
      ->add_option_function<std::string>("--format", set_format,
                                         "table (default), json, env, hostfile, or slurm")
      ->type_name("FORMAT");
  command->add_flag_callback(
      "--json", [&flags] { flags.format = PlanFlags::Format::json; }, "The same as --format json");
  command->add_flag("--live", flags.live, "Ask the hosts what is held there, and plan around it");
  command->add_option("--rank", flags.rank, "With --format env, only this rank")
      ->type_name("N")
      ->check(whole_number(0, highest_rank));
  command->add_option("--svg", flags.svg, "Also draw the plan to this file, for a browser")
      ->type_name("FILE")
      ->check(names("file"));
  command->callback([&] { chosen = [&] { return plan_command(flags); }; });
}

void add_report(CLI::App& app, Chosen& chosen, ReportFlags& flags) {
  CLI::App* report =
      app.add_subcommand("report", "Report metrics from a training script to its task")
          ->group("Commands");
  report->add_option("METRICS", flags.words, "What was measured: validation_loss=0.3 accuracy=0.91")
      ->type_name("NAME=VALUE");
  report->add_option("--step", flags.step, "How far the training is")->type_name("N");
  report->callback([&] { chosen = [&] { return report_command(flags); }; });
}

void add_once_per_host(CLI::App& app, Chosen& chosen, OncePerHostFlags& flags) {
  CLI::App* once =
      app.add_subcommand("once-per-host", "Run a command for all ranks of a host, in one of them")
          ->group("Commands");
  once->add_option("--name", flags.name, "What is run once, where commands differ by rank")
      ->type_name("NAME");
  once->callback([&] { chosen = [&] { return once_per_host_command(flags); }; });
}

// What `check --full` and `--bench` launch, which nobody calls by hand.
void add_measuring(CLI::App& app, Chosen& chosen) {
  CLI::App* measure = app.add_subcommand("measure-links", "Measure the links between the ranks");
  measure->group("");
  measure->callback([&] { chosen = [] { return measure_links_command(); }; });
  CLI::App* nccl = app.add_subcommand("measure-allreduce", "Measure NCCL with the ranks");
  nccl->group("");
  auto python = std::make_shared<std::string>("python3");
  nccl->add_option("PYTHON", *python, "Whose NCCL it is");
  nccl->callback(
      [&chosen, python] { chosen = [python] { return measure_allreduce_command(*python); }; });
}

}  // namespace

void add_check_command(CLI::App& app, Chosen& chosen, CheckFlags& flags) {
  CLI::App* command = app.add_subcommand("check", "Look whether hosts are fit, before a launch");
  command->group("Commands");
  command->footer(
      "Exit codes: 0 all hosts are fit, 1 one is unfit, 2 of one nobody could tell; others as "
      "everywhere.");
  add_config(*command, flags.request, "check for");
  add_hosts(*command, flags.request);
  add_transport(*command, flags.request.transport);
  command
      ->add_option("--context", flags.request.context,
                   "As for launch: code that this directory brings is not looked for")
      ->type_name("DIR")
      ->check(names("directory"));
  add_overrides(*command, flags.request);
  const auto add_tier = [&](const char* name, CheckTier tier, const char* what) {
    command->add_flag_callback(
        name, [&flags, tier] { flags.tier = std::max(flags.tier, tier); }, what);
  };
  add_tier("--full", CheckTier::full,
           "Measure the links between fit hosts as well, with a rank on each");
  add_tier("--bench", CheckTier::bench, "Measure NCCL on their GPUs as well, after the links");
  command
      ->add_option("--data", flags.data,
                   "Read files of this directory on each host, to see how fast they come")
      ->type_name("DIR")
      ->check(
          [](const std::string& path) {
            const bool is_absolute = path.starts_with('/') && path.size() <= longest_data_directory;
            return is_absolute ? "" : "give a path that begins with '/': each host reads its own";
          },
          "");
  command->add_flag("--json", flags.json, "Print JSON");
  command->callback([&] { chosen = [&] { return check_command(flags); }; });
}

void add_run_commands(CLI::App& app, Chosen& chosen, RunFlags& flags) {
  add_launch(app, chosen, flags.launch, flags.tee, flags.wait, flags.check);
  add_plan(app, chosen, flags.plan);
  add_report(app, chosen, flags.report);
  add_measuring(app, chosen);
  add_once_per_host(app, chosen, flags.once);
}

}  // namespace train
