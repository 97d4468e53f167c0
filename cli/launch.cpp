// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "backends/context/context_files.hpp"
#include "backends/context/context_packer.hpp"
#include "backends/event_loop/loop.hpp"
#include "backends/log/log_files.hpp"
#include "backends/log/log_writer.hpp"
#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/random.hpp"
#include "cli/commands.hpp"
#include "cli/detachment.hpp"
#include "cli/host_sweep.hpp"
#include "cli/launch_output.hpp"
#include "cli/launch_report.hpp"
#include "cli/state_directory.hpp"
#include "cli/stop_signals.hpp"
#include "cli/talk.hpp"
#include "cli/task_recorder.hpp"
#include "cli/task_table.hpp"
#include "cli/transports.hpp"
#include "cli/user_account.hpp"
#include "config_schema/fields/secrets.hpp"
#include "config_schema/hosts/host_fold.hpp"
#include "launcher/formats/formats.hpp"
#include "launcher/placement/placement.hpp"
#include "launcher/placement/refusal.hpp"
#include "launcher/rendezvous/environment.hpp"
#include "launcher/run/run_driver.hpp"
#include "launcher/task/task_json.hpp"

namespace train {

namespace {

// For hosts whose agents were killed to end what these have left.
constexpr std::chrono::seconds sweep_limit{10};

// A pipe that its reader closed must not end a run, and a stopped launcher (Ctrl-Z) would starve
// the hosts of heartbeats.
void ignore_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGTSTP, SIG_IGN);
}

std::string slot_list(const PlannedRank& rank) {
  std::string text;
  for (const int slot : rank.slots) text += (text.empty() ? "" : ",") + std::to_string(slot);
  return text;
}

std::vector<std::string> host_names(const Trial& trial) {
  std::vector<std::string> names;
  for (const PlannedHost& host : trial.hosts) names.push_back(host.host.name);
  return names;
}

std::vector<Host> hosts_of(const Trial& trial) {
  std::vector<Host> hosts;
  for (const PlannedHost& planned : trial.hosts) hosts.push_back(planned.host);
  return hosts;
}

TaskRecord new_task(const Request& request, const Plan& plan, const SqliteTaskStore& store) {
  TaskRecord task;
  task.id = make_task_id(random_bits());
  task.name = plan.experiment.name;
  task.slots = to_string(plan.trial.slots);
  task.world_size = plan.trial.world_size;
  task.user = user_name();
  task.created = now_on_the_wall();
  task.config_text = without_secrets(request.experiment_text);
  task.plan_json = plan_to_json(plan);
  std::error_code ignored;
  task.working_directory = std::filesystem::current_path(ignored).string();
  if (!request.context_directory.empty())
    task.context.directory =
        std::filesystem::absolute(request.context_directory, ignored).lexically_normal().string();
  task.log_directory = store.log_directory(task.id);
  task.launcher_pid = ::getpid();
  task.stop_grace_ms = plan.experiment.stop_grace.count();
  for (const std::string& name : host_names(plan.trial))
    task.hosts += (task.hosts.empty() ? "" : ",") + name;
  for (const PlannedRank& rank : plan.trial.ranks)
    task.ranks.push_back({rank.rank,
                          plan.trial.hosts[rank.host].host.name,
                          slot_list(rank),
                          {},
                          {},
                          false,
                          rank_log_file(task.log_directory, rank.rank)});
  return task;
}

std::vector<std::string> log_paths(const TaskRecord& task) {
  std::vector<std::string> paths;
  for (const RankRecord& rank : task.ranks) paths.push_back(rank.log_file);
  return paths;
}

void show_context(Terminal& terminal, const ContextSummary& context) {
  constexpr std::size_t most_warnings = 10;
  const auto warn = [&](const TerminalText& warning) {
    terminal.write(Terminal::Stream::err, talk_text(warning));
  };
  for (std::size_t i = 0; i < std::min(most_warnings, context.warnings.size()); ++i)
    warn(terminal_text("warning: {}", context.warnings[i]));
  if (context.warnings.size() > most_warnings)
    warn(terminal_text("warning: the same of {} more", context.warnings.size() - most_warnings));
}

// Of use to somebody who waits; a log would only be longer.
void show_progress(Terminal& terminal, const ContextProgress& progress) {
  if (::isatty(STDERR_FILENO) != 1) return;
  terminal.write(
      Terminal::Stream::err,
      talk_text(terminal_text(
          "the context is on its way to {} host{}; {} {}{}", progress.hosts,
          progress.hosts == 1 ? "" : "s", progress.hosts == 1 ? "it has" : "the slowest has",
          size_text(progress.least), progress.of ? " of " + size_text(*progress.of) : "")));
}

