// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <atomic>
#include <filesystem>

#include "backends/context/context_archive.hpp"
#include "backends/context/context_packer.hpp"
#include "backends/posix/files.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/flags.hpp"
#include "cli/jobs/job_script.hpp"
#include "cli/supervisor/host_inquiry.hpp"
#include "cli/terminal/picture_file.hpp"
#include "cli/terminal/talk.hpp"
#include "cli/terminal/text_options.hpp"
#include "launcher/formats/formats.hpp"
#include "launcher/live/live_occupancy.hpp"
#include "launcher/placement/placement.hpp"
#include "launcher/placement/refusal.hpp"

namespace train {

namespace {

struct PlanFlags {
  enum class Format { table, json, env, hostfile, slurm };
  RequestFlags request;
  Format format = Format::table;
  std::optional<int> rank;         ///< prints only this rank (format `env` only)
  std::optional<std::string> svg;  ///< also draws the plan to this file
  bool live = false;               ///< queries the hosts for what is in use
};

std::string show(const PictureSubject& subject, const std::optional<PlannedContext>& context,
                 const PlanFlags& flags) {
  const Plan& plan = subject.plan;
  switch (flags.format) {
    case PlanFlags::Format::json:
      return plan_to_json(plan, context);
    case PlanFlags::Format::env:
      return plan_to_env(plan, flags.rank);
    case PlanFlags::Format::hostfile:
      return plan_to_hostfile(plan, context);
    case PlanFlags::Format::slurm:
      return plan_to_slurm(plan, context);
    case PlanFlags::Format::table:
      break;
  }
  return plan_to_text(subject, text_options(), context);
}

// Checks the flags by themselves.
Result<void> check_flags(const PlanFlags& flags) {
  if (flags.rank && flags.format != PlanFlags::Format::env)
    return fail(ErrorClass::usage, "--rank was given without --format env",
                "other formats show all ranks: leave out --rank");
  return check_picture_file(flags.svg);
}

Result<void> check_rank(const PlanFlags& flags, const Plan& plan) {
  if (!flags.rank || *flags.rank < plan.trial.world_size) return {};
  return fail(ErrorClass::usage, fmt::format("--rank: there is no rank {}", *flags.rank),
              fmt::format("ranks are 0 to {}", plan.trial.world_size - 1));
}

// The context that would be sent; nothing without a directory.
Result<std::optional<PlannedContext>> read_context(const std::string& directory) {
  if (directory.empty()) return std::nullopt;
  const std::atomic<bool> cancelled{false};
  auto archived = archive_context(directory, own_output_files(), cancelled);
  if (!archived) return tl::make_unexpected(archived.error());
  return PlannedContext{directory, archived->context.sha256, archived->files, archived->bytes,
                        std::move(archived->warnings)};
}

// The name of a format for another program than `train launch`; empty: the format is for people or
// has everything.
std::string_view foreign_format(PlanFlags::Format format) {
  switch (format) {
    case PlanFlags::Format::table:
    case PlanFlags::Format::json:
      break;
    case PlanFlags::Format::env:
      return "env";
    case PlanFlags::Format::hostfile:
      return "hostfile";
    case PlanFlags::Format::slurm:
      return "slurm";
  }
  return {};
}

bool has_startup_hook(const std::optional<PlannedContext>& context) {
  std::error_code ignored;
  return context &&
         std::filesystem::is_regular_file(context->directory + "/startup-hook.sh", ignored);
}

// Prints the context's own warnings, and warns of what the other program does not do: it neither
// sends the context nor runs its hook or `setup`.
void warn_of_format(const std::optional<PlannedContext>& context, const Plan& plan,
                    PlanFlags::Format format) {
  const std::string_view name = foreign_format(format);
  if (context) {
    for (const std::string& warning : context->warnings) talk_warnings({{{}, {}, warning, {}}});
    if (!name.empty())
      talk_warnings({{{},
                      {},
                      fmt::format("--format {} does not bring the context '{}' to the hosts", name,
                                  context->directory),
                      "start the ranks in a copy that every host sees, or let 'train launch' bring "
                      "it"}});
  }
  const auto warn_of_setup = [&](const char* what) {
    talk_warnings({{{},
                    {},
                    fmt::format("--format {} does not run '{}' on the hosts", name, what),
                    "run it there before, once on each host, or let 'train launch' do so"}});
  };
  if (!name.empty() && has_startup_hook(context)) warn_of_setup("startup-hook.sh");
  if (!name.empty() && !plan.experiment.setup.empty()) warn_of_setup("setup");
}

// Queries the hosts for what is in use; without this, a plan assumes idle hosts.
Occupancy ask_hosts(const Request& request) {
  if (request.experiment.leases == Leasing::none) return {};
  const std::vector<Host>& hosts = request.inventory.hosts;
  const auto reports = HostInquiry(hosts).query();
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::string why =
        reports[i] ? reports[i]->lease_trouble : reports[i].error().diagnostics.front().message;
    if (why.empty()) continue;
    talk_warnings(
        {{{},
          {},
          fmt::format("host '{}' does not say what is held there: {}", hosts[i].name, why),
          "the plan takes it for idle"}});
  }
  return occupancy_of(request.inventory, request.experiment, answered(reports));
}

ExitCode plan_command(const PlanFlags& flags) {
  if (auto checked = check_flags(flags); !checked) return report(checked.error());
  const auto request = load_request(flags.request, ReadFor::planning);
  if (!request) return report(request.error());
  if (!request->hosts_note.empty()) talk(TerminalText(request->hosts_note));
  if (request->partition && flags.live)
    return report(make_error(ErrorClass::usage, "--live asks hosts, and Slurm gives out its nodes",
                             "leave it out; squeue and sinfo show what is in use"));
  const Occupancy held = flags.live ? ask_hosts(*request) : Occupancy();
  auto plan = request->partition ? plan_on_partition(*request)
                                 : make_plan(request->experiment, request->inventory, held,
                                             request->user_variables);
  if (!plan) {
    talk_warnings(request->experiment.warnings);
    talk_warnings(request->inventory.warnings);
    if (flags.format == PlanFlags::Format::json) answer(refusal_to_json(plan.error()));
    return report(to_error(plan.error()));
  }
  // What a job takes of a node is asked for; the rest is for other jobs.
  if (request->partition) plan->advice.clear();
  if (auto checked = check_rank(flags, *plan); !checked) return report(checked.error());
  const auto context = read_context(request->context_directory);
  if (!context) return report(context.error());
  if (flags.format != PlanFlags::Format::table) {  // the table includes them
    talk_warnings(plan->warnings);
    warn_of_format(*context, *plan, flags.format);
  } else if (has_startup_hook(*context)) {
    talk(
        terminal_text("'startup-hook.sh' of the context runs once on each host, before its ranks"));
  }
  const PictureSubject subject{
      .plan = *plan,
      .usable = request->inventory,
      .named = request->unfiltered ? *request->unfiltered : request->inventory,
      .occupancy = held};
  if (flags.svg)
    if (auto written = write_file(*flags.svg, plan_to_svg(subject)); !written)
      return report(written.error());
  std::string text = show(subject, *context, flags);
  if (request->partition && flags.format == PlanFlags::Format::table) {
    const auto script = script_of_job(*request, flags.request, *plan, {});
    if (!script) return report(script.error());
    talk(terminal_text(
        "nodes are examples: Slurm chooses among those of partition {}; below is the script that "
        "launch gives to sbatch",
        request->partition->name));
    text += "\n" + script->text;
  }
  return answer(text);
}

}  // namespace

