// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/launch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/random.hpp"
#include "cli/commands/check.hpp"
#include "cli/commands/commands.hpp"
#include "cli/completion/value_kind.hpp"
#include "cli/jobs/job_script.hpp"
#include "cli/jobs/job_submission.hpp"
#include "cli/jobs/job_viewers.hpp"
#include "cli/request/kept_request.hpp"
#include "cli/show/search_of_task.hpp"
#include "cli/show/task_events.hpp"
#include "cli/show/task_table.hpp"
#include "cli/story/code_note.hpp"
#include "cli/story/launch_report.hpp"
#include "cli/supervisor/adoption.hpp"
#include "cli/supervisor/detachment.hpp"
#include "cli/supervisor/placed_launch.hpp"
#include "cli/supervisor/supervisor.hpp"
#include "cli/supervisor/task_end.hpp"
#include "cli/surroundings/environment.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "cli/surroundings/stop_signals.hpp"
#include "cli/surroundings/time_text.hpp"
#include "cli/surroundings/user_account.hpp"
#include "cli/terminal/talk.hpp"
#include "config_schema/fields/secrets.hpp"
#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/formats/formats.hpp"
#include "launcher/formats/slurm_job.hpp"
#include "launcher/hyperparameters/varied_values.hpp"
#include "launcher/placement/placement.hpp"
#include "launcher/placement/refusal.hpp"
#include "launcher/record/task_json.hpp"
#include "launcher/rendezvous/rank_environment.hpp"
#include "launcher/task/rerun_request.hpp"

