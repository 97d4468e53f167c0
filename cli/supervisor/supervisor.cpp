// SPDX-License-Identifier: Apache-2.0
#include "cli/supervisor/supervisor.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <set>
#include <utility>

#include "backends/context/context_files.hpp"
#include "backends/context/context_packer.hpp"
#include "backends/event_loop/background.hpp"
#include "backends/event_loop/loop.hpp"
#include "backends/log/attempt_logs.hpp"
#include "backends/log/log_writer.hpp"
#include "backends/log/trial_logs.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"
#include "backends/store/task_journal.hpp"
#include "cli/record/event_feed.hpp"
#include "cli/record/measure_record.hpp"
#include "cli/record/task_hosts.hpp"
#include "cli/record/task_keeper.hpp"
#include "cli/record/task_recorder.hpp"
#include "cli/request/login_words.hpp"
#include "cli/request/request.hpp"
#include "cli/show/task_table.hpp"
#include "cli/story/launch_output.hpp"
#include "cli/story/launch_report.hpp"
#include "cli/story/launch_story.hpp"
#include "cli/story/live_status.hpp"
#include "cli/story/search_story.hpp"
#include "cli/supervisor/adopted_context.hpp"
#include "cli/supervisor/adopted_logs.hpp"
#include "cli/supervisor/host_sweep.hpp"
#include "cli/supervisor/job_end.hpp"
#include "cli/supervisor/task_control.hpp"
#include "cli/surroundings/time_text.hpp"
#include "cli/terminal/talk.hpp"
#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/drivers/replaced_hosts.hpp"
#include "launcher/drivers/spare_hosts.hpp"
#include "launcher/rendezvous/rank_environment.hpp"

