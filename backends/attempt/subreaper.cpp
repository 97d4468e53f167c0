// SPDX-License-Identifier: Apache-2.0
#include "backends/attempt/subreaper.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include "backends/posix/proc.hpp"
#include "backends/process/own_processes.hpp"
#include "launcher/run/outcome.hpp"

namespace train {

namespace {

using namespace std::chrono_literals;

constexpr nanoseconds tree_limit = 5s;
// How long killed processes have to end before the next look.
constexpr int round_milliseconds = 5;
// How long to wait for the end of a process that has closed its connections.
constexpr std::chrono::seconds end_patience{2};
// The pause before the next try to start a thread.
constexpr nanoseconds thread_pause = 100ms;

struct Remains {
  std::vector<EndedChild> collected;
  std::vector<Survivor> survivors;
};

// Kills once everything that is not below the process of another attempt. Returns the children that
// are left.
std::vector<int> kill_what_is_left(std::vector<EndedChild>& collected) {
  kill_descendants(own_processes, SIGKILL);
  std::vector<int> left;
  const std::vector<int> children = children_of(::getpid());
  const std::set<int> own = own_processes();
  for (const int pid : children) {
    if (own.contains(pid)) continue;
    if (const auto status = collect_child(pid, boot_time()))
      collected.push_back({pid, *status});
    else
      left.push_back(pid);
  }
  return left;
}

// Waits for the end of a process that has ended, or will in a few seconds, and reaps it. If it did
// not exit with 0, its ranks have died with it, and the processes they have left are children of
// this process by now: kills them.
Remains see_off(pid_t process) {
  siginfo_t info{};
  (void)uninterrupted(
      [&] { return ::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOWAIT); });
  collect_own_process(process);
  Remains remains;
  if (info.si_code == CLD_EXITED && info.si_status == 0) return remains;
  const Instant deadline = boot_time() + tree_limit;
  while (true) {
    const std::vector<int> left = kill_what_is_left(remains.collected);
    if (left.empty()) return remains;
    if (boot_time() >= deadline) {
      for (const int pid : left) remains.survivors.push_back(describe(pid));
      return remains;
    }
    (void)::poll(nullptr, 0, round_milliseconds);
  }
}

// The status of a process that has ended and is reaped later.
ExitStatus status_of_ended(pid_t process) {
  siginfo_t info{};
  ExitStatus status;
  if (::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOWAIT | WNOHANG) != 0 ||
      info.si_pid != process)
    return status;
  (info.si_code == CLD_EXITED ? status.code : status.signal) = info.si_status;
  return status;
}

}  // namespace

std::string words_of_subreaper_end(const ExitStatus& status) {
  if (status.signal) return "was killed by " + signal_name(*status.signal);
  if (!status.code) return "was killed";
  switch (static_cast<SubreaperFailure>(*status.code)) {
    case SubreaperFailure::no_thread:
      return "could have no thread: the user's limit of processes may be reached (ulimit -u)";
    case SubreaperFailure::no_memory:
      return "is out of memory";
    case SubreaperFailure::no_descriptor:
      return "could have no file descriptor: too many files may be open on the host "
             "(sysctl fs.file-nr)";
    case SubreaperFailure::bug:
      break;
  }
  return "has ended with code " + std::to_string(*status.code);
}

void IdleSubreapers::add(SubreaperProcess process) {
  auto ended =
      loop_.when_readable(process.pidfd.get(), [this, pid = process.pid] { collect(pid); });
  idle_.push_back({std::move(process), std::move(ended)});
}

std::optional<SubreaperProcess> IdleSubreapers::take() {
  while (!idle_.empty()) {
    Idle last = std::move(idle_.back());
    idle_.pop_back();
    if (!has_ended(last.process.pidfd)) return std::move(last.process);
    collect_own_process(last.process.pid);
  }
  return {};
}

// An idle process has ended: it was killed from outside.
void IdleSubreapers::collect(pid_t process) {
  std::erase_if(idle_, [process](const Idle& each) { return each.process.pid == process; });
  collect_own_process(process);
}

// `socket` and `attempt` are set before the thread that calls `ask` exists.
struct Subreaper::Starts {
  Descriptor socket;
  std::uint32_t attempt = 0;

  Result<ChildAnswer> ask(const ChildRequest& request);
  Descriptor take_unless_used();
  void note_kill();
  void note_end(const std::string& how);

 private:
  Error reason_for_none();

  std::mutex using_;  ///< locked for as long as a start takes
  std::mutex mutex_;
  std::condition_variable known_;
  bool is_ending_ = false;
  std::string how_it_ended_;
};

// A later `ask` fails with the error that the attempt was ended.
Descriptor Subreaper::Starts::take_unless_used() {
  const std::unique_lock lock(using_, std::try_to_lock);
  return lock ? std::move(socket) : Descriptor();
}

Result<ChildAnswer> Subreaper::Starts::ask(const ChildRequest& request) {
  const std::lock_guard lock(using_);
  if (!socket) return tl::make_unexpected(reason_for_none());
  auto answer = ask_for_child(socket.get(), request, attempt);
  if (!answer) return tl::make_unexpected(answer.error());
  const bool is_answered = *answer && (*answer)->child.failed != ChildStep::parent;
  if (is_answered) return std::move(**answer);
  return tl::make_unexpected(reason_for_none());
}