namespace train {

namespace {

std::string_view word_of(CheckTier tier) {
  return tier == CheckTier::fast ? "fast" : tier == CheckTier::full ? "full" : "bench";
}

// CLI11 gives a flag without a value as "true".
std::optional<CheckTier> tier_of(const std::string& text) {
  if (text == "true" || text == "fast") return CheckTier::fast;
  if (text == "full") return CheckTier::full;
  if (text == "bench") return CheckTier::bench;
  return std::nullopt;
}

Error no_entrypoint() {
  return make_error(ErrorClass::config, "there is nothing to run: no entrypoint",
                    "write 'entrypoint:' in the experiment, or a command after --");
}

// Prints the sampled values of the first trial: no file contains them.
void report_drawn(const std::string& id, const Plan& plan) {
  if (!plan.search || plan.search->first.empty()) return;
  const std::string drawn = varied_text(plan.search->first.front().varied);
  if (drawn.empty()) return;
  talk(terminal_text("task {}: {}: drawn with experiment_seed {}", id, drawn, plan.search->seed));
}

TaskRecord new_task(const Request& request, const Plan& plan, const SqliteTaskStore& store,
                    const std::string& id) {
  TaskRecord task;
  task.id = id;
  task.name = plan.experiment.name;
  task.slots = to_string(plan.trial.slots * (plan.trials ? plan.trials->at_once : 1));
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
  task.stop_notice_ms = plan.experiment.stop_notice.count();
  task.stop_grace_ms = plan.experiment.stop_grace.count();
  task.outlives_ms = outlives_ms_of(plan.experiment);
  task.log_limit = plan.experiment.log_limit;
  task.hosts = recorded_names(recorded_hosts(request.inventory, plan));
  if (!plan.trials) record_place(task, plan.trial);
  return task;
}

// The record as the registry has it; without its plan if the end could not be recorded. If another
// launcher has taken over the task, the record that it wrote.
std::string whole_record(TaskRecord task, SqliteTaskStore& store, const Ended& ended) {
  if (!ended.is_recorded && !ended.is_displaced) return task_to_json(task, {});
  const auto json_of = [&](const TaskRecord& record) {
    return task_to_json(record, events_of(store, record), {}, search_json_of(store, record));
  };
  auto recorded = store.find(task.id);
  if (recorded && ended.is_displaced) return json_of(*recorded);
  if (recorded) {
    task.plan_json = std::move(recorded->plan_json);
    task.git = std::move(recorded->git);
  }
  return json_of(task);
}

// "2 ranks", "a search of 16 trials (adaptive_asha), 4 at once, with 2 ranks each".
std::string what_is_launched(const TaskRecord& task, const Plan& plan) {
  std::string ranks = counted(task.world_size, "rank");
  if (!plan.trials) return ranks;
  const std::string trials =
      plan.trials->trials ? counted(*plan.trials->trials, "trial") : "many trials";
  return fmt::format("a search of {} ({}), {} at once, with {} each", trials,
                     plan.search ? plan.search->method : "search", plan.trials->at_once, ranks);
}

Result<std::optional<PlacedLaunch::Wait>> wait_of(const LaunchFlags& flags) {
  if (!flags.wait) return std::nullopt;
  if (flags.wait->empty()) return PlacedLaunch::Wait{};
  const auto limit = parse_duration(*flags.wait);
  if (!limit)
    return fail(ErrorClass::usage, fmt::format("--wait: '{}' is no duration", *flags.wait),
                "write --wait=10m, --wait=600 (seconds), or --wait alone to wait without an end");
  return PlacedLaunch::Wait{*limit};
}

// The file is made now, so that a wrong path is found before anything runs.
Result<void> check_events_file(const std::string& file) {
  if (file.empty()) return {};
  const Descriptor opened(::open(
      file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666));
  if (opened) return {};
  return fail(ErrorClass::usage,
              fmt::format("--events: cannot write '{}': {}", file, system_reason(errno)),
              "give a file that can be written, in a folder that exists");
}

// What another launcher of the task needs.
TaskRequest kept_request(const Request& request, const LaunchFlags& flags) {
  TaskRequest kept = task_request_of(request, flags.request, flags.detach);
  kept.is_strict = flags.strict;
  if (!flags.events.empty()) kept.events_file = std::filesystem::absolute(flags.events).string();
  return kept;
}

ExitCode launch_here(const LaunchFlags& flags, const std::string& task_of_job);

// The flags that count where the ranks are started, for the launch there.
std::vector<std::string> words_of_launch(const LaunchFlags& flags) {
  std::vector<std::string> words;
  if (flags.strict) words.emplace_back("--strict");
  if (flags.check) words.push_back("--check=" + std::string(word_of(*flags.check)));
  if (flags.exclude_unfit) words.emplace_back("--exclude-unfit");
  if (!flags.events.empty()) words.insert(words.end(), {"--events", flags.events});
  return words;
}

// Those that count where they are shown, for `train task attach`.
std::vector<std::string> words_of_view(const LaunchFlags& flags) {
  std::vector<std::string> words;
  if (flags.tee.is_folded) words.emplace_back("--dedup");
  if (flags.tee.progress == Progress::none) words.emplace_back("--progress=none");
  if (flags.tee.has_times) words.emplace_back("--timestamps");
  if (flags.tee.mode == Tee::Mode::none) words.emplace_back("--tee=none");
  if (flags.tee.mode == Tee::Mode::ranks)
    words.push_back(fmt::format("--tee=rank:{}", fmt::join(flags.tee.ranks, ",")));
  return words;
}

ExitCode submit_as_job(const Request& request, const LaunchFlags& flags) {
  const auto plan = plan_on_partition(request);
  if (!plan) {
    talk_warnings(request.experiment.warnings);
    return report(to_error(plan.error()));
  }
  talk_warnings(plan->warnings);
  if (plan->experiment.entrypoint.empty()) return report(no_entrypoint());
  const char* const flag = flags.json ? "--json" : flags.raw ? "--raw" : nullptr;
  if (flag != nullptr)
    return report(make_error(
        ErrorClass::usage,
        fmt::format("{} is not for a job that is submitted: its task is recorded there", flag),
        flags.json ? "train task show TASK --json prints the record"
                   : "train task logs TASK shows output in each form"));
  return launch_as_job(request, flags.request, *plan,
                       {flags.detach, words_of_launch(flags), words_of_view(flags)});
}

ExitCode report_started(const std::string& task_id) {
  talk(
      terminal_text("task {} runs on its own now; to see, await or stop it:\n"
                    "  train task attach {}\n"
                    "  train task wait {}\n"
                    "  train task kill {}",
                    task_id, task_id, task_id, task_id));
  return answer(task_id + "\n");
}

}  // namespace

Result<FinishedLaunch> launch_to_the_end(const Request& request, Plan& plan,
                                         const LaunchFlags& flags, const LaunchWay& how,
                                         std::optional<StopSignals>& signals) {
  talk_warnings(plan.warnings);
  if (auto faults = oversized_variables(plan); !faults.empty())
    return tl::make_unexpected(Error{ErrorClass::config, std::move(faults)});
  if (plan.experiment.entrypoint.empty()) return tl::make_unexpected(no_entrypoint());

  if (std::error_code gone; std::filesystem::current_path(gone).empty())
    return fail(
        ErrorClass::missing,
        fmt::format("the current directory cannot be used: {}", system_reason(gone.value())),
        "ranks run where train is started: cd to a directory that exists on every host");

  if (auto checked = check_events_file(flags.events); !checked)
    return tl::make_unexpected(checked.error());
  auto opened = open_task_store();
  if (!opened) return tl::make_unexpected(opened.error());
  const std::shared_ptr<SqliteTaskStore> store = std::move(*opened);
  const bool is_in_job = !how.task.empty();
  TaskRecord task =
      new_task(request, plan, *store, is_in_job ? how.task : make_task_id(random_bits()));
  const bool may_go_back = is_in_job && plan.experiment.max_restarts > 0;
  // Until its job runs again, no launcher lives.
  if (may_go_back) task.outlives_ms = for_ever.count();
  ignore_signals();
  // From here on an end is recorded: signals are blocked, so that none arrives in between.
  signals.emplace();
  if (const auto created = store->create(task); !created)
    return tl::make_unexpected(created.error());
  if (is_in_job) (void)redirect_output(store->supervisor_log(task.id));  // else it is the job's
  // The plan is in the registry, and large: it has the environments of all ranks.
  std::string().swap(task.plan_json);

  if (flags.tee.progress != Progress::none) {
    talk(terminal_text("task {}: {} of '{}' on {}; output in {}", task.id,
                       what_is_launched(task, plan), task.name, summarized_names(task.hosts),
                       task.log_directory));
    if (!plan.trials) report_drawn(task.id, plan);
  }
  CodeNote code_note(store, task);
  if (const auto noted =
          store->keep_launch(task.id, encode_rerun(rerun_request_of(request, flags.request)));
      !noted)
    talk(terminal_text("warning: 'train task rerun' cannot launch this task again: {}",
                       terminal_text(noted.error())));
  TaskRequest kept = kept_request(request, flags);
  const auto record_of = [&](const Plan& other) {
    TaskRecord record = new_task(request, other, *store, task.id);
    record.created = task.created;
    record.outlives_ms = task.outlives_ms;
    return record;
  };
  PlacedLaunch placed{kept,      request.experiment,         plan,     task, store,
                      flags.tee, [](const TerminalText&) {}, record_of};
  if (how.detachment != nullptr)
    placed.on_steady = [&](const TerminalText& words) {
      if (!words.empty()) talk(words);
      how.detachment->leave_terminal(task.id, store->supervisor_log(task.id), *signals);
    };
  placed.wait = how.wait;
  placed.may_go_back = may_go_back;
  Ended ended = launch_where_free(std::move(placed), *signals);
  code_note.finish();
  return FinishedLaunch{std::move(task), store, std::move(ended)};
}

namespace {

// The launch that the submitting machine has written into the script of the job.
Result<RequestFlags> request_in_job(const LaunchFlags& flags) {
  auto text = read_input("-", "job's");
  if (!text) return tl::make_unexpected(text.error());
  const auto kept = decode_rerun(*text);
  if (!kept) return tl::make_unexpected(kept.error());
  return flags_of_kept(flags.in_job, *kept);
}

// A program that was sent to this node for the job.
void remove_program_copy() {
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (!error && program == slurm_program_copy(variable("SLURM_JOB_ID"))) ::unlink(program.c_str());
}

ExitCode end_refused(const std::string& task, const Error& why) {
  if (why.error_class != ErrorClass::busy) {
    const auto ended = end_left_task(task, TaskState::failed, why.error_class, in_one_line(why));
    if (!ended) talk(terminal_text(ended.error()));
  }
  return report(why);
}

// The job was in the queue again: the task that began in it goes on.
ExitCode go_on_in_job(const LaunchFlags& flags, const std::string& task) {
  auto request = load_request(flags.request, ReadFor::launching);
  if (!request) return end_refused(task, request.error());
  StopSignals signals;
  auto adoption = Adoption::begin_elsewhere(task, kept_request(*request, flags));
  if (!adoption) return end_refused(task, adoption.error());
  talk_warnings(request->experiment.warnings);
  (void)redirect_output(adoption->store().supervisor_log(task));
  const Ended ended = adoption->run([](const TerminalText&) {}, signals);
  if (!ended.last_words.empty()) talk(ended.last_words);
  return ended.code;
}

// A launcher that ended before it has started ranks leaves a task that is lost.
ExitCode launch_or_go_on(const LaunchFlags& flags, const std::string& task) {
  if (auto store = open_task_store()) {
    const auto begun = (*store)->find(task);
    const bool is_lost = begun && begun->state == TaskState::lost;
    if (is_lost)
      if (const auto removed = (*store)->remove(task); !removed) return report(removed.error());
    if (begun && !is_lost) {
      store->reset();
      return is_final(begun->state) ? report_end(*begun) : go_on_in_job(flags, task);
    }
  }
  return launch_here(flags, task);
}

ExitCode launch_in_job(LaunchFlags flags) {
  auto request = request_in_job(flags);
  if (!request) return report(request.error());
  flags.request = std::move(*request);
  flags.request.is_in_own_job = true;
  ::unsetenv("TRAIN_HOSTFILE");  // its hosts are those of the job
  const std::string task = std::exchange(flags.in_job, {});
  flags.tee.mode = Tee::Mode::none;
  expect_viewers(task);
  const ExitCode code = launch_or_go_on(flags, task);
  // KillWait ends this, if it is Slurm that ends the job.
  constexpr milliseconds longest_view{20'000};
  auto store = open_task_store();
  const auto record = store ? (*store)->find(task) : Result<TaskRecord>(TaskRecord());
  const bool is_recorded = record && record->launcher_pid == ::getpid();
  await_viewers(task, is_recorded ? JobTask::recorded : JobTask::unrecorded, flags.awaits_viewer,
                longest_view);
  // The next run of the job needs it.
  if (!record || is_final(record->state)) remove_program_copy();
  return code;
}

}  // namespace

ExitCode launch_command(const LaunchFlags& flags) {
  return flags.in_job.empty() ? launch_here(flags, {}) : launch_in_job(flags);
}

namespace {

ExitCode launch_here(const LaunchFlags& flags, const std::string& task_of_job) {
  const auto wait = wait_of(flags);
  if (!wait) return report(wait.error());
  Detachment detachment;
  if (flags.detach)
    if (const auto code = detachment.fork(report_started)) return *code;
  auto request = load_request(flags.request, ReadFor::launching);
  if (!request) return report(request.error());
  if (request->partition) return submit_as_job(*request, flags);
  settle_for_launcher(request->experiment, flags.detach);
  if (!request->hosts_note.empty() && flags.tee.progress != Progress::none)
    talk(TerminalText(request->hosts_note));
  auto plan = make_plan(request->experiment, request->inventory, {}, request->user_variables);
  if (!plan) {
    talk_warnings(request->experiment.warnings);
    talk_warnings(request->inventory.warnings);
    return report(to_error(plan.error()));
  }
  if (flags.check || flags.exclude_unfit) {
    const auto are_fewer = leave_fit_hosts(
        *request, flags.request, *plan, flags.check.value_or(CheckTier::fast), flags.exclude_unfit);
    if (!are_fewer) return report(are_fewer.error());
    if (*are_fewer)
      plan = make_plan(request->experiment, request->inventory, {}, request->user_variables);
    if (!plan) return report(to_error(plan.error()));
  }
  std::optional<StopSignals> signals;
  auto launched = launch_to_the_end(
      *request, *plan, flags, {flags.detach ? &detachment : nullptr, *wait, task_of_job}, signals);
  if (!launched) return report(launched.error());
  auto& [task, store, ended] = *launched;
  const ExitCode answered = flags.json ? answer(whole_record(task, *store, ended)) : ExitCode();
  if (!ended.last_words.empty()) talk(ended.last_words);
  return ended.code.value() != 0 ? ended.code : answered;
}

}  // namespace

void add_launch(CLI::App& app, Choice& choice) {
  // The flag values as typed.
  struct Words {
    std::string tee = "all";
    std::string wait;
    std::string check;
  };
  const auto flags = std::make_shared<LaunchFlags>();
  const auto words = std::make_shared<Words>();
  CLI::App* command = app.add_subcommand("launch", "Run an experiment on its hosts");
  command->group("Commands");
  add_request(*command, flags->request);
  auto* shown =
      command->add_option("--tee", words->tee, "Ranks whose output is shown: all, none, rank:0,4-7")
          ->type_name("RANKS")
          ->check(names("ranks", kind_of_words({"all", "none", "rank:"})));
  command->add_flag("--strict", flags->strict,
                    "Fail a search of which any trial has failed, and not only all");
  command
      ->add_flag("--check", words->check,
                 "Look first whether hosts are fit; --check=full, --check=bench: measure")
      ->check(CLI::Validator({[](const std::string& text) {
                                return tier_of(text)
                                           ? std::string()
                                           : fmt::format("'{}' is none of fast, full and bench",
                                                         text);
                              },
                              ""})
                  .name(kind_of_words({"fast", "full", "bench"})));
  command->add_flag("--exclude-unfit", flags->exclude_unfit,
                    "Likewise, and launch without those that are not");
  command->add_flag("--raw", flags->raw, "Show output as it is: colors, progress bars");
  command->add_flag("--timestamps", flags->tee.has_times,
                    "Begin each line of output with its time");
  add_dedup(*command, flags->tee.is_folded);
  add_progress(*command, flags->tee.progress);
  command
      ->add_option("--events", flags->events,
                   "Append each event of the task to this file, as a line of JSON")
      ->type_name("FILE")
      ->check(names("file"));
  add_wait(*command, words->wait);
  auto* json = command->add_flag("--json", flags->json,
                                 "Print the finished task as JSON; output goes to stderr");
  command->add_option("--in-job", flags->in_job, "")->group("");  // what a job's script calls
  command->add_flag("--await-viewer", flags->awaits_viewer, "")->group("");
  command->add_flag("-d,--detach", flags->detach,
                    "Return once the ranks have started; print the task's id");
  command->footer(command->get_footer() +
                  "\n"
                  "Examples:\n"
                  "  train launch -d experiment.yaml -H gpu-a:8,gpu-b:8 --max-runtime 90m\n"
                  "  train launch -n 4 -e OMP_NUM_THREADS=2 -- python3 train.py --epochs 3");
  command->callback([&choice, flags, words, shown, json] {
    flags->request.command = choice.take_command();
    flags->request.defaults = choice.defaults;
    flags->wait = wait_of(words->wait);
    flags->check = tier_of(words->check);
    // `excludes` would take lines of the help.
    const char* const excluded = json->count() > 0    ? "--json"
                                 : shown->count() > 0 ? "--tee"
                                                      : nullptr;
    choice.run = [flags, words, excluded] {
      if (flags->detach && excluded != nullptr)
        return report(make_error(ErrorClass::usage,
                                 fmt::format("--detach excludes {}: it shows nothing", excluded),
                                 "leave one out; train task attach and show tell the rest"));
      auto parsed = parse_tee(words->tee, "--tee");
      if (!parsed) return report(parsed.error());
      flags->tee.mode = parsed->mode;
      flags->tee.ranks = std::move(parsed->ranks);
      flags->tee.all_to_stderr = flags->json;
      flags->tee.raw = flags->raw;
      if (flags->detach) flags->tee.mode = Tee::Mode::none;
      return launch_command(*flags);
    };
  });
}

}  // namespace train
