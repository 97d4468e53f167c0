// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "config_schema/text/text.hpp"
#include "launcher/control/control_talk.hpp"

namespace train {

std::vector<std::string> Choice::take_command() {
  has_taken_command = true;
  return command;
}

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  return {[=](const std::string& text) {
            std::uint64_t number = 0;
            const char* end = text.data() + text.size();
            const auto read = std::from_chars(text.data(), end, number);
            const bool is_good =
                read.ec == std::errc() && read.ptr == end && number >= least && number <= most;
            return is_good
                       ? std::string()
                       : fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
          },
          ""};
}

CLI::Validator names(const std::string& what, const std::string& completed_as) {
  const CLI::Validator checked{
      [=](const std::string& text) {
        return text.find_first_not_of(" \t\n") != text.npos
                   ? std::string()
                   : fmt::format("an empty value names no {} (a shell variable that is not set?)",
                                 what);
      },
      ""};
  return checked.name(completed_as.empty() ? what : completed_as);
}

CLI::Validator one_of(const std::vector<std::string>& words) {
  const CLI::Validator checked{
      [=](const std::string& text) {
        const bool is_one = std::find(words.begin(), words.end(), text) != words.end();
        return is_one ? std::string() : fmt::format("'{}' is none of {}", text, join_words(words));
      },
      ""};
  return checked.name(kind_of_words(words));
}

CLI::Option* add_config(CLI::App& command, RequestFlags& flags, const std::string& purpose) {
  return command
      .add_option("CONFIG", flags.config,
                  fmt::format("Experiment to {} (YAML; - for standard input)", purpose))
      ->type_name("")
      ->check(names("experiment"));
}

namespace {

void add_repeatable(CLI::App& command, const char* name, std::vector<std::string>& values,
                    const char* help, const char* type, const char* what) {
  command.add_option(name, values, help)
      ->type_name(type)
      ->check(names(what))
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace

void add_settings(CLI::App& command, std::vector<std::string>& settings) {
  add_repeatable(command, "--set", settings, "Override one key of the experiment; repeatable",
                 "KEY=VALUE", "key");
}

void add_overrides(CLI::App& command, RequestFlags& flags) {
  command
      .add_option("-n,--slots", flags.slots,
                  "Slots, one rank each by default; without CONFIG: all of the hosts")
      ->type_name("SLOTS")
      ->check(whole_number(1, most_workers));
  command
      .add_option("--batch", flags.global_batch,
                  "Global batch size: samples of a step, over all ranks")
      ->type_name("N")
      ->check(whole_number(1, most_samples));
  command
      .add_option("--max-runtime", flags.max_runtime,
                  "Stop the task so long after its ranks have started: 90m, 90 (seconds)")
      ->type_name("DURATION")
      ->check(names("duration"));
  add_settings(command, flags.settings);
}

void add_hosts(CLI::App& command, HostFlags& flags) {
  command.add_option("-H,--hosts", flags.host_list, "Hosts: node[01-04]:8,gpu-b:4")
      ->type_name("LIST")
      ->check(names("hosts", value_kind::unknown));
  command.add_option("--hostfile", flags.host_file, "File of hosts: YAML, or one host a line")
      ->type_name("FILE")
      ->check(names("file"));
}

void add_transport(CLI::App& command, std::optional<TransportKind>& transport) {
  const auto set_transport = [&transport](const std::string& word) {
    transport = transport_of(word);
  };
  command
      .add_option_function<std::string>("--transport", set_transport,
                                        "How other hosts are reached: auto, ssh, or openssh")
      ->type_name("KIND")
      ->check(one_of({"auto", "ssh", "openssh"}));
}

void add_environment(CLI::App& command, EnvironmentFlags& flags) {
  add_repeatable(command, "-e,--env", flags.variables,
                 "Set a variable of the ranks; NAME alone: as it is here; repeatable", "NAME=VALUE",
                 "variable");
  add_repeatable(command, "--env-file", flags.files,
                 "Set variables from lines NAME=VALUE, never shown; repeatable", "FILE", "file");
  add_repeatable(command, "--secret", flags.secrets,
                 "Set a variable, never shown, to its value here or a file's text", "NAME[=@FILE]",
                 "variable");
}

void add_request(CLI::App& command, RequestFlags& flags) {
  command.footer(
      "What follows -- is the command of the ranks, or is appended to the entrypoint of CONFIG.");
  add_config(command, flags, "run");
  add_hosts(command, flags);
  command
      .add_option("--include", flags.include, "Only these hosts and slots: w0@w1:0,2, w[0-3]:0-1")
      ->type_name("HOSTS")
      ->check(names("hosts", value_kind::host_filter));
  command.add_option("--exclude", flags.exclude, "All but these hosts and slots: w0:2, w[4-7]")
      ->type_name("HOSTS")
      ->check(names("hosts", value_kind::host_filter));
  add_transport(command, flags.transport);
  command
      .add_option("--engine", flags.engine,
                  "What gives hosts: ssh, as named here, or slurm: a job of it")
      ->type_name("KIND")
      ->check(one_of({"ssh", "slurm"}));
  command.add_flag("--allow-busy", flags.allow_busy,
                   "Take GPUs although processes outside of train compute on them");
  command
      .add_option("--spare", flags.spare_hosts,
                  "How many other hosts may replace ones that fail; default: all")
      ->type_name("N")
      ->check(whole_number(0, most_workers));
  command
      .add_option("--context", flags.context,
                  "Send this directory to the hosts; ranks start in a copy of it")
      ->type_name("DIR")
      ->check(names("directory"));
  add_overrides(command, flags);
  add_environment(command, flags.environment);
}

void add_task_name(CLI::App& command, std::string& task, const char* kind) {
  command.add_option("TASK", task, "its id in 'train task list', or the beginning of it")
      ->type_name("")
      ->required()
      ->check(names("task", kind));
}

void add_trial(CLI::App& command, std::optional<int>& trial) {
  command.add_option("--trial", trial, "Of this trial (0 is the first), where a task has several")
      ->type_name("N")
      ->check(whole_number(0, highest_trial));
}

void add_formats(CLI::App& command, ListFormat& format) {
  auto* json = command.add_flag_callback(
      "--json", [&format] { format = ListFormat::json; }, "Print JSON");
  command
      .add_flag_callback(
          "--csv", [&format] { format = ListFormat::csv; }, "Print CSV")
      ->excludes(json);
}

void add_dedup(CLI::App& command, bool& is_folded) {
  command.add_flag("--dedup", is_folded,
                   "Show a line that many ranks print at the same time once: [0-3] line");
}

void add_progress(CLI::App& command, Progress& progress) {
  const auto set = [&progress](const std::string& kind) {
    progress = kind == "none" ? Progress::none : kind == "plain" ? Progress::plain : Progress::live;
  };
  command
      .add_option_function<std::string>(
          "--progress", set, "live (default at a terminal: rows below the output), plain, none")
      ->type_name("KIND")
      ->check(one_of({"live", "plain", "none"}));
}

void add_wait(CLI::App& command, std::string& wait) {
  command.add_flag("--wait", wait,
                   "Wait in line for slots that others hold; --wait=10m (or 600): at most");
}

// CLI11 gives a flag without a value as "true".
std::optional<std::string> wait_of(const std::string& wait) {
  if (wait.empty()) return std::nullopt;
  return wait == "true" ? "" : wait;
}

}  // namespace train
