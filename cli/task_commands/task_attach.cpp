// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>

#include "backends/log/task_watch.hpp"
#include "backends/posix/files.hpp"
#include "backends/store/task_lock.hpp"
#include "cli/commands/flags.hpp"
#include "cli/jobs/job_notes.hpp"
#include "cli/jobs/job_viewers.hpp"
#include "cli/logs/rank_output.hpp"
#include "cli/logs/task_view.hpp"
#include "cli/story/attached_status.hpp"
#include "cli/supervisor/adoption.hpp"
#include "cli/supervisor/detachment.hpp"
#include "cli/supervisor/task_control.hpp"
#include "cli/supervisor/task_end.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "cli/task_commands/task_commands.hpp"
#include "cli/terminal/talk.hpp"

namespace train {

namespace {

struct TaskAttachFlags {
  std::string task;
  bool is_in_job = false;   ///< runs as a step of the job that is to make the task
  bool from_start = false;  ///< shows all output; otherwise the last screenful and new output
  bool is_again = false;    ///< shows all output of the last attempt
  bool is_folded = false;
  bool has_times = false;
  std::string tee = "all";  ///< the ranks whose output is shown, as in `train launch`
  Progress progress = Progress::live;
  mutable bool was_left = false;  ///< set when the launcher has left the task in its job
};

// Reports of the process that tries to resume the task.
constexpr std::string_view it_attends = "attends";
constexpr std::string_view another_attends = "another attends";

// Message printed on Ctrl-C; prepared in advance, because a signal handler cannot format text.
char last_words_of_view[512];

void leave_view(int) {
  const ssize_t ignored =
      ::write(STDERR_FILENO, last_words_of_view, std::strlen(last_words_of_view));
  (void)ignored;
  ::_exit(exit_code_of(ErrorClass::interrupted).value());
}

void print_on_interrupt(const std::string& task_id) {
  const std::string words =
      "\n" + talk_text(terminal_text("task {} goes on; to see it again, or stop it:\n"
                                     "  train task attach {}\n"
                                     "  train task kill {}",
                                     task_id, task_id, task_id));
  last_words_of_view[words.copy(last_words_of_view, sizeof last_words_of_view - 1)] = '\0';
  std::signal(SIGINT, leave_view);
}

// The output after offset `from` in the log of a launcher without a terminal; nothing if there is
// none.
std::string log_text_since(const std::string& supervisor_log, std::size_t from) {
  const Descriptor file(::open(supervisor_log.c_str(), O_RDONLY | O_CLOEXEC));
  std::string said(256u << 10, '\0');
  const ssize_t count =
      file ? read_whole_at(file.get(), said.data(), said.size(), from) : ssize_t{0};
  said.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return said;
}

// The offset at which about the last screenful begins.
std::size_t last_lines_of(const std::string& supervisor_log) {
  constexpr std::size_t screen = 2'048;
  struct stat status {};
  if (::stat(supervisor_log.c_str(), &status) != 0) return 0;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size <= screen) return 0;
  const std::size_t line = log_text_since(supervisor_log, size - screen).find('\n');
  return size - screen + (line == std::string::npos ? 0 : line + 1);
}

// A launcher that leaves a task in its job goes on with it once the job runs again.
ExitCode report_left(const TaskAttachFlags& flags, const TaskRecord& task) {
  if (!flags.is_in_job) return report_unattended(task);
  flags.was_left = true;
  return exit_code_of(ErrorClass::busy);
}

// For a search: shows what its launcher reports about the trials, because all trials may print at
// the same time.
ExitCode view_search(const TaskAttachFlags& flags, SqliteTaskStore& store, const TaskRecord& task) {
  talk(
      terminal_text("task {} is a search: train task show {} lists its trials, and train task "
                    "logs {} --trial 0 has what the first one prints",
                    task.id, task.id, task.id));
  const std::string lock_file = store.lock_file(task.id);
  const std::string supervisor_log = store.supervisor_log(task.id);
  TaskWatch watch(lock_file, "");
  std::size_t shown = flags.from_start ? 0 : last_lines_of(supervisor_log);
  while (true) {
    const bool has_ended = probe_task_lock(lock_file) == TaskLockState::gone;
    for (std::string said = log_text_since(supervisor_log, shown); !said.empty();
         said = log_text_since(supervisor_log, shown)) {
      shown += said.size();
      std::fwrite(said.data(), 1, said.size(), stderr);
    }
    if (has_ended) break;
    (void)watch.wait(std::chrono::milliseconds(500), {});
  }
  auto now = store.find(task.id);
  if (!now) return report(now.error());
  return now->is_unattended ? report_left(flags, *now) : report_end(*now);
}

// Asks the supervisor no more after it has failed to answer: each such question takes a while.
AttachedStatus::Look look_at_supervisor(SqliteTaskStore& store, const std::string& task_id) {
  return [&store, task_id, answers = true]() mutable -> std::optional<AttachedStatus::Seen> {
    if (!answers) return std::nullopt;
    auto now = ask_now(store.control_socket(task_id));
    answers = now.has_value();
    if (!now || !*now) return std::nullopt;
    auto task = store.find(task_id);
    if (!task) return std::nullopt;
    return AttachedStatus::Seen{std::move(**now), std::move(*task)};
  };
}

// Shows the output of the ranks until the task has ended or is unattended. False when the reader is
// gone.
Result<bool> view_attempts(const TaskAttachFlags& flags, SqliteTaskStore& store, TaskRecord& task) {
  TaskViewing viewing{.choice = {}, .follow = true};
  viewing.choice.style.is_folded = flags.is_folded;
  viewing.choice.style.has_times = flags.has_times;
  auto tee = parse_tee(flags.tee, "--tee");
  if (!tee) return tl::make_unexpected(tee.error());
  if (tee->mode != Tee::Mode::all) viewing.choice.ranks = std::move(tee->ranks);
  std::optional<AttachedStatus> status;
  if (flags.progress == Progress::live && ::isatty(STDERR_FILENO) == 1) {
    status.emplace(look_at_supervisor(store, task.id));
    viewing.sink = [&status](std::string_view text) { return status->write(text); };
    viewing.on_look = [&status](const MergedLogs& logs) { status->draw(logs); };
    viewing.on_end = [&status] { status->end(); };
  }
  auto& last = viewing.choice.lines.last;
  if (!flags.from_start && !flags.is_again) last = screen_lines();
  for (int attempt = flags.from_start ? 0 : task.restarts; attempt <= task.restarts; ++attempt) {
    if (attempt > 0 && !last && flags.progress != Progress::none)
      talk(terminal_text("attempt {}", attempt));
    auto printed = print_attempt(viewing, store, task, attempt);
    if (!printed || !*printed) return printed;
    if (status) status->end();  // last lines without a newline
    last.reset();
  }
  return true;
}

ExitCode view(const TaskAttachFlags& flags, SqliteTaskStore& store, TaskRecord task) {
  std::signal(SIGPIPE, SIG_IGN);
  print_on_interrupt(task.id);
  if (is_search(task)) return view_search(flags, store, task);
  const auto printed = view_attempts(flags, store, task);
  if (!printed) return report(printed.error());
  if (!*printed) return ExitCode();
  return task.is_unattended ? report_left(flags, task) : report_end(task);
}

// Lends this terminal's credentials to the supervisor of the task. Returns the record after that,
// because a supervisor that was dying may have left the task unattended meanwhile.
Result<TaskRecord> with_credentials_lent(SqliteTaskStore& store, TaskRecord task) {
  if (const auto words = lend_credentials(store.control_socket(task.id))) {
    if (!words->empty()) talk(*words);
    return task;
  }
  return find_unanswered(store, task.id);
}

// Runs in the process that tries to resume the task.
ExitCode attend(const std::string& task_id, Detachment& detachment) {
  auto adoption = Adoption::begin(task_id);
  if (!adoption) {
    if (adoption.error().error_class != ErrorClass::busy) return report(adoption.error());
    detachment.send(std::string(another_attends));
    return exit_code_of(ErrorClass::busy);
  }
  const std::string log = adoption->store().supervisor_log(task_id);
  StopSignals signals;
  const auto on_steady = [&](const TerminalText& words) {
    if (!words.empty()) talk(words);
    detachment.leave_terminal(std::string(it_attends), log, signals);
  };
  const Ended ended = adoption->run(on_steady, signals);
  if (!ended.last_words.empty()) talk(ended.last_words);
  if (ended.is_displaced) detachment.send(std::string(another_attends));
  return ended.code;
}

// How a step tells the machine that shows the task what it has shown.
ExitCode code_in_job(const TaskAttachFlags& flags, ExitCode code) {
  return flags.was_left || code.value() == 0 ? code : ExitCode(shown_failure);
}

// Another job of the same task may have recorded it here before.
bool is_recorded_in_job(const std::string& task_id) {
  const auto state = state_directory();
  const std::string lock = state ? *state + "/tasks/" + task_id + "/launcher.lock" : "";
  struct stat status {};
  if (::stat(lock.c_str(), &status) != 0) return false;
  auto store = open_task_store();
  if (!store) return true;  // which is reported
  const auto task = (*store)->find(task_id);
  return task && (is_final(task->state) ||
                  (!task->is_unattended && ::kill(static_cast<pid_t>(task->launcher_pid), 0) == 0));
}

// The launcher records the task soon. If it fails before, what it has said is shown, and false
// returned; if it is killed, Slurm ends this process with the job.
bool await_record(const std::string& task_id) {
  while (!is_recorded_in_job(task_id)) {
    if (has_failed_unrecorded(task_id)) {
      const std::string said = read_small_file(job_output(jobs_folder().value_or(""), task_id));
      std::fwrite(said.data(), 1, said.size(), stderr);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

ExitCode task_attach_command(const TaskAttachFlags& flags) {
  if (flags.is_in_job) {
    watch_new_job(flags.task);
    std::signal(SIGTERM, SIG_IGN);  // a job that is being ended: its last words are shown
    if (!await_record(flags.task)) return {};
  }
  std::string task_id;
  {
    auto store = open_task_store();
    if (!store) return report(store.error());
    auto task = (*store)->find(flags.task);
    if (!task) return report(task.error());
    if (is_final(task->state))
      return flags.is_in_job ? view(flags, **store, std::move(*task)) : report_end(*task);
    if (!task->is_unattended) task = with_credentials_lent(**store, std::move(*task));
    if (!task) return report(task.error());
    if (!task->is_unattended) return view(flags, **store, std::move(*task));
    if (flags.is_in_job) return report_left(flags, *task);
    std::vector<std::string> arguments = {"task", "attach", task->id};
    if (flags.from_start) arguments.emplace_back("--from-start");
    if (flags.is_folded) arguments.emplace_back("--dedup");
    if (flags.progress == Progress::plain) arguments.emplace_back("--progress=plain");
    if (flags.progress == Progress::none) arguments.emplace_back("--progress=none");
    if (auto same = become_kept_program(**store, *task, arguments); !same)
      return report(same.error());
    task_id = task->id;
  }
  // The store is closed here: it must not be open across a fork.
  Detachment detachment;
  const auto code = detachment.fork([&](const std::string& told) {
    print_on_interrupt(task_id);
    auto store = open_task_store();
    if (!store) return report(store.error());
    auto task = (*store)->find(task_id);
    if (task && told != it_attends) task = with_credentials_lent(**store, std::move(*task));
    if (!task) return report(task.error());
    if (told == it_attends) talk(terminal_text("task {} is attended again", task_id));
    return view(flags, **store, std::move(*task));
  });
  return code ? *code : attend(task_id, detachment);
}

}  // namespace

void add_task_attach(CLI::App& task, Choice& choice) {
  const auto flags = std::make_shared<TaskAttachFlags>();
  CLI::App* attach =
      task.add_subcommand("attach", "Show a task until its end; go on with one whose train died")
          ->group("Commands");
  add_task_name(*attach, flags->task, value_kind::unfinished_task);
  attach->add_flag("--from-start", flags->from_start,
                   "Show all that was printed in all attempts, not only the last screenful");
  attach->add_flag("--in-job", flags->is_in_job, "")->group("");
  attach->add_flag("--again", flags->is_again, "")->group("");
  attach->add_flag("--timestamps", flags->has_times, "")->group("");
  attach->add_option("--tee", flags->tee, "")->group("");
  add_dedup(*attach, flags->is_folded);
  add_progress(*attach, flags->progress);
  attach->footer(
      "Examples:\n"
      "  train task attach k3wq\n"
      "  train task attach k3wq --from-start");
  attach->callback([&choice, flags] {
    choice.run = [flags] {
      const ExitCode code = task_attach_command(*flags);
      // The submitting machine gets the task's code from Slurm.
      return flags->is_in_job ? code_in_job(*flags, code) : code;
    };
  });
}

}  // namespace train
