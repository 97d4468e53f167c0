// SPDX-License-Identifier: Apache-2.0
#include "backends/agent/guard.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "backends/event_loop/loop.hpp"
#include "backends/posix/child.hpp"
#include "backends/process/agent_record.hpp"
#include "backends/process/cgroup.hpp"
#include "backends/process/process_tree.hpp"

namespace train {

namespace {

using namespace std::chrono_literals;

// How long killed processes may take to end: a process that writes to a dying disk ends late.
constexpr auto guard_kill_limit = 10s;
constexpr auto cgroup_limit = 1s;
// An agent stops its ranks at the fence by itself; one that has not done so after this time hangs.
constexpr auto fence_patience = 1s;
// The longest wait for a signal between two checks of the fence: it may be set in the meantime, and
// the wait uses a clock that stands still while the machine is suspended.
constexpr nanoseconds fence_interval = 1s;

void reset_signals() {
  struct sigaction all_default {};
  all_default.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) (void)::sigaction(number, &all_default, nullptr);
}

sigset_t all_signals() {
  sigset_t all;
  ::sigfillset(&all);
  return all;
}

// Only while standard error is still the caller's, before `detach`.
[[noreturn]] void give_up(const GuardSetup& setup, const Error& error) {
  const std::string text = "train: " + render(error) + "\n";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
  (void)setup.directory.remove(setup.key);
  ::_exit(1);
}

// Closes our copies of the caller's descriptors: the process that started us may wait until all
// copies are closed (end of file of a pipe).
void detach(int null, std::initializer_list<int> keep) {
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    (void)::dup2(null, standard);
  close_others(keep);
  (void)!::chdir("/");  // keeps no file system busy
}

void clean_up(const GuardSetup& setup) {
  // Failures to kill or remove are ignored: there is no connection left to report them on; an agent
  // that ends by itself has already reported its survivors.
  (void)kill_all_descendants(guard_kill_limit);
  const AgentRecord record = read_agent_record(setup.lock);
  if (is_cgroup_of(record.cgroup, cgroup_name(setup.key, record.agent))) {
    kill_cgroup(record.cgroup);
    (void)remove_cgroup(record.cgroup, cgroup_limit);
  }
  (void)setup.directory.remove(setup.key);
}

[[noreturn]] void be_agent(const GuardSetup& setup, const GuardedBy& guarded, pid_t guard,
                           int null) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  if (::getppid() != guard) {  // the guard died before prctl; no rank was started yet
    clean_up(setup);
    ::_exit(1);
  }
  detach(null, {setup.listening_socket, setup.lock, setup.directory.descriptor(), guarded.keep.end,
                guarded.keep.keepers});
  (void)become_subreaper();  // cannot fail: it has worked for the guard
  (void)::signal(SIGPIPE, SIG_IGN);
  const sigset_t all = all_signals();
  ::sigprocmask(SIG_UNBLOCK, &all, nullptr);
  const int code = setup.agent_main(setup.listening_socket, guarded);
  if (::getppid() != guard) clean_up(setup);
  ::_exit(code);
}

// Reaps all children that have ended; true once the agent was among them, or no child is left.
bool collect(pid_t agent) {
  bool has_agent_ended = false;
  while (const int child = reap_any()) has_agent_ended = has_agent_ended || child == agent;
  return has_agent_ended || !has_child();
}

// How much time the agent has left to move its fence.
nanoseconds left_until(const Fence& fence) {
  const auto at = fence.at();
  return at ? *at + fence_patience - boot_time() : nanoseconds::max();
}

// Returns when the agent has ended or its fence has passed. All signals are blocked, so none is
// lost between a check and the next wait.
void watch(pid_t agent, const Fence& fence) {
  const sigset_t all = all_signals();
  while (!collect(agent)) {
    const nanoseconds left = left_until(fence);
    // Does not wait for the agent's end: the caller kills its ranks at once, even if the agent is
    // in an uninterruptible system call.
    if (left <= 0s) return (void)::kill(agent, SIGKILL);
    const timespec wait{0, std::min(left, fence_interval - 1ns).count()};
    siginfo_t info{};
    const int number = ::sigtimedwait(&all, &info, &wait);
    if (number == SIGTERM || number == SIGINT || number == SIGHUP) ::kill(agent, SIGTERM);
  }
}

[[noreturn]] void be_guard(const GuardSetup& setup) {
  const sigset_t all = all_signals();
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  reset_signals();
  if (::setsid() < 0)
    give_up(setup, make_error(ErrorClass::host, "setsid: " + system_reason(errno)));
  auto null = open_null();
  if (!null) give_up(setup, null.error());
  if (auto adopted = become_subreaper(); !adopted) give_up(setup, adopted.error());
  Fence fence;
  int keep[2] = {-1, -1};  // the guard's end, the agent's end
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, keep) != 0)
    give_up(setup, make_error(ErrorClass::host, "socketpair: " + system_reason(errno)));
  const pid_t guard = ::getpid();
  const pid_t agent = ::fork();
  if (agent < 0)
    give_up(setup, make_error(ErrorClass::host, "cannot start the agent: " + system_reason(errno),
                              "the user's limit of processes may be reached (ulimit -u)"));
  if (agent == 0) be_agent(setup, {fence, {keep[1], keep[0]}}, guard, null->get());
  // The guard does not keep the listening socket: without an agent no connection would be accepted,
  // so connecting must fail.
  detach(null->get(), {setup.lock, setup.directory.descriptor(), keep[0]});
  watch(agent, fence);
  clean_up(setup);
  ::_exit(0);
}

}  // namespace

Result<pid_t> start_guard(const GuardSetup& setup) {
  const pid_t guard = ::fork();
  if (guard == 0) be_guard(setup);
  if (guard > 0) return guard;
  return fail(ErrorClass::host, "cannot start the agent's guard: " + system_reason(errno),
              "the user's limit of processes may be reached (ulimit -u)");
}

}  // namespace train