RunDriver::Hooks hooks_of(Loop& loop, Terminal& terminal, TaskRecord& task, TaskRecorder& recorder,
                          std::function<void()> on_started) {
  RunDriver::Hooks hooks;
  hooks.on_all_started = [&, on_started = std::move(on_started)] {
    task.started = now_on_the_wall();
    recorder.change(TaskState::running);
    on_started();
  };
  hooks.on_note = [&](const std::string& text) {
    terminal.write(Terminal::Stream::err, talk_text(TerminalText(text)));
  };
  hooks.on_stopping = [&](const std::string& why) {
    if (!why.empty()) terminal.write(Terminal::Stream::err, talk_text(TerminalText(why)));
    recorder.change(TaskState::stopping);
  };
  hooks.on_context = [&](const ContextSummary& context) {
    show_context(terminal, context);
    task.context.sha256 = context.context.sha256;
    task.context.files = static_cast<std::int64_t>(context.files);
    task.context.bytes = static_cast<std::int64_t>(context.bytes);
    recorder.write();
  };
  hooks.on_context_progress = [&](const ContextProgress& progress) {
    show_progress(terminal, progress);
  };
  hooks.on_over = [&] { loop.stop(); };
  return hooks;
}

ContextSource::Open context_of(const Request& request, Loop& loop) {
  if (request.context_directory.empty()) return {};
  return [&](ContextSource::Events events) {
    return std::make_unique<ContextPacker>(loop, request.context_directory, own_output_files(),
                                           std::move(events));
  };
}

// Relative to the context where there is one, else absolute.
std::string working_directory_of(const Request& request, const Plan& plan) {
  const std::string& wanted = plan.experiment.working_directory;
  if (!request.context_directory.empty()) return directory_in_context(wanted);
  std::error_code ignored;
  const auto here = std::filesystem::current_path(ignored);
  return wanted.empty() ? here.string() : (here / wanted).lexically_normal().string();
}

RunOutcome not_run(const Trial& trial, const Error& why) {
  RunOutcome outcome;
  outcome.ranks.resize(trial.ranks.size());
  outcome.cause = Failure{{}, why, std::nullopt, -1, 0};
  return outcome;
}

// Where the logs of a task are written, beside the loop. It says trouble once.
Result<std::shared_ptr<LogFiles>> make_logs(const TaskRecord& task,
                                            const ExperimentConfig& experiment) {
  const LogLimits limits =
      log_limits(experiment.log_limit, free_bytes(task.log_directory), task.ranks.size());
  auto logs = std::make_shared<LogFiles>(log_paths(task), limits);
  if (auto created = logs->create(); !created)
    return tl::make_unexpected(std::move(created.error()));
  return logs;
}

// How a run ended, and what is to be said about it.
struct Ended {
  ExitCode code;
  TerminalText last_words;  ///< empty on success
  bool is_recorded = false;
};