void add_plan(CLI::App& app, Choice& choice) {
  const auto flags = std::make_shared<PlanFlags>();
  CLI::App* command = app.add_subcommand("plan", "Show what launch would run, touching no host");
  command->group("Commands");
  add_request(*command, flags->request);
  const auto set_format = [flags](const std::string& name) {
    using Format = PlanFlags::Format;
    const std::map<std::string, Format> formats = {{"table", Format::table},
                                                   {"json", Format::json},
                                                   {"env", Format::env},
                                                   {"hostfile", Format::hostfile},
                                                   {"slurm", Format::slurm}};
    flags->format = formats.at(name);
  };
  command
      ->add_option_function<std::string>("--format", set_format,
                                         "One of table (default), json, env, hostfile, and slurm")
      ->type_name("FORMAT")
      ->check(one_of({"table", "json", "env", "hostfile", "slurm"}));
  command->add_flag_callback(
      "--json", [flags] { flags->format = PlanFlags::Format::json; }, "The same as --format json");
  command->add_flag("--live", flags->live, "Ask the hosts what is held there, and plan around it");
  command->add_option("--rank", flags->rank, "With --format env, only this rank")
      ->type_name("N")
      ->check(whole_number(0, highest_rank));
  command->add_option("--svg", flags->svg, "Also draw the plan to this file, for a browser")
      ->type_name("FILE")
      ->check(names("file"));
  command->footer(command->get_footer() +
                  "\n\n"
                  "Examples:\n"
                  "  train plan experiment.yaml -H node[01-04]:8 --exclude node03\n"
                  "  train plan experiment.yaml -n 16 --hostfile hosts.yaml --svg plan.svg\n"
                  "  train plan experiment.yaml --format env --rank 0");
  command->callback([&choice, flags] {
    flags->request.command = choice.take_command();
    flags->request.defaults = choice.defaults;
    choice.run = [flags] { return plan_command(*flags); };
  });
}

}  // namespace train
