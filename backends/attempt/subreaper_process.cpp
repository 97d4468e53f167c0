// SPDX-License-Identifier: Apache-2.0
// The code that runs in the process of a subreaper. The process begins as a copy of the agent, with
// memory of its own. Of that copy it uses only its two sockets and the C library, whose locks
// fork(2) has left in a usable state.
#include "backends/attempt/subreaper_process.hpp"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <vector>

#include "backends/attempt/subreaper_talk.hpp"
#include "backends/event_loop/loop.hpp"
#include "backends/posix/child.hpp"
#include "backends/posix/proc.hpp"
#include "backends/process/process_tree.hpp"
#include "backends/process/spawner.hpp"

namespace train {

namespace {

using namespace std::chrono_literals;

// A rank may be stuck in the kernel (a dead NFS server, a sick driver).
constexpr nanoseconds rank_limit = 5s;
constexpr nanoseconds whole_tree_limit = 5s;
// Within this time a dying agent has taken this process along (PDEATHSIG).
constexpr nanoseconds death_limit = 1s;

ChildAnswer not_started(ChildStep step, int error) {
  ChildAnswer answer;
  answer.child.failed = step;
  answer.child.error = error;
  return answer;
}

// To be called in a catch block. The agent sees only this exit code, and cleans up.
[[noreturn]] void exit_with_failure() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    ::_exit(static_cast<int>(SubreaperFailure::no_memory));
  } catch (...) {
    ::_exit(static_cast<int>(SubreaperFailure::bug));
  }
}

// One thread serves the agent, one starts ranks, which may take for ever. The two share state only
// within this process.
class RankParent {
 public:
  RankParent(Descriptor talk, Descriptor starts)
      : talk_(std::move(talk)), starts_(std::move(starts)) {}

  int run();

 private:
  void start_ranks();
  ChildAnswer start_rank(const AskedChild& asked);
  void serve();
  void collect();
  void receive();
  void carry_out(const SubreaperCommand& command);
  void finish_kill();
  void note_end(int pid, const ExitStatus& status);
  void wait(std::optional<nanoseconds> limit);

  SubreaperTalk talk_;  ///< the serving thread's
  Descriptor starts_;   ///< the starting thread's
  Descriptor ended_children_;
  std::optional<Instant> over_at_;  ///< the agent's end of the talk was closed
  std::optional<Instant> kill_until_;

  std::mutex mutex_;
  std::set<int> ranks_;  ///< that have not been reaped
  bool is_starting_ = false;
  bool has_skipped_ = false;  ///< `collect` may have left children unreaped during a start
  bool is_killing_ = false;
  std::uint32_t attempt_ = 0;
  bool is_over_ = false;  ///< the attempt has ended, and no other attempt can use this process
};

int RankParent::run() {
  sigset_t children;
  ::sigemptyset(&children);
  ::sigaddset(&children, SIGCHLD);
  ended_children_ = Descriptor(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!ended_children_) return static_cast<int>(SubreaperFailure::no_descriptor);
  if (!start_thread([this] { start_ranks(); }))
    return static_cast<int>(SubreaperFailure::no_thread);
  serve();
  return 0;
}

// Runs on a thread of its own. It never returns: ranks die with the thread that started them
// (PDEATHSIG), so the thread must live as long as the process.
void RankParent::start_ranks() {
  try {
    while (auto asked = await_child_request(starts_.get()))
      if (!answer_child_request(starts_.get(), start_rank(*asked))) break;
  } catch (...) {
    exit_with_failure();
  }
  starts_.reset();
  while (true) ::pause();
}

ChildAnswer RankParent::start_rank(const AskedChild& asked) {
  if (asked.error != 0) return not_started(ChildStep::descriptors, asked.error);
  {
    const std::lock_guard lock(mutex_);
    // The attempt of this request may have ended meanwhile.
    if (is_killing_ || asked.attempt != attempt_) return not_started(ChildStep::parent, ECHILD);
    is_starting_ = true;
  }
  const ChildRequest request{asked.spec,         asked.output.get(),
                             asked.errors.get(), asked.open_files ? &*asked.open_files : nullptr,
                             asked.cgroup.get(), asked.joins_cgroup};
  auto answer = start_as_child(request);
  if (!answer) answer = not_started(ChildStep::descriptors, EMFILE);
  const std::lock_guard lock(mutex_);
  is_starting_ = false;
  const int pid = answer->child.pid;
  if (pid > 0) ranks_.insert(pid);
  // The rank was being started when everything else was killed.
  if (pid > 0 && is_killing_) signal_group(pid, SIGKILL);
  if (has_skipped_ || is_killing_) ::kill(::getpid(), SIGCHLD);
  return std::move(*answer);
}

void RankParent::serve() {
  while (!is_over_ || (talk_.has_waiting() && !talk_.is_over())) {
    std::unique_lock lock(mutex_);
    collect();
    const bool is_due = is_killing_ && !is_over_;
    const bool is_quiet = ranks_.empty() && !is_starting_;
    lock.unlock();
    if (is_due && !kill_until_) {
      kill_descendants(nullptr, SIGKILL);
      kill_until_ = boot_time() + rank_limit;
    } else if (is_due && (is_quiet || boot_time() >= *kill_until_)) {
      finish_kill();
      kill_until_.reset();
    } else {
      std::optional<nanoseconds> limit;
      if (is_due)
        limit = *kill_until_ - boot_time();
      else if (over_at_)
        limit = *over_at_ + death_limit - boot_time();
      wait(limit);
      receive();
    }
  }
}

