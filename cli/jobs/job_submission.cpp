// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs/job_submission.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <memory>

#include "backends/command/slurm_query.hpp"
#include "backends/event_loop/loop.hpp"
#include "backends/posix/child.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/random.hpp"
#include "backends/registry/private_directory.hpp"
#include "cli/jobs/job_notes.hpp"
#include "cli/jobs/job_relay.hpp"
#include "cli/jobs/job_script.hpp"
#include "cli/jobs/job_viewers.hpp"
#include "cli/show/task_table.hpp"
#include "cli/supervisor/task_end.hpp"
#include "cli/surroundings/environment.hpp"
#include "cli/surroundings/state_directory.hpp"
#include "cli/surroundings/stop_signals.hpp"
#include "cli/surroundings/user_account.hpp"
#include "cli/terminal/talk.hpp"
#include "config_schema/allocation/slurm_allocation.hpp"
#include "config_schema/allocation/slurm_end.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/formats/slurm_job.hpp"
#include "launcher/record/task_record.hpp"

namespace train {

namespace {

constexpr milliseconds submit_limit{60'000};
constexpr milliseconds queue_limit{10'000};

/// A job from its submission to its end, seen from the machine that has submitted it. What Slurm
/// knows has to be asked for, again and again.
class FollowedJob {
 public:
  /// `is_own`: this process has submitted it, and a signal cancels it.
  FollowedJob(const JobNote& note, std::vector<std::string> view, StopSignals& signals, bool is_own,
              bool is_shown = true)
      : note_(note),
        view_(std::move(view)),
        signals_(signals),
        is_own_(is_own),
        is_shown_(is_shown) {
    signals_.deliver(loop_, [this](int number) { stop(number); });
    look_after(milliseconds(0));
  }
  ~FollowedJob() {
    signals_.hold_back();
    if (viewer_.pid > 0) (void)::kill(-viewer_.pid, SIGTERM);
  }
  FollowedJob(const FollowedJob&) = delete;
  FollowedJob& operator=(const FollowedJob&) = delete;

  ExitCode run() {
    loop_.run();
    return code_;
  }

 private:
  void end(ExitCode code) {
    code_ = signal_ ? ExitCode(128 + *signal_) : code;
    loop_.stop();
  }

  void stop(int number) {
    if (!is_own_) {
      talk(terminal_text("task {} goes on; train task kill {} stops it", note_.task, note_.task));
      return end(ExitCode(128 + number));
    }
    if (signal_) {  // once more: it is left alone
      talk(terminal_text("job {} {}", note_.job,
                         is_cancelled_ ? "goes on being cancelled; train task list shows it"
                                       : "may go on, since Slurm was not told: scancel it"));
      return end(ExitCode(128 + number));
    }
    signal_ = number;
    talk(terminal_text("cancelling job {} of Slurm", note_.job));
    cancel();
    look_after(milliseconds(0));
  }

  // Again with each look, until Slurm has heard it.
  void cancel() {
    const auto told = ask_slurm({"scancel", note_.job}, queue_limit);
    is_cancelled_ = told.has_value();
    if (!told) talk(terminal_text("it is tried again: {}", terminal_text(told.error())));
  }

  void look_after(milliseconds pause) {
    next_look_ = loop_.after(pause, [this] { look(); });
  }

  void look() {
    constexpr milliseconds longest_pause{2'000};
    pause_ = std::min(pause_ * 2, longest_pause);
    if (signal_ && !is_cancelled_) cancel();
    look_after(pause_);
    const auto queue = ask_for_queue({note_.job}, queue_limit);
    if (!queue) {
      if (!was_unanswered_) talk(terminal_text(queue.error()));
      was_unanswered_ = true;
      return;
    }
    was_unanswered_ = false;
    const auto found = queue->find(note_.job);
    if (found == queue->end())
      return finish(ask_slurm_for_job(note_.job, queue_limit));  // forgotten
    const QueuedJob& job = found->second;
    if (job.is_pending()) {
      // It may have run and been put back since the last look.
      const bool may_have_run = views_ > 0 || job.reason == "BeginTime";
      return may_have_run && count_restarts() ? go_back() : tell_waiting(job);
    }
    if (job.is_running()) return show(job);
    // Its last words are read, but not for ever.
    if (job.is_over() && (viewer_.pid < 0 || ++looks_at_end_ > most_looks_at_end)) {
      const auto ended = ask_slurm_for_job(note_.job, queue_limit);
      const bool says_more = is_undecided(ended) && ++looks_at_end_ <= most_looks_at_end;
      if (!is_going_back(ended) && !says_more) finish(ended);
    }
  }

  // While it puts away what is left of the job, Slurm may say neither a code nor why it has ended.
  static bool is_undecided(const std::optional<std::string>& job) {
    return job && is_completing(*job) && !slurm_code_of(*job);
  }
  static bool is_completing(const std::string& job) {
    return job.find("JobState=COMPLETING") != job.npos;
  }

  // Its processes are being ended for that.
  bool is_going_back(const std::optional<std::string>& job) const {
    return job && slurm_restarts_of(*job).value_or(0) > restarts_ && is_completing(*job);
  }

  // Whether it has been put back into the queue since.
  bool count_restarts() {
    const auto job = ask_slurm_for_job(note_.job, queue_limit);
    const int before = restarts_;
    restarts_ = job ? slurm_restarts_of(*job).value_or(before) : before;
    return restarts_ > before;
  }

  // Slurm would let it wait for two minutes.
  void go_back() {
    talk(terminal_text("job {} of Slurm is in the queue again", note_.job));
    const auto told =
        ask_slurm({"scontrol", "update", "JobId=" + note_.job, "StartTime=now"}, queue_limit);
    if (!told)
      talk(terminal_text("it starts in two minutes at the earliest: {}",
                         terminal_text(told.error())));
    views_ = looks_at_end_ = 0;
    has_shown_end_ = sends_program_ = false;
    told_.clear();
    is_again_ = was_pending_ = true;
    pause_ = milliseconds(50);
    look_after(pause_);
  }

  void tell_waiting(const QueuedJob& job) {
    was_pending_ = true;
    if (signal_) return;
    const std::string_view why = is_own_ ? why_it_never_starts(job.reason) : std::string_view();
    if (!why.empty()) {
      const auto told = ask_slurm({"scancel", note_.job}, queue_limit);
      if (!told) return end(report(told.error()));
      drop_note(note_.task);
      return end(report(
          make_error(ErrorClass::never,
                     fmt::format("job {} of Slurm would wait for ever, so it is cancelled: {} ({})",
                                 note_.job, why, job.reason),
                     "change what is asked for, or name another partition: --set "
                     "resources.resource_pool=...")));
    }
    // The estimate of its start changes again and again; that there is one is new once.
    std::string news = job.reason + (job.start.empty() ? "" : " start");
    if (job.reason.empty() || news == told_) return;
    told_ = std::move(news);
    talk(terminal_text("job {} of Slurm: {}", note_.job, words_on_waiting(job)));
  }

  // Runs `train task attach` beside the launcher.
  void show(const QueuedJob& job) {
    if (!is_shown_ || viewer_.pid > 0 || has_shown_end_ || views_ == most_views || signal_) return;
    if (views_++ == 0) {
      pause_ = milliseconds(500);
      if (!is_own_ && !is_again_) (void)count_restarts();
      if (is_own_) talk(terminal_text("job {} of Slurm runs on {}", note_.job, job.nodes));
    }
    std::vector<std::string> words =
        relay_words(note_.job, job.batch_host, words_of_view(),
                    ::isatty(STDOUT_FILENO) == 1 ? StepStreams::bytes : StepStreams::lines);
    // Its exit code says enough.
    words.insert(std::find(words.begin(), words.end(), "--quiet"), "--quiet");
    const auto call = slurm_call(words);
    if (!call) return end(report(call.error()));
    const std::string here = "/";
    ChildSetup setup(call->program, call->arguments, call->environment, here);
    const Descriptor input(
        ::open(sends_program_ ? "/proc/self/exe" : "/dev/null", O_RDONLY | O_CLOEXEC));
    const Descriptor output(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    const Descriptor errors(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
    setup.standard[0] = input.get();
    setup.standard[1] = output.get();
    setup.standard[2] = errors.get();
    viewer_ = start_child(setup);
    if (viewer_.failed != ChildStep::none) {
      viewer_.pid = -1;
      return talk(terminal_text("cannot show the task: {}", system_reason(viewer_.error)));
    }
    viewed_ = loop_.when_readable(viewer_.pidfd.get(), [this] {
      const auto status = reap(viewer_.pidfd.get(), loop_.now());
      viewer_.pid = -1;
      const int code = status && *status ? (*status)->code.value_or(unknown_code) : unknown_code;
      has_shown_end_ = code == 0 || code == shown_failure;
      has_shown_success_ = code == 0;
      if (code == program_is_missing && is_own_) send_program();
      viewed_.reset();
      // A step may be refused for a while, as long as the node prepares itself for the job.
      const bool is_refused = !has_shown_end_ && code != program_is_missing;
      if (is_refused && views_ == most_views)
        talk(
            terminal_text("task {} cannot be shown: Slurm refuses the steps for that; train task "
                          "list tells when it has ended",
                          note_.task));
      pause_ = is_refused ? milliseconds(1'000) : milliseconds(50);
      look_after(is_refused ? pause_ : milliseconds(0));
    });
  }

  // The words of the step. It takes the program from its standard input where the node lacks it:
  // the script of the job waits for that.
  std::vector<std::string> words_of_view() const {
    constexpr const char* script =
        "program=$1 copy=$2; shift 2; if ! [ -x \"$program\" ]; then [ -n \"$copy\" ] || exit 99; "
        "(umask 077; cat >\"$copy.part\") && chmod 700 \"$copy.part\" && "
        "mv \"$copy.part\" \"$copy\" && program=$copy; fi; exec \"$program\" \"$@\"";
    std::vector<std::string> words{
        "/bin/sh", "-c",          script,
        "sh",      note_.program, sends_program_ ? slurm_program_copy(note_.job) : "",
        "task",    "attach",      note_.task,
        "--in-job"};
    words.insert(words.end(), view_.begin(), view_.end());
    // What was seen is not shown again.
    if (was_pending_ && views_ <= (sends_program_ ? 2 : 1))
      words.emplace_back(is_again_ ? "--again" : "--from-start");
    return words;
  }

  void send_program() {
    sends_program_ = true;
    JobNote note = note_;
    note.program = slurm_program_copy(note_.job);
    if (const auto kept = keep_note(note); !kept) talk(terminal_text(kept.error()));
  }

  // The job is over.
  void finish(const std::optional<std::string>& job) {
    const int code = job ? slurm_code_of(*job).value_or(unknown_code) : unknown_code;
    auto store = open_task_store();
    const auto task =
        store ? (*store)->find(note_.task) : Result<TaskRecord>(tl::make_unexpected(store.error()));
    if (task) drop_note(note_.task);
    if (task && is_final(task->state)) {
      const ExitCode ended =
          has_shown_end_ ? ExitCode(task->exit_code.value_or(code)) : report_end(*task);
      return end(ended);
    }
    if (has_shown_end_ && code != unknown_code) return end(ExitCode(code));
    if (has_shown_end_ && job && job->find("JobState=OUT_OF_MEMORY") != job->npos)
      return end_of_memory();
    end(report_without_record(job.value_or(""), code));
  }

  // Slurm then has no code of the launcher, which has ended by itself.
  void end_of_memory() {
    constexpr int killed = 128 + SIGKILL;
    talk(terminal_text("Slurm says that job {} used more memory than it asked for", note_.job));
    end(ExitCode(has_shown_success_ ? 0 : killed));
  }

  // The launcher in the job has recorded nothing that can be seen from here.
  ExitCode report_without_record(const std::string& job, int code) const {
    const auto folder = jobs_folder();
    const std::string said = folder ? read_small_file(job_output(*folder, note_.task)) : "";
    if (!said.empty()) {
      talk(terminal_text("job {} of Slurm said:", note_.job));
      for (const std::string& line : split_lines(normalize_text(said)))
        talk(terminal_text("  {}", line));
    }
    if (signal_) return {};
    if (code != unknown_code) {
      talk(terminal_text("job {} of Slurm has ended with code {}", note_.job, code));
      if (code != 0 && said.empty())
        talk(terminal_text(
            "task {} is not recorded here: see '{}' on the first of its nodes; code 72 is that of "
            "a directory or program that it lacks",
            note_.task, job_output(folder.value_or(""), note_.task)));
      return ExitCode(code);
    }
    std::string why = slurm_end_of(job, INT_MAX - 1);
    if (why.empty()) why = "it says no more about it";
    const bool is_limit = job.find("JobState=TIMEOUT") != job.npos;
    return report(make_error(is_limit ? ErrorClass::timeout : ErrorClass::host,
                             fmt::format("Slurm has ended job {}: {}", note_.job, why)));
  }

  static constexpr int most_views = 10;
  static constexpr int most_looks_at_end = 20;  // of up to 2 s each
  static constexpr int unknown_code = -1;
  static constexpr int program_is_missing = 99;

  JobNote note_;
  std::vector<std::string> view_;
  StopSignals& signals_;
  bool is_own_;
  bool is_shown_;
  Loop loop_;
  std::unique_ptr<Subscription> next_look_;
  milliseconds pause_{50};
  bool was_unanswered_ = false;
  bool is_cancelled_ = false;
  std::string told_;  ///< why it waits
  std::optional<int> signal_;
  StartedChild viewer_;
  std::unique_ptr<Subscription> viewed_;
  bool was_pending_ = is_own_;  ///< nothing of the task was printed before
  int views_ = 0;
  int looks_at_end_ = 0;
  bool sends_program_ = false;
  bool is_again_ = false;  ///< it has been in the queue again
  int restarts_ = 0;       ///< how often
  bool has_shown_end_ = false;
  bool has_shown_success_ = false;
  ExitCode code_;
};

// The file is removed when this ends.
class ScriptFile {
 public:
  static Result<ScriptFile> write(const std::string& path, const std::string& script) {
    ScriptFile file(path);
    if (auto written = write_file(path, script, 0600); !written)
      return tl::make_unexpected(written.error());
    return file;
  }
  ~ScriptFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  ScriptFile(ScriptFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScriptFile& operator=(ScriptFile&&) = delete;
  const std::string& path() const { return path_; }

 private:
  explicit ScriptFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// The id of the job in what sbatch says: ID, or ID;CLUSTER. Sites let it print more.
Result<std::string> id_in(const std::string& said) {
  std::string words;
  for (const std::string& line : split_lines(normalize_text(said))) {
    const std::size_t end = line.find(';');
    const std::string id = line.substr(0, end);
    const bool is_id = whole_number(id, 1, INT_MAX).has_value();
    if (is_id && end == line.npos) return id;
    if (is_id) {
      const std::string cluster = line.substr(end + 1);
      (void)ask_slurm({"scancel", "--clusters=" + cluster, id}, queue_limit);
      return fail(
          ErrorClass::usage,
          fmt::format("job {} went to another cluster, '{}', and is cancelled", id, cluster),
          "submit it on a machine of that cluster");
    }
    std::string_view part = line;
    for (const std::string_view prefix : {"sbatch: ", "error: "})
      if (part.starts_with(prefix)) part.remove_prefix(prefix.size());
    if (!part.starts_with("Try ")) words += fmt::format("{}{}", words.empty() ? "" : "; ", part);
  }
  const bool is_away =
      words.find("Unable to contact") != words.npos || words.find("timed out") != words.npos;
  return fail(is_away ? ErrorClass::host : ErrorClass::never, "Slurm refuses the job: " + words,
              "train plan --engine slurm shows what it is asked for");
}

// The id of the job.
Result<std::string> submit(const JobScript& script, const std::string& task) {
  const auto folder = jobs_folder();
  if (!folder) return tl::make_unexpected(folder.error());
  if (auto made = make_private_directory(*folder); !made) return tl::make_unexpected(made.error());
  const auto file = ScriptFile::write(*folder + "/" + task + ".sh", script.text);
  if (!file) return tl::make_unexpected(file.error());
  // Variables of sbatch count more than a script, and less than words.
  std::vector<std::string> call{"sbatch", "--parsable"};
  call.insert(call.end(), script.options.begin(), script.options.end());
  call.push_back(file->path());
  const auto told = ask_slurm(call, submit_limit, SlurmAnswer::words);
  if (!told)
    return tl::make_unexpected(with_hints(
        told.error(), {fmt::format("'squeue --me --format=\"%i %k\"' shows whether it has the job "
                                   "after all: train:{}",
                                   task)}));
  return id_in(*told);
}

}  // namespace

ExitCode follow_job(const JobNote& note, Following how, const std::vector<std::string>& view) {
  StopSignals signals;
  return FollowedJob(note, view, signals, false, how == Following::show).run();
}

ExitCode launch_as_job(const Request& request, const RequestFlags& flags, const Plan& plan,
                       const JobLaunch& launch) {
  JobNote note{.task = make_task_id(random_bits()),
               .name = plan.experiment.name,
               .slots = to_string(plan.trial.slots * (plan.trials ? plan.trials->at_once : 1)),
               .user = user_name(),
               .created = now_on_the_wall()};
  JobWords words{note.task, launch.flags};
  if (!launch.is_detached) words.flags.emplace_back("--await-viewer");
  const auto script = script_of_job(request, flags, plan, words);
  if (!script) return report(script.error());
  note.program = script->program;
  // From the submission on, a signal cancels the job.
  StopSignals signals;
  auto job = submit(*script, note.task);
  if (!job) return report(job.error());
  note.job = std::move(*job);
  const auto kept = keep_note(note);
  talk(terminal_text("task {} is job {} of Slurm in partition {}", note.task, note.job,
                     request.partition->name));
  if (!kept)
    talk(terminal_text("warning: train will not find it again, only Slurm does: {}",
                       terminal_text(kept.error())));
  if (launch.is_detached) {
    talk(
        terminal_text("to see, await or stop it:\n"
                      "  train task list\n"
                      "  train task attach {}\n"
                      "  train task kill {}",
                      note.task, note.task));
    return answer(note.task + "\n");
  }
  return FollowedJob(note, launch.view, signals, true).run();
}

}  // namespace train