// The end of everything else is bounded; a disk gets so long to take the record of it.
constexpr milliseconds record_limit{10'000};

Ended run_task(const Request& request, const Plan& plan, const LaunchFlags& flags,
               StopSignals& signals, TaskRecord& task,
               const std::shared_ptr<SqliteTaskStore>& store, Detachment& detachment) {
  const auto open_files = raise_open_files_limit();
  Loop loop;
  std::optional<RunDriver> driver;
  const auto acknowledge = [&] {
    if (driver) driver->acknowledge_output();
  };
  Terminal terminal([&] { loop.post(acknowledge); });
  // Through the terminal's queue: the middle of a rank's line is no place for it.
  const auto say = [&](const TerminalText& said) {
    terminal.write(Terminal::Stream::err, talk_text(said));
  };
  HostTransports transports(loop, plan.trial,
                            open_files ? std::optional(open_files->rlim_cur) : std::nullopt,
                            [&](const std::string& said) { say(TerminalText(said)); });
  TaskRecorder recorder(loop, store, task, say);
  RankOutput shown(terminal, flags.tee);
  RunOutcome outcome;
  std::vector<AbandonedHost> abandoned;
  std::optional<LogWriter> writer;
  std::optional<LaunchOutput> output;
  auto logs = make_logs(task, plan.experiment);
  if (const auto kept = keep_task_hosts(*store, task, hosts_of(plan.trial)); logs && !kept)
    logs = tl::make_unexpected(kept.error());
  if (logs) {
    writer.emplace(loop, *logs, task.log_directory, LogWriter::Hooks{acknowledge, say});
    output.emplace(shown, terminal, *writer);
    driver.emplace(
        RunDriver::Ports{loop, transports, *output, context_of(request, loop)},
        RunDriver::Attempt{plan, task.id, port_needs(plan), working_directory_of(request, plan),
                           [&](int rank) { return environment_of(plan, rank); }},
        hooks_of(loop, terminal, task, recorder, [&] {
          if (flags.detach) detachment.leave_terminal(task.id, store->launcher_log(task.id));
        }));
    signals.deliver(loop, [&](int number) { driver->stop(number); });
    driver->start();
    if (!driver->over()) loop.run();
    writer->finish();
    shown.end();
    outcome = driver->outcome();
    for (const int host : driver->broken_hosts())
      abandoned.push_back({plan.trial.hosts[host].host, agent_key(task.id, host)});
  } else {
    outcome = not_run(plan.trial, logs.error());
  }
  // Recorded before the terminal has taken everything: it may take nothing for hours (Ctrl-S). Only
  // then do the signals go, and one more Ctrl-C ends this process.
  task.ended = now_on_the_wall();
  record_outcome(task, outcome, plan.trial);
  const bool is_recorded = recorder.finish(record_limit);
  signals.end();
  TerminalText found =
      describe_sweep(abandoned, sweep_hosts(loop, transports, abandoned, sweep_limit));
  driver.reset();
  terminal.flush();
  const TerminalText words = last_words(outcome, plan.trial, shown, task);
  if (!found.empty() && !words.empty()) found += "\n";
  return {exit_code_of(outcome), found + words, is_recorded};
}

// As the registry has it, or, where that could not be told of the end, without its plan.
std::string whole_record(TaskRecord task, TaskStore& store, bool is_recorded) {
  if (!is_recorded) return task_to_json(task);
  if (auto recorded = store.find(task.id)) task.plan_json = std::move(recorded->plan_json);
  return task_to_json(task);
}

}  // namespace

ExitCode launch_command(const LaunchFlags& flags) {
  Detachment detachment;
  if (flags.detach)
    if (const auto code = detachment.fork()) return *code;
  const auto request = load_request(flags.request, ReadFor::launching);
  if (!request) return report(request.error());
  if (!request->hosts_note.empty()) talk(TerminalText(request->hosts_note));
  const auto plan = make_plan(request->experiment, request->inventory, {}, request->user_variables);
  if (!plan) {
    talk_warnings(request->experiment.warnings);
    talk_warnings(request->inventory.warnings);
    return report(to_error(plan.error()));
  }
  talk_warnings(plan->warnings);
  if (auto faults = oversized_variables(*plan); !faults.empty())
    return report(Error{ErrorClass::config, std::move(faults)});
  if (plan->experiment.entrypoint.empty())
    return report(make_error(ErrorClass::config, "there is nothing to run: no entrypoint",
                             "write 'entrypoint:' in the experiment, or a command after --"));

  if (std::error_code gone; std::filesystem::current_path(gone).empty())
    return report(make_error(
        ErrorClass::missing,
        fmt::format("the current directory cannot be used: {}", system_reason(gone.value())),
        "ranks run where train is started: cd to a directory that exists on every host"));

  auto opened = open_task_store();
  if (!opened) return report(opened.error());
  const std::shared_ptr<SqliteTaskStore> store = std::move(*opened);
  TaskRecord task = new_task(*request, *plan, *store);
  ignore_signals();
  // From here on an end is recorded: no signal may come between.
  StopSignals signals;
  if (const auto created = store->create(task); !created) return report(created.error());
  task.plan_json = {};  // recorded, and with the environments of all ranks long

  talk(terminal_text("task {}: {} of '{}' on {}; output in {}", task.id,
                     task.world_size == 1 ? "1 rank" : fmt::format("{} ranks", task.world_size),
                     task.name, summarize_hosts(host_names(plan->trial)), task.log_directory));
  const Ended ended = run_task(*request, *plan, flags, signals, task, store, detachment);
  const ExitCode answered =
      flags.json ? answer(whole_record(task, *store, ended.is_recorded)) : ExitCode();
  if (!ended.last_words.empty()) talk(ended.last_words);
  return ended.code.value() != 0 ? ended.code : answered;
}

}  // namespace train