// The end of the connection is noticed before the end of the process, so this waits for the latter.
Error Subreaper::Starts::reason_for_none() {
  std::unique_lock lock(mutex_);
  (void)known_.wait_for(lock, end_patience, [&] { return is_ending_ || !how_it_ended_.empty(); });
  if (is_ending_)
    return make_error(ErrorClass::host, "its attempt was ended before it was started");
  return make_error(ErrorClass::host, "the process that ranks are started from " +
                                          (how_it_ended_.empty() ? "has ended" : how_it_ended_));
}

void Subreaper::Starts::note_kill() {
  const std::lock_guard lock(mutex_);
  is_ending_ = true;
  known_.notify_all();
}

void Subreaper::Starts::note_end(const std::string& how) {
  const std::lock_guard lock(mutex_);
  how_it_ended_ = how;
  known_.notify_all();
}

Subreaper::Subreaper(Loop& loop, IdleSubreapers& idle, Events events)
    : loop_(loop),
      idle_(idle),
      events_(std::move(events)),
      starts_(std::make_shared<Starts>()),
      cleaning_(loop) {}

// The process ends by itself once its sockets are closed. If no thread can be started to reap it,
// it stays a zombie until the agent ends.
Subreaper::~Subreaper() {
  kill();
  if (process_ > 0) (void)start_thread([process = process_] { (void)see_off(process); });
}

Result<void> Subreaper::start() {
  auto process = idle_.take();
  if (!process) {
    Result<SubreaperProcess> made;
    start_own_process([&] {
      made = start_subreaper_process();
      return made ? made->pid : -1;
    });
    if (!made) return tl::make_unexpected(made.error());
    process = std::move(*made);
  }
  process_ = process->pid;
  starts_->socket = std::move(process->starts);
  starts_->attempt = process->attempt;
  pidfd_ = std::move(process->pidfd);
  talk_.emplace(std::move(process->talk));
  readable_ = loop_.when_readable(talk_->socket(), [this] { receive(); });
  ended_ = loop_.when_readable(pidfd_.get(), [this] { process_ended(); });
  return {};
}

StartChild Subreaper::child_start() const {
  return [starts = starts_](const ChildRequest& request) { return starts->ask(request); };
}

// After `kill` the pid could belong to a rank of another attempt.
void Subreaper::signal_rank(int pid, int signal) {
  if (!is_killing_) send({SubreaperCommand::Kind::signal_rank, pid, signal});
}

void Subreaper::kill() {
  starts_->note_kill();
  if (!std::exchange(is_killing_, true)) send({SubreaperCommand::Kind::kill_all});
}

void Subreaper::kill_process() {
  if (process_ > 0) ::kill(process_, SIGKILL);
}

// Sends SIGCONT with each command, in case the process was stopped.
void Subreaper::send(const SubreaperCommand& command) {
  if (!talk_ || process_ <= 0) return;
  talk_->send(command);
  ::kill(process_, SIGCONT);
  if (!talk_->has_waiting() || sendable_) return;
  sendable_ = loop_.when_writable(talk_->socket(), [this] {
    talk_->flush();
    if (!talk_->has_waiting()) sendable_.reset();
  });
}

void Subreaper::receive() {
  while (const auto news = talk_->receive_news()) {
    if (news->kind == SubreaperNews::Kind::rank_ended) {
      events_.on_end(news->pid, status_in(*news));
    } else if (news->kind == SubreaperNews::Kind::survivor) {
      survivors_.push_back(survivor_in(*news));
    } else {
      return all_gone();
    }
  }
  if (talk_->is_over()) readable_.reset();
}

// `gone` is the last record of the process for this attempt.
void Subreaper::all_gone() {
  is_gone_ = true;
  if (survivors_.empty()) give_back();
  events_.on_gone(std::exchange(survivors_, {}));
}

// From now on, commands to the process would be for another attempt, so this one gives up its
// sockets. Keeps the process if a start still uses it.
void Subreaper::give_back() {
  if (!ended_ || talk_->has_waiting() || talk_->is_over()) return;
  Descriptor starts = starts_->take_unless_used();
  if (!starts) return;
  readable_.reset();
  sendable_.reset();
  ended_.reset();
  idle_.add({std::exchange(process_, -1), std::move(pidfd_), talk_->take_socket(),
             std::move(starts), starts_->attempt + 1});
  talk_.reset();
}

// Reads the last records of the process first.
void Subreaper::process_ended() {
  ended_.reset();
  receive();
  how_it_ended_ = words_of_subreaper_end(status_of_ended(process_));
  starts_->note_end(how_it_ended_);
  sendable_.reset();
  was_killed_ = !is_gone_;
  if (was_killed_) return clean_up();
  collect_own_process(std::exchange(process_, -1));
}

// Runs beside the loop: it waits until everything has ended.
void Subreaper::clean_up() {
  const auto remains = std::make_shared<Remains>();
  const auto work = [remains, process = process_] { *remains = see_off(process); };
  const auto done = [this, remains] {
    for (const EndedChild& each : remains->collected) events_.on_end(each.pid, each.status);
    is_gone_ = true;
    events_.on_gone(std::move(remains->survivors));
  };
  if (cleaning_.run(work, done))
    process_ = -1;
  else
    retry_ = loop_.after(thread_pause, [this] { clean_up(); });
}

}  // namespace train