// While a rank is being started, its pid is not known yet, and it must not be reaped as an orphan.
// The caller holds the mutex, also for the functions below.
void RankParent::collect() {
  const Instant now = boot_time();
  has_skipped_ = is_starting_;
  if (is_starting_) {
    for (const int pid : std::set<int>(ranks_))
      if (const auto status = collect_child(pid, now)) note_end(pid, *status);
    return;
  }
  while (const auto ended = collect_any(now)) note_end(ended->pid, ended->status);
}

void RankParent::note_end(int pid, const ExitStatus& status) {
  if (ranks_.erase(pid) > 0) talk_.send(news_of(pid, status));
}

void RankParent::receive() {
  talk_.flush();
  const std::lock_guard lock(mutex_);
  while (const auto command = talk_.receive_command()) carry_out(*command);
  // The owner sends kill_all before it closes the socket. If it has not, the agent is dying, and
  // this process with it; the guard or a sweep then kills and counts the processes that are left.
  if (!talk_.is_over()) return;
  if (!over_at_) over_at_ = boot_time();
  if (boot_time() - *over_at_ >= death_limit) is_killing_ = true;
}

void RankParent::carry_out(const SubreaperCommand& command) {
  if (command.kind == SubreaperCommand::Kind::kill_all) {
    is_killing_ = true;
    for (const int pid : ranks_) signal_group(pid, SIGKILL);
  } else if (ranks_.contains(command.pid)) {
    signal_group(command.pid, command.signal);
    signal_group(command.pid, SIGCONT);  // a stopped rank takes the signal only once it goes on
  }
}

// Ranks that end only now are reported as killed: their real statuses are lost.
void RankParent::finish_kill() {
  const std::vector<Survivor> survivors = kill_all_descendants(whole_tree_limit);
  const std::lock_guard lock(mutex_);
  for (const int pid : std::set<int>(ranks_)) {
    const bool survives = std::any_of(survivors.begin(), survivors.end(),
                                      [pid](const Survivor& each) { return each.pid == pid; });
    if (!survives) note_end(pid, {.code = {}, .signal = SIGKILL, .at = boot_time()});
  }
  for (const Survivor& survivor : survivors) talk_.send(news_of(survivor));
  talk_.send(SubreaperNews{});
  is_over_ = talk_.is_over() || !survivors.empty() || is_starting_;
  if (is_over_) return;
  is_killing_ = false;
  ++attempt_;
}

// Waits for a record of the agent or for the end of a child. All signals are blocked, and SIGCHLD
// comes through the signalfd, so that none is lost between a check and the next wait.
void RankParent::wait(std::optional<nanoseconds> limit) {
  pollfd polled[] = {
      {talk_.socket(), static_cast<short>(talk_.has_waiting() ? POLLIN | POLLOUT : POLLIN), 0},
      {ended_children_.get(), POLLIN, 0}};
  // Once the agent has gone, its socket is always ready.
  if (talk_.is_over()) polled[0].fd = -1;
  int milliseconds_left = -1;
  if (limit)
    milliseconds_left =
        static_cast<int>(std::chrono::ceil<milliseconds>(std::max(*limit, nanoseconds(0))).count());
  (void)::poll(polled, 2, milliseconds_left);
  signalfd_siginfo ended;
  while (::read(ended_children_.get(), &ended, sizeof ended) > 0) continue;
}

[[noreturn]] void be_subreaper(Descriptor talk, Descriptor starts, pid_t parent) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  // If the parent has died before prctl, the signal will never come.
  if (::getppid() != parent) ::_exit(0);
  (void)become_subreaper();  // if the kernel refuses, the agent or its guard is still one
  close_others({talk.get(), starts.get()});
  try {
    ::_exit(RankParent(std::move(talk), std::move(starts)).run());
  } catch (...) {
    exit_with_failure();
  }
}

tl::unexpected<Error> cannot(const char* what, int error) {
  return fail(ErrorClass::host, std::string("cannot ") + what + ": " + system_reason(error),
              error == EAGAIN ? "the user's limit of processes may be reached (ulimit -u)" : "");
}

struct SocketPair {
  Descriptor ours;
  Descriptor childs;
};

Result<SocketPair> make_sockets() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return cannot("make a connection to a process", errno);
  SocketPair pair{Descriptor(ends[0]), Descriptor(ends[1])};
  auto ours = above_standard(std::move(pair.ours));
  if (!ours) return tl::make_unexpected(ours.error());
  auto childs = above_standard(std::move(pair.childs));
  if (!childs) return tl::make_unexpected(childs.error());
  return SocketPair{std::move(*ours), std::move(*childs)};
}

}  // namespace

Result<SubreaperProcess> start_subreaper_process() {
  auto talk = make_sockets();
  if (!talk) return tl::make_unexpected(talk.error());
  auto starts = make_sockets();
  if (!starts) return tl::make_unexpected(starts.error());
  SubreaperProcess process;
  const pid_t parent = ::getpid();
  {
    const WithoutSignals blocked;  // the handlers are not made to run in a second process
    process.pid = ::fork();
    if (process.pid == 0) be_subreaper(std::move(talk->childs), std::move(starts->childs), parent);
  }
  if (process.pid < 0) return cannot("start a process", errno);
  process.pidfd = open_process(process.pid);
  if (!process.pidfd) {
    const int error = errno;
    ::kill(process.pid, SIGKILL);
    (void)wait_for_child(process.pid);
    return cannot("watch a process", error);
  }
  process.talk = std::move(talk->ours);
  process.starts = std::move(starts->ours);
  return process;
}

}  // namespace train