namespace train {

namespace {

// For hosts whose agents were killed: the time to end what they left.
constexpr milliseconds sweep_limit{10'000};
constexpr milliseconds hurried_sweep_limit{500};  // when the user does not wait

ContextSource::Open context_of(const SupervisedTask& task, Loop& loop, ContextPacker::Keep keep) {
  const std::string& directory = task.request.context_directory;
  if (directory.empty()) return {};
  if (task.resume)
    return adopted_context(loop, directory, task.task.context,
                           task.store->bundle_folder(task.task.id));
  return [&loop, directory, keep = std::move(keep)](ContextSource::Events events) {
    return std::make_unique<ContextPacker>(loop, reads_directory(directory), std::move(events),
                                           keep);
  };
}

// A program that reads a pipe must receive everything, and may be slower than the ranks for a
// while; a person at a terminal need not see everything.
std::size_t terminal_capacity() {
  return ::isatty(STDOUT_FILENO) == 1 ? Terminal::usual_capacity : 8 * Terminal::usual_capacity;
}

// The files of a task, created or read before its first host is reached.
struct Prepared {
  std::shared_ptr<LogSink> logs;
  LastErrors earlier_errors;  ///< when resuming
  Result<void> made;          ///< when not resuming
};

// For agents of a task that is placed anew, which others may follow on the same hosts.
constexpr milliseconds longest_farewell{15'000};

// All other steps at the end are bounded; this bounds the final write of the record.
constexpr milliseconds record_limit{10'000};
// When resuming: the time for counting the reports that ranks made under the previous launcher.
constexpr milliseconds count_limit{10'000};
// For the commands of the last events.
constexpr milliseconds events_limit{30'000};

// The parts of a supervisor; their order is the order of their lifetimes.
class Supervisor {
 public:
  Supervisor(SupervisedTask& task, HostConnections& connections, StopSignals& signals)
      : s_(task),
        signals_(signals),
        loop_(connections.loop),
        terminal_([this] { loop_.post([this] { has_room(); }); }, terminal_capacity()),
        transports_(connections.transports),
        journal_(loop_, s_.store, s_.task.id),
        recorder_(loop_, s_.store, s_.task, [this](const TerminalText& said) { print(said); }),
        keeper_(recorder_, s_.store, s_.task.id, [this](const TerminalText& said) { print(said); }),
        shown_(std::in_place, terminal_, s_.tee, fmt::format("train task logs {}", s_.task.id),
               prefix_of(s_)),
        story_(terminal_, *shown_, s_.plan.trial, s_.task, recorder_, time_) {
    if (s_.search != nullptr)
      search_story_.emplace(terminal_, *shown_, *s_.search, s_.task, recorder_, time_);
    if (s_.hosts.empty()) s_.hosts = trial_hosts(s_.plan.trial);
    if (s_.tee.is_folded) shown_->fold_lines(loop_, shown_ranks());
    transports_.print_through([this](const std::string& said) { print(TerminalText(said)); });
    recorder_.on_displaced([this] { found_displaced(); });
    if (!s_.resume) {
      const auto started = [this] {
        s_.on_first_start();
        recorder_.when_written([this] {
          has_started_ = true;
          note_steady();
        });
      };
      if (search_story_)
        search_story_->on_first_start(started);
      else
        story_.on_first_start(started);
      return;
    }
    story_.on_reached([this] { become_steady(); });
    if (search_story_) search_story_->on_reached([this] { become_steady(); });
    // Of a task that was moved nothing runs anywhere: it is stopped like any launch.
    if (!s_.resume->is_moved) await_hosts(longest_reach);
  }
  ~Supervisor() {
    transports_.print_through([](const std::string& said) { talk(TerminalText(said)); });
  }
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  Ended run() {
    if (!s_.stop_signal)
      events_.send_to(
          {s_.request.events_file, s_.plan.experiment.on_event, s_.task.working_directory});
    if (s_.outcome) return end(*s_.outcome);
    if (s_.resume) {
      recorder_.write();  // this process is now the launcher
      events_.take_over(s_.search ? std::nullopt
                                  : std::optional(s_.resume->replay.first().attempt));
    } else {
      keep_request();
    }
    const auto files = prepare();
    if (displacement_) return leave();
    if (is_going_back_) {
      put_back();
      return leave_to_queue();
    }
    if (left_by_) return s_.resume && !s_.resume->is_moved ? give_up() : stopped_early();
    const auto outcome = files->made ? drive(*files) : not_run(s_.plan.trial, files->made.error());
    if (displacement_) return leave();
    if (!outcome) return is_going_back_ ? leave_to_queue() : give_up();
    return may_be_placed_anew(*outcome) ? leave_place(outcome->cause->error) : end(*outcome);
  }

 private:
  // Runs in the background, apart from the recorder's thread: there may be files of very many ranks
  // on a slow disk. A signal that arrives meanwhile is stored in `left_by_`.
  std::shared_ptr<const Prepared> prepare() {
    const auto files = std::make_shared<Prepared>();
    const auto work = preparation(files);
    bool is_done = false;
    Background beside(loop_, Background::Idle::goes);
    const auto begun = beside.run(work, [&] {
      is_done = true;
      loop_.stop();
    });
    signals_.deliver(loop_, [this](int number) { signalled(number); });
    if (!begun) work();
    while (begun && !is_done && !left_by_ && !displacement_) loop_.run();
    signals_.hold_back();
    return files;
  }

  std::function<void()> preparation(const std::shared_ptr<Prepared>& files) const {
    const TaskRecord& task = s_.task;
    if (s_.resume) {
      files->logs = s_.logs;
      if (s_.search != nullptr) return [] {};
      return [files, directory = task.log_directory, attempt = s_.resume->replay.first().attempt,
              ranks = most_ranks(task)] {
        files->earlier_errors = last_errors(directory, attempt, ranks);
      };
    }
    const auto first = std::make_shared<AttemptLogs>(task.log_directory, most_ranks(task),
                                                     s_.plan.experiment.log_limit);
    files->logs = first;
    if (s_.search != nullptr)
      files->logs = std::make_shared<TrialLogs>(task.log_directory, task.world_size,
                                                s_.plan.experiment.log_limit);
    return [files, first, store = s_.store, id = task.id,
            hosts = first_hosts(hosts_until(s_.plan.trial)), directory = task.working_directory] {
      if (files->logs == first) files->made = first->create();
      if (files->made) files->made = keep_task_hosts(*store, id, hosts, directory);
    };
  }

  // How many of its hosts the task may have used once it runs there: all of a search, else those up
  // to the last one of these.
  std::size_t hosts_until(const Trial& trial) const {
    std::size_t count = s_.hosts.size();
    if (s_.search != nullptr) return count;
    const std::vector<std::string> names = host_names(trial);
    const std::set<std::string> used(names.begin(), names.end());
    while (count > 0 && !used.contains(s_.hosts[count - 1].name)) --count;
    return count;
  }
  std::vector<Host> first_hosts(std::size_t count) const {
    return {s_.hosts.begin(), s_.hosts.begin() + static_cast<std::ptrdiff_t>(count)};
  }

  void announce_place(const Plan& next) {
    for (const PlannedHost& planned : next.trial.hosts) replaced_.remove(planned.host.name);
    furthest_ = std::max(furthest_, hosts_until(next.trial));
    report_unwritten(
        keep_task_hosts(*s_.store, s_.task.id, first_hosts(furthest_), s_.task.working_directory));
    const std::string before = summarize_hosts(host_names(s_.plan.trial));
    const std::string now = summarize_hosts(host_names(next.trial));
    const std::string where = now == before ? fmt::format("on other slots of {}", now)
                                            : fmt::format("on {} instead of {}", now, before);
    print(terminal_text("attempt {}: {}{}", driver_->task().attempt(), where, words_on_size(next)));
  }
  // Empty if it has as many ranks as the attempt before.
  std::string words_on_size(const Plan& next) const {
    if (next.trial.world_size == s_.plan.trial.world_size) return {};
    std::string words =
        fmt::format(", with {} instead of {}", counted(next.trial.world_size, "rank"),
                    s_.plan.trial.world_size);
    const auto& batch = next.trial.global_batch_size;
    if (batch && next.trial.batch_sum != batch)
      words +=
          fmt::format("; they share {} samples of the batch of {}", *next.trial.batch_sum, *batch);
    return words;
  }

  // A launcher that dies before this is recorded has left it in the journal.
  void move_to(const Plan& next) {
    s_.plan.trial = next.trial;
    record_place(s_.task, next.trial, driver_->task().attempt());
    for (const int host : driver_->unsettled_hosts()) end_on(host);
  }

  // What the task has left on a host that it does not use any more.
  void end_on(int host) {
    if (!is_in_use(host))
      replaced_.add(host, {s_.hosts[static_cast<std::size_t>(host)], agent_key(s_.task.id, host)});
  }

  void become_steady() {
    patience_.reset();
    report_steady();
  }
  void report_steady() {
    s_.on_steady(describe_logins(transports_.logins(), s_.task.id));
    // Returns the memory of reading and planning, which is not needed for days.
    (void)::malloc_trim(0);
  }

  // Leaves the terminal after `patience` even if some hosts do not answer yet: they are awaited in
  // the background. Not while the user is being asked for something that is needed to reach them.
  void await_hosts(nanoseconds patience) {
    static constexpr std::chrono::seconds next_look{1};
    patience_ = loop_.after(patience, [this] {
      if (transports_.is_asking()) return await_hosts(next_look);
      become_steady();
    });
  }

  // Ctrl-C before adoption is complete leaves the task running: the user may only lack a passphrase
  // for it.
  void signalled(int number) {
    if (number == SIGUSR1) {
      was_warned_ = true;
      number = SIGTERM;
    }
    if (is_leaving_) return;
    if (is_going_back_) {
      if (is_in_queue_again()) return was_put_back();
    } else if (goes_back()) {
      return go_back();
    }
    if (driver_ && (!patience_ || s_.stop_signal)) return stop_driver(number);
    left_by_ = number;
    loop_.stop();
  }

  void stop_driver(int number) {
    if (is_leaving_) return;
    is_stopping_ = true;
    is_going_back_ = false;  // the user has the last word
    move_limit_.reset();
    if (search_)
      search_->stop(number);
    else
      driver_->stop(number);
  }

  static bool is_in_queue_again() { return goes_back_into_queue(false, 0); }

  // A task of limited time ends with its job.
  bool goes_back() const {
    const ExperimentConfig& experiment = s_.plan.experiment;
    if (!s_.may_go_back || is_stopping_ || (driver_ && driver_->over())) return false;
    if (was_warned_ && experiment.max_runtime) return false;
    return goes_back_into_queue(was_warned_, experiment.max_restarts);
  }

  // The ranks are stopped as at any end; what they write then is the next attempt's.
  void go_back() {
    print(terminal_text("{}: the ranks are stopped, and the task goes on once the job runs again",
                        was_warned_ ? words_on_end_of_job(s_.hosts, true)
                                    : "Slurm puts the job back into its queue"));
    begin_move(was_warned_);
  }

  void begin_move(bool is_put_back_here) {
    constexpr milliseconds slack{5'000};
    const ExperimentConfig& experiment = s_.plan.experiment;
    is_going_back_ = true;
    is_put_back_here_ = is_put_back_here;
    if (!driver_) return loop_.stop();
    move_limit_ = loop_.after(experiment.stop_notice + experiment.stop_grace + slack,
                              [this] { has_moved(); });
    driver_->move();
  }

  // Slurm has put the job back while ranks were being stopped for that, or a node was missed.
  void was_put_back() {
    is_put_back_here_ = false;
    if (is_node_missed_) put_back();
  }

  // Slurm takes minutes to miss a node, and would give it to the job again before.
  void miss_node() {
    constexpr std::chrono::minutes patience{6};
    if (is_going_back_ || !goes_back_after_loss()) return;
    print(TerminalText("the job goes back into Slurm's queue once Slurm misses the node too"));
    is_node_missed_ = true;
    begin_move(true);
    if (is_going_back_) move_limit_ = loop_.after(patience, [this] { put_back(); });
  }
  bool goes_back_after_loss() const {
    return s_.may_go_back && !is_stopping_ && !is_over() &&
           driver_->task().attempts().back() == AttemptState::waiting &&
           goes_back_into_queue(true, s_.plan.experiment.max_restarts);
  }

  void has_moved() {
    if (is_node_missed_) return;  // Slurm is waited for
    put_back();
  }

  void put_back() {
    move_limit_.reset();
    if (is_put_back_here_) {
      const auto told = go_back_into_queue();
      if (!told) {
        print(terminal_text(told.error()));
        if (driver_) return stop_driver(SIGTERM);
      }
    }
    is_leaving_ = true;
    loop_.stop();
  }

  // Slurm ends this process with the job, once those who watch the task have seen this.
  Ended leave_to_queue() {
    std::signal(SIGTERM, SIG_IGN);
    signals_.end();
    const bool is_recorded = recorder_.finish(record_limit);
    if (displacement_) return leave();
    driver_.reset();
    events_.finish(events_limit);
    terminal_.flush();
    return {exit_code_of(ErrorClass::busy),
            terminal_text("task {} goes on once its job runs again", s_.task.id), is_recorded};
  }

  // Signals get their default effect: one more ends this process.
  Ended stopped_early() {
    signals_.end();
    return end(not_run(s_.plan.trial, *left_by_));
  }

  // Leaves the task as it was: to its agents this looks like a launcher that died.
  Ended give_up() {
    signals_.end();
    driver_.reset();
    terminal_.flush();
    return {ExitCode(128 + *left_by_),
            terminal_text("task {} stays unattended: stopped by {} before its hosts were reached",
                          s_.task.id, signal_name(*left_by_))};
  }

  bool may_be_placed_anew(const RunOutcome& outcome) const {
    return s_.may_be_placed_anew && !has_started_ && !outcome.stop_signal && outcome.cause &&
           outcome.cause->error.error_class == ErrorClass::busy;
  }

  // The agents have started nothing, so they exit. A signal that arrives now is held back for the
  // next step (placement or the queue).
  Ended leave_place(const Error& why) {
    signals_.hold_back();
    const bool is_written = recorder_.finish(record_limit);
    if (displacement_) return leave();
    // The next agents are not to meet them: one may wait for the mutex of its leases.
    driver_->await_agents([this] { loop_.stop(); }, longest_farewell);
    loop_.run();
    driver_.reset();
    terminal_.flush();
    Ended ended;
    ended.is_refused = true;
    ended.is_recorded = is_written;
    ended.last_words = terminal_text("{}", why.diagnostics.front().message);
    if (is_written) return ended;
    signals_.end();  // no next step follows
    ended.code = exit_code_of(ErrorClass::no_input);
    ended.last_words = verdict(ErrorClass::no_input, ended.code);
    return ended;
  }

  // The registry or the logs show another launcher; no host has reported one.
  void found_displaced() {
    if (driver_ && !driver_->over())
      driver_->displace({});
    else
      displaced({});
  }

  void displaced(const TaskDriver::Displacement& by) {
    if (!displacement_) displacement_ = by;
    loop_.stop();
  }

  // The hosts, the record and the logs now belong to the other launcher.
  Ended leave() {
    signals_.end();
    const TerminalText words = words_on_leaving();
    driver_.reset();
    terminal_.flush();
    return {exit_code_of(ErrorClass::busy), words, false, SweepVerdict::clean, true};
  }

  TerminalText words_on_leaving() const {
    std::string by = displacement_->by;
    const auto recorded = s_.store->find(s_.task.id);
    if (by.empty() && recorded && recorded->launcher_pid != ::getpid())
      by = fmt::format("process {}", recorded->launcher_pid);
    const TerminalText who = by.empty() ? TerminalText() : terminal_text(" ({})", by);
    const TerminalText source = displacement_->host.empty()
                                    ? TerminalText(", as the registry says")
                                    : terminal_text(", as host '{}' says", displacement_->host);
    return terminal_text(
               "task {} goes on with another launcher{}{}; this one leaves it alone\n"
               "  train task attach {}    shows it\n",
               s_.task.id, who, source, s_.task.id) +
           verdict(ErrorClass::busy, exit_code_of(ErrorClass::busy));
  }

  // Through the terminal's queue, so that the message does not land inside a line of a rank.
  void print(const TerminalText& said) { terminal_.write(Terminal::Stream::err, talk_text(said)); }
  void has_room() {
    if (shown_) shown_->has_room();
  }

  // Ranks may have written their last errors under the previous launcher.
  void remember(const LastErrors& earlier_errors) {
    int rank = 0;
    for (const std::string& errors : earlier_errors.of_ranks)
      shown_->remember(s_.plan.trial.trial, rank++, errors);
    if (earlier_errors.trouble)
      print(terminal_text("the last lines of ranks that fail may be missing in the report: {}",
                          earlier_errors.trouble->diagnostics.front().message));
  }
  // `positions` has the ends of the output logs first, then those of the metrics logs.
  void count_reports(int attempt, const std::vector<std::uint64_t>& positions) {
    adopted_logs_.emplace(loop_, s_.task, [this](const TerminalText& said) { print(said); });
    const auto metrics = positions.begin() + s_.plan.trial.world_size;
    adopted_logs_->count_reports(
        attempt, {{metrics, positions.end()}, {positions.begin(), metrics}},
        s_.plan.experiment.metrics.patterns,
        [this](const ReportCount& counted) { story_.counted_before(counted); });
  }

  void keep_request() {
    keeper_.keep_request(s_.request, [this] {
      is_request_kept_ = true;
      note_steady();
    });
  }
  // Kept if ranks may outlive this launcher: another launcher may then restart them on other hosts.
  void keep_context(std::shared_ptr<const ArchivedContext> context) {
    if (s_.task.outlives_ms > 0 && !is_over()) keeper_.keep_context(std::move(context));
  }
  // Waits until the request is kept: as soon as the user is told that the task is detached, they
  // may view it or kill this launcher. Keeping the program takes long, so it comes afterwards.
  void note_steady() {
    if (!has_started_ || !is_request_kept_) return;
    report_steady();
    if (!is_over()) keeper_.keep_program();
  }
  // After the end nothing may be kept any more: nothing would delete it.
  bool is_over() const { return !driver_ || driver_->over(); }

  // Returns nothing if the task was left as it was.
  std::optional<RunOutcome> drive(const Prepared& files) {
    const auto acknowledge = [this] {
      if (driver_) driver_->acknowledge_output();
    };
    writer_.emplace(
        loop_, files.logs, s_.task.log_directory,
        LogWriter::Hooks{acknowledge, [this](const TerminalText& said) { print(said); },
                         s_.store->own_mark(s_.task.id), [this] { found_displaced(); }});
    output_.emplace(*shown_, *writer_, time_);
    story_.keep_hangs_in(s_.store->hang_file(s_.task.id));
    story_.on_attempt([this](int attempt) {
      output_->begin_attempt({s_.plan.trial.trial, attempt});
    });
    const Plan& plan = s_.plan;
    const int first_attempt = first_attempt_here();
    std::vector<std::uint64_t> adopted_positions;  // of its only trial
    if (s_.resume && s_.search == nullptr && !s_.resume->is_moved)
      adopted_positions = s_.resume->left[0].positions;
    const bool is_stop_known = s_.resume && !s_.resume->replay.stop_signals.empty();
    auto context = context_of(
        s_, loop_,
        [this](const std::shared_ptr<const ArchivedContext>& read) { keep_context(read); });
    const auto on_over = [this] { loop_.stop(); };
    TaskDriver::Hooks hooks = search_story_ ? search_story_->hooks_of_task(plan, on_over)
                                            : story_.hooks(first_attempt, on_over);
    if (!search_story_) {
      measures_.emplace(
          loop_, recorder_, time_,
          MeasureRecord::Files{s_.store->usage_file(s_.task.id), s_.store->starts_file(s_.task.id)},
          plan.trial, most_ranks(s_.task), [this](const TerminalText& said) { print(said); });
      hooks = measures_->recording(std::move(hooks), first_attempt, s_.resume.has_value());
    }
    if (const auto made = make_search(); !made) return not_run(plan.trial, made.error());
    if (search_) hooks = search_->hooks_of_task(std::move(hooks));
    hooks.on_moved = [this] {
      if (move_limit_) has_moved();
    };
    if (s_.may_go_back && !search_story_)
      hooks.on_attempt_over = [this, told = std::move(hooks.on_attempt_over)](
                                  int attempt, const RunOutcome& outcome) {
        told(attempt, outcome);
        const bool is_loss = outcome.cause && outcome.were_told_to_start &&
                             outcome.cause->error.error_class == ErrorClass::host;
        if (is_loss) loop_.post([this] { miss_node(); });
      };
    auto next_place = look_for_spares();
    hooks.on_next_place = [this](const Plan& next) { announce_place(next); };
    hooks.on_new_place = [this](const Plan& next) { move_to(next); };
    if (next_place)
      hooks.on_match = [this, told = std::move(hooks.on_match)](const LogPolicy& policy,
                                                                const PolicyMatch& match) {
        told(policy, match);
        const Trial& trial = s_.plan.trial;
        const auto rank = static_cast<std::size_t>(match.rank);
        if (policy.excludes_node)
          spares().exclude(trial.hosts[static_cast<std::size_t>(trial.ranks[rank].host)].host.name,
                           fmt::format("log policy '{}'", policy.title()));
      };
    hooks.on_displaced = [this](const TaskDriver::Displacement& by) { displaced(by); };
    driver_.emplace(
        TaskDriver::Ports{loop_, transports_, *output_, std::move(context), &events_},
        TaskDriver::Work{
            plan, s_.task.id, port_needs(plan),
            start_directory_of(plan.experiment, s_.request.context_directory),
            [&plan](int rank, int attempt) { return environment_of(plan, rank, attempt); },
            boot_id(), std::move(s_.resume), s_.stop_signal.has_value(), launcher_words(), &time_,
            s_.order, s_.hosts, std::move(next_place), search_ != nullptr},
        std::move(hooks));
    live_status_.emplace(terminal_, loop_, *shown_, s_.task,
                         [this] { return status_of(*driver_, transports_.logins()); });
    remember(files.earlier_errors);
    if (!adopted_positions.empty()) count_reports(first_attempt, adopted_positions);
    if (is_watched() && !search_) live_status_->begin();
    signals_.deliver(loop_, [this](int number) { signalled(number); });
    if (search_)
      search_->start(*driver_);
    else
      driver_->start();
    // The launcher before this one may have gone on without some of these.
    if (const TaskDriver::Resumption* left = driver_->resumption())
      for (std::size_t host = 0; host < s_.hosts.size(); ++host)
        if (left->replay.hosts.contains(s_.hosts[host].name)) end_on(static_cast<int>(host));
    const auto control = open_control(loop_, s_.store->control_socket(s_.task.id), s_.task.id,
                                      {*driver_, transports_.logins(),
                                       [this](int signal) { stop_driver(signal); }, search_.get()},
                                      [this](const TerminalText& said) { print(said); });
    if (s_.stop_signal && !is_stop_known) stop_driver(*s_.stop_signal);
    if (!driver_->over()) loop_.run();
    live_status_->end();
    if (displacement_)
      writer_->leave();
    else
      writer_->finish();
    shown_->end();
    if (!driver_->over()) return std::nullopt;
    return search_ ? search_->outcome() : driver_->outcome();
  }

  // In a job, Slurm gives other nodes.
  decltype(TaskDriver::Work::next_place) look_for_spares() {
    if (s_.search != nullptr || s_.may_go_back || !may_move(s_.plan.experiment)) return {};
    furthest_ = hosts_until(s_.plan.trial);
    if (s_.resume) left_out_ = s_.resume->replay.left_out;
    if (s_.resume)
      if (const auto kept = read_task_hosts(*s_.store, s_.task.id))
        furthest_ = std::max(furthest_, std::min(kept->size(), s_.hosts.size()));
    return [this](const RunOutcome& outcome) {
      std::set<std::string> unreached;
      for (const int host : replaced_.unsettled())
        unreached.insert(s_.hosts[static_cast<std::size_t>(host)].name);
      return spares().after(s_.plan, outcome, unreached, loop_.now());
    };
  }

  // Made when it is first needed: there may be many hosts.
  SpareHosts& spares() {
    if (spares_) return *spares_;
    std::set<std::string> names;
    for (const Host& host : s_.hosts) names.insert(host.name);
    usable_ = s_.request.inventory;
    std::erase_if(usable_.hosts, [&](const Host& host) { return !names.contains(host.name); });
    spares_.emplace(usable_, s_.request.occupancy, most_ranks(s_.task));
    for (const LeftOutHost& each : left_out_) spares_->exclude(each.host, each.why);
    return *spares_;
  }

  // The attempt that runs, or the one that is to begin where the task goes on.
  int first_attempt_here() const {
    if (!s_.resume) return 0;
    const TrialReplay& first = s_.resume->replay.first();
    return s_.resume->is_moved ? first.task.attempt() : first.attempt;
  }

  Result<void> make_search() {
    if (!search_story_) return {};
    std::optional<SearchLeft> left;
    if (s_.resume) left.emplace(SearchLeft{s_.resume->replay, *s_.left});
    auto made = SearchDriver::make({*s_.search, s_.request.inventory, s_.hosts, s_.plan,
                                    s_.request.occupancy, s_.request.is_strict},
                                   loop_, search_story_->hooks(), left ? &*left : nullptr);
    if (!made) return tl::make_unexpected(made.error());
    search_ = std::move(*made);
    search_story_->follow(*search_, *output_);
    // When resuming, trial 0 may have ended already; its logs must not be created again.
    if (!left) output_->begin_attempt({});
    if (is_watched()) search_story_->show_trials(loop_);
    return {};
  }

  // A user watches stderr while the task runs, and nothing else moves the cursor.
  bool is_watched() const {
    return ::isatty(STDERR_FILENO) == 1 && !s_.request.is_detached && !s_.tee.raw &&
           s_.tee.progress == Progress::live;
  }

  // How many ranks can print the same line; the trials of a search are not known before.
  std::size_t shown_ranks() const {
    if (prefix_of(s_) == RankOutput::Prefix::trial) return 0;
    std::size_t count = 0;
    for (int rank = 0; rank < most_ranks(s_.task); ++rank) count += s_.tee.shows(rank) ? 1 : 0;
    return count;
  }

  // The trial that the outcome describes; for a search, which has many trials, an empty one.
  const Trial& trial_of_outcome() const {
    static const Trial none;
    return s_.search != nullptr ? none : s_.plan.trial;
  }

  // Hosts whose agents may have been killed, or were not seen to exit. Hosts that did not answer
  // are skipped, unless this process only stops the task.
  std::set<int> doubtful_hosts(const RunOutcome& outcome) const {
    if (!driver_) return {};
    std::set<int> hosts = unsettled_hosts();
    if (!s_.stop_signal && search_ == nullptr)
      for (const Leftover& leftover : outcome.leftovers)
        hosts.erase(driver_->hosts().of_task(leftover.host));
    for (const int host : driver_->broken_hosts())
      if (is_in_use(host)) hosts.insert(host);
    return hosts;
  }

  // By the last attempt of a task that is no search; a search may use all of its hosts.
  bool is_in_use(int host) const { return search_ != nullptr || driver_->hosts().is_on(host); }

  // The ranks of a host that was replaced had ended before the task went on, unless it was at once.
  std::set<int> unsettled_hosts() const {
    std::set<int> hosts;
    if (!driver_) return hosts;
    if (s_.plan.experiment.replaces_at_once) hosts = replaced_.unsettled();
    for (const int host : driver_->unsettled_hosts())
      if (is_in_use(host)) hosts.insert(host);
    return hosts;
  }

  void report_unwritten(const Result<void>& kept) {
    if (!kept) print(terminal_text("{}", terminal_text(kept.error())));
  }

  // Agents that wait for another launcher without a limit do not exit by themselves.
  std::optional<Goodbye> goodbye() const {
    const bool agents_wait = s_.task.outlives_ms >= for_ever.count();
    return agents_wait || s_.stop_signal ? std::optional(last_goodbye()) : std::nullopt;
  }

  // Records the end before the terminal has taken all output: a terminal may be paused for hours
  // (Ctrl-S). After the sweep, which a signal cuts short, signals have their default effect, so one
  // more Ctrl-C ends this process.
  Ended end(const RunOutcome& outcome) {
    TaskRecord& task = s_.task;
    task.ended = now_on_the_wall();
    if (adopted_logs_) adopted_logs_->finish(count_limit);
    story_.end(outcome);
    record_outcome(task, outcome, trial_of_outcome());
    const std::string end_of_job =
        outcome.succeeded ? std::string() : words_on_end_of_job(s_.hosts, was_warned_);
    if (!end_of_job.empty()) task.cause += "; " + end_of_job;
    if (search_) print(search_story_->summary());
    const std::set<int> unsettled_before = unsettled_hosts();
    keeper_.keep_unsettled(unsettled_before);  // unrecorded hosts count as unsettled
    const bool is_recorded = recorder_.finish(record_limit);
    if (displacement_) return leave();
    if (driver_) {
      driver_->await_agents([this] { loop_.stop(); });
      loop_.run();
    }
    std::set<int> unsettled = unsettled_hosts();
    const auto doubtful = doubtful_hosts(outcome);  // before the sweep, which runs the loop
    std::vector<AbandonedHost> abandoned;
    abandoned.reserve(doubtful.size());
    for (const int host : doubtful)
      abandoned.push_back({s_.hosts[static_cast<std::size_t>(host)], agent_key(s_.task.id, host)});
    const nanoseconds limit = outcome.is_cut_short ? hurried_sweep_limit : sweep_limit;
    const auto answers = sweep_hosts(loop_, transports_, signals_, abandoned, limit, goodbye());
    auto answer = answers.begin();
    for (const int host : doubtful)
      if (is_clean(*answer++)) unsettled.erase(host);
    // Written synchronously: the disk has just answered.
    if (is_recorded && unsettled != unsettled_before)
      report_unwritten(keep_unsettled_hosts(*s_.store, task.id, unsettled));
    TerminalText found = describe_sweep(abandoned, answers);
    driver_.reset();
    events_.finish(events_limit);
    terminal_.flush();
    const TerminalText words = last_words(outcome, trial_of_outcome(), *shown_, task);
    for (const TerminalText& more : {terminal_text("{}", end_of_job), words}) {
      if (!found.empty() && !more.empty()) found += "\n";
      found += more;
    }
    return {exit_code_of(outcome), found, is_recorded, verdict_of(answers)};
  }

  static constexpr std::chrono::seconds longest_reach{15};

  static RankOutput::Prefix prefix_of(const SupervisedTask& task) {
    if (task.search == nullptr) return RankOutput::Prefix::rank;
    return most_ranks(task.task) == 1 ? RankOutput::Prefix::trial
                                      : RankOutput::Prefix::trial_and_rank;
  }

  SupervisedTask& s_;
  StopSignals& signals_;
  Loop loop_;  ///< part of the loop of `HostConnections`
  EventTime time_{loop_, wall_time};
  std::unique_ptr<SearchDriver> search_;
  std::optional<TaskDriver> driver_;
  Terminal terminal_;
  HostTransports& transports_;
  TaskJournal journal_;
  EventFeed events_{loop_, journal_, s_.task, [this](const TerminalText& said) { print(said); }};
  TaskRecorder recorder_;
  TaskKeeper keeper_;
  std::optional<MeasureRecord> measures_;
  std::optional<RankOutput> shown_;
  LaunchStory story_;
  std::optional<SearchStory> search_story_;
  std::optional<LiveStatus> live_status_;
  std::optional<AdoptedLogs> adopted_logs_;
  HostInventory usable_;  ///< for these:
  std::optional<SpareHosts> spares_;
  std::vector<LeftOutHost> left_out_;  ///< by the launcher before this one
  ReplacedHosts replaced_{{loop_, transports_}, last_goodbye};
  std::size_t furthest_ = 0;  ///< number of first hosts that it may have used
  bool has_started_ = false;
  bool is_request_kept_ = false;            ///< or cannot be kept
  std::unique_ptr<Subscription> patience_;  ///< when resuming: until the task is steady
  bool was_warned_ = false;                 ///< by Slurm, of the end of its job
  // Of a job that goes back into Slurm's queue:
  bool is_going_back_ = false;                ///< it is about to
  bool is_put_back_here_ = false;             ///< Slurm has not put it there yet
  bool is_node_missed_ = false;               ///< it is waited for Slurm to miss a node
  bool is_leaving_ = false;                   ///< this process has nothing more to do for the task
  bool is_stopping_ = false;                  ///< the task was told to stop
  std::unique_ptr<Subscription> move_limit_;  ///< while ranks are stopped for that
  std::optional<int> left_by_;  ///< the signal that ended this process's work before the task ran
  std::optional<TaskDriver::Displacement> displacement_;
  std::optional<LogWriter> writer_;
  std::optional<LaunchOutput> output_;
};

}  // namespace

std::string launcher_words() {
  return fmt::format("process {} on '{}'", ::getpid(), first_line_of("/proc/sys/kernel/hostname"));
}

RunOutcome not_run(const Trial& trial, const Error& why) {
  RunOutcome outcome;
  outcome.ranks.resize(trial.ranks.size());
  outcome.cause = Failure{{}, why, std::nullopt, -1, 0};
  return outcome;
}

RunOutcome not_run(const Trial& trial, int stop_signal) {
  RunOutcome outcome;
  outcome.ranks.resize(trial.ranks.size());
  outcome.stop_signal = stop_signal;
  return outcome;
}

Ended supervise(SupervisedTask supervised, HostConnections& connections, StopSignals& signals) {
  return Supervisor(supervised, connections, signals).run();
}

void ignore_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGTSTP, SIG_IGN);
}

}  // namespace train
