// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/child.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "backends/posix/limits.hpp"
#include "backends/posix/proc.hpp"

// glibc's own name for clone. ThreadSanitizer intercepts `clone` as if it were a fork, which is
// wrong for a child that shares the memory.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int __clone(int (*function)(void*), void* stack, int flags, void* argument,
                       ...) noexcept;

// The child runs in the parent's memory on a stack that no sanitizer knows.
#define TRAIN_UNINSTRUMENTED __attribute__((no_sanitize("address", "thread", "undefined")))

namespace train {

namespace {

constexpr size_t stack_size = size_t{64} << 10;

struct Shared {
  const ChildSetup* setup;
  pid_t parent;
  const rlimit* cores;  ///< limit of cores; null: as the parent's
  bool joins_cgroup;
  volatile bool has_begun;
  volatile ChildStep failed;
  volatile int error;
};

[[noreturn]] TRAIN_UNINSTRUMENTED void give_up(Shared* shared, ChildStep step) {
  shared->error = errno;
  shared->failed = step;
  ::syscall(SYS_exit_group, 127);
  __builtin_unreachable();
}

// Uses the system call, since a sanitizer's sigaction would change its table for the parent as
// well. Handlers are reset first and the mask last, so that no handler of the parent runs in the
// child.
TRAIN_UNINSTRUMENTED void reset_handlers() {
  constexpr long kernel_set_size = 8;
  const long all_default[8] = {};  // SIG_DFL, no flags, empty mask, in every kernel's layout
  for (int number = 1; number < NSIG; ++number)
    ::syscall(SYS_rt_sigaction, number, all_default, nullptr, kernel_set_size);
}

TRAIN_UNINSTRUMENTED void unblock_signals() {
  constexpr long kernel_set_size = 8;
  const long none = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, kernel_set_size);
}

TRAIN_UNINSTRUMENTED void join_cgroup(int cgroup) {
  const long list = ::syscall(SYS_openat, cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);
  if (list >= 0) ::syscall(SYS_write, list, "0", 1);
}

// Everything between clone and exec: async-signal-safe calls only. The parent is suspended.
TRAIN_UNINSTRUMENTED int child_main(void* argument) {
  auto* shared = static_cast<Shared*>(argument);
  const ChildSetup* setup = shared->setup;
  shared->has_begun = true;
  reset_handlers();
  if (::setsid() < 0) give_up(shared, ChildStep::session);
  if (setup->on_parent_end == OnParentEnd::die) {
    if (::syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
      give_up(shared, ChildStep::death_signal);
    // If the parent has died before prctl, the signal will never come.
    if (::getppid() != shared->parent) give_up(shared, ChildStep::parent);
  }
  if (shared->joins_cgroup) join_cgroup(setup->cgroup);
  for (int number = 0; number < 3; ++number)
    if (::syscall(SYS_dup3, setup->standard[number], number, 0) < 0)
      give_up(shared, ChildStep::descriptors);
  if (::chdir(setup->working_directory) != 0) give_up(shared, ChildStep::chdir);
  if (!setup->cpus.empty() &&
      ::syscall(SYS_sched_setaffinity, 0, setup->cpus.size() * sizeof(unsigned long),
                setup->cpus.data()) != 0)
    give_up(shared, ChildStep::affinity);
  // `program_file` is close-on-exec.
  close_others({setup->program_file});
  // Cannot fail: both limits stay within their hard limits.
  if (setup->open_files != nullptr)
    ::syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, setup->open_files, nullptr);
  if (shared->cores != nullptr) ::syscall(SYS_prlimit64, 0, RLIMIT_CORE, shared->cores, nullptr);
  unblock_signals();
  if (setup->program_file < 0)
    ::execve(setup->program, setup->argv.data(), setup->environment.data());
  else
    ::syscall(SYS_execveat, setup->program_file, "", setup->argv.data(), setup->environment.data(),
              AT_EMPTY_PATH);
  give_up(shared, ChildStep::exec);
}

class ChildStack {
 public:
  ChildStack()
      : memory_(::mmap(nullptr, stack_size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)) {}
  ~ChildStack() {
    if (memory_ != MAP_FAILED) ::munmap(memory_, stack_size);
  }
  ChildStack(const ChildStack&) = delete;
  ChildStack& operator=(const ChildStack&) = delete;

  /// Null when there is no memory for it.
  char* get() const { return memory_ == MAP_FAILED ? nullptr : static_cast<char*>(memory_); }

 private:
  void* const memory_;
};

// One stack for each thread that starts children, since several may do so at the same time. No
// child uses it when the thread ends, because the thread waits until its child has left it.
char* child_stack() {
  static thread_local const ChildStack stack;
  return stack.get();
}

constexpr std::uint64_t child_flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD;

#ifdef __x86_64__
// clone3, which glibc does not wrap: the child starts inside its cgroup, runs `function` on its
// stack and never returns from there. Returns the pid, or minus errno.
TRAIN_UNINSTRUMENTED long clone_into_cgroup(int cgroup, int (*function)(void*), void* argument,
                                            char* stack, int& pidfd) {
  clone_args arguments{};
  arguments.flags = child_flags | CLONE_INTO_CGROUP;
  arguments.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  arguments.stack = reinterpret_cast<std::uint64_t>(stack);
  arguments.stack_size = stack_size;
  arguments.cgroup = static_cast<std::uint64_t>(cgroup);
  long result = SYS_clone3;
  asm volatile(
      "syscall\n\t"
      "testq %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "movq %[argument], %%rdi\n\t"
      "callq *%[function]\n\t"
      "ud2\n"
      "1:"
      : "+a"(result)
      : "D"(&arguments), "S"(sizeof arguments), [function] "r"(function), [argument] "r"(argument)
      : "rcx", "r11", "memory", "cc");
  return result;
}
#else
long clone_into_cgroup(int, int (*)(void*), void*, char*, int&) { return -ENOSYS; }
#endif

pid_t clone_blocked(Shared& shared, char* stack, int& pidfd, int& error) {
  const WithoutSignals blocked;  // a handler would run in the child, in the parent's memory
  if (shared.setup->cgroup >= 0 && !shared.joins_cgroup) {
    const long pid = clone_into_cgroup(shared.setup->cgroup, child_main, &shared, stack, pidfd);
    if (pid > 0 && shared.has_begun) return static_cast<pid_t>(pid);
    if (pid > 0) {
      (void)wait_for_child(static_cast<pid_t>(pid));
      (void)::close(std::exchange(pidfd, -1));
    }
    shared.joins_cgroup = true;
  }
  constexpr int flags = static_cast<int>(child_flags) | SIGCHLD;
  const pid_t pid = __clone(child_main, stack + stack_size, flags, &shared, &pidfd);
  error = errno;
  return pid;
}

// Pointers to the texts, as exec takes them, with a null pointer at the end.
std::vector<char*> exec_pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

}  // namespace

std::vector<std::string> environment_texts() {
  std::vector<std::string> texts;
  for (char** entry = environ; *entry != nullptr; ++entry) texts.emplace_back(*entry);
  return texts;
}

std::map<std::string, std::string> session_environment() {
  std::map<std::string, std::string> environment;
  for (const std::string& text : environment_texts())
    if (const std::size_t equals = text.find('='); equals != text.npos)
      environment[text.substr(0, equals)] = text.substr(equals + 1);
  return environment;
}

WithoutSignals::WithoutSignals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

WithoutSignals::~WithoutSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

Result<std::thread> start_joinable_thread(std::function<void()> body) {
  try {
    const WithoutSignals blocked;
    return std::thread(std::move(body));
  } catch (const std::system_error& failure) {
    return fail(ErrorClass::host, "cannot start a thread: " + system_reason(failure.code().value()),
                "the user's limit of processes may be reached (ulimit -u)");
  }
}

Result<void> start_thread(std::function<void()> body) {
  auto thread = start_joinable_thread(std::move(body));
  if (!thread) return tl::make_unexpected(thread.error());
  thread->detach();
  return {};
}

void end_program(int code) {
  (void)std::fflush(nullptr);
#ifdef __SANITIZE_ADDRESS__
  std::exit(code);  // the leak check runs at exit
#else
  ::_exit(code);
#endif
}

ChildSetup::ChildSetup(const std::string& program_path,
                       const std::vector<std::string>& argument_texts,
                       const std::vector<std::string>& variable_texts, const std::string& directory)
    : program(program_path.c_str()),
      argv(exec_pointers(argument_texts)),
      environment(exec_pointers(variable_texts)),
      working_directory(directory.c_str()) {}

std::vector<unsigned long> cpu_mask(const std::vector<int>& cpus) {
  constexpr std::size_t bits = sizeof(unsigned long) * 8;
  std::vector<unsigned long> mask;
  for (const int cpu : cpus) {
    const auto number = static_cast<std::size_t>(cpu);
    if (mask.size() <= number / bits) mask.resize(number / bits + 1);
    mask[number / bits] |= 1UL << number % bits;
  }
  return mask;
}

const char* to_string(ChildStep step) {
  switch (step) {
    case ChildStep::none:
      return "none";
    case ChildStep::clone:
      return "clone";
    case ChildStep::session:
      return "setsid";
    case ChildStep::death_signal:
      return "parent-death signal";
    case ChildStep::parent:
      return "parent check";
    case ChildStep::descriptors:
      return "standard descriptors";
    case ChildStep::chdir:
      return "chdir";
    case ChildStep::affinity:
      return "sched_setaffinity";
    case ChildStep::exec:
      return "exec";
    case ChildStep::pidfd:
      return "process descriptor";
  }
  return "unknown";
}

StartedChild start_child(const ChildSetup& setup) {
  char* stack = child_stack();
  StartedChild child;
  child.failed = ChildStep::clone;
  child.error = ENOMEM;
  if (stack == nullptr) return child;
  const std::optional<rlimit>& cores = core_limit_of_children();
  Shared shared{&setup,          ::getpid(), cores ? &*cores : nullptr, setup.joins_cgroup, false,
                ChildStep::none, 0};
  int pidfd = -1;
  child.pid = clone_blocked(shared, stack, pidfd, child.error);
  if (child.pid < 0) return child;
  // Kernels before 5.2 ignore CLONE_PIDFD. The child is not reaped yet, so its pid cannot have been
  // reused.
  child.pidfd = pidfd >= 0 ? Descriptor(pidfd) : open_process(child.pid);
  child.error = shared.error;
  child.failed = shared.failed;
  child.has_joined_cgroup = shared.joins_cgroup;
  if (child.failed == ChildStep::none && !child.pidfd) {
    child.error = errno;
    child.failed = ChildStep::pidfd;
    ::kill(child.pid, SIGKILL);
  }
  if (child.failed == ChildStep::none) return child;
  (void)wait_for_child(std::exchange(child.pid, -1));
  child.pidfd.reset();
  return child;
}

namespace {

struct Ended {
  siginfo_t info{};
  rusage used{};
};

// waitid(2), repeated when a signal interrupts it; false when there is no such child. Uses the
// system call because it also returns the child's resource usage, unlike the C library's function.
bool wait_for(idtype_t which, int number, int options, Ended& ended) {
  return uninterrupted([&] {
           return ::syscall(SYS_waitid, which, number, &ended.info, WEXITED | options, &ended.used);
         }) == 0;
}

nanoseconds time_of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

ExitStatus exit_status_of(const Ended& ended, Instant now) {
  constexpr std::uint64_t unit = 1024;
  const siginfo_t& info = ended.info;
  ExitStatus status;
  status.at = now;
  status.dumped_core = info.si_code == CLD_DUMPED;
  (info.si_code == CLD_EXITED ? status.code : status.signal) = info.si_status;
  status.cpu = time_of(ended.used.ru_utime) + time_of(ended.used.ru_stime);
  status.largest_memory = static_cast<std::uint64_t>(ended.used.ru_maxrss) * unit;
  return status;
}

}  // namespace

Result<std::optional<ExitStatus>> reap(int pidfd, Instant now) {
  Ended ended;
  if (!wait_for(P_PIDFD, pidfd, WNOHANG, ended))
    return fail(ErrorClass::bug, "cannot collect a process: " + system_reason(errno));
  if (ended.info.si_pid == 0) return std::nullopt;
  return exit_status_of(ended, now);
}

ExitStatus wait_for_child(pid_t pid) {
  Ended ended;
  return wait_for(P_PID, pid, 0, ended) ? exit_status_of(ended, {}) : ExitStatus{};
}

bool has_ended(const Descriptor& pidfd, int patience_milliseconds) {
  pollfd ended{pidfd.get(), POLLIN, 0};
  return ::poll(&ended, 1, patience_milliseconds) > 0;
}

bool has_child() {
  Ended ended;
  return wait_for(P_ALL, 0, WNOHANG | WNOWAIT | __WALL, ended);
}

int ended_child() {
  Ended ended;
  return wait_for(P_ALL, 0, WNOHANG | WNOWAIT, ended) ? ended.info.si_pid : 0;
}

bool reap_orphan(int pid) {
  Ended ended;
  return wait_for(P_PID, pid, WNOHANG, ended) && ended.info.si_pid != 0;
}

int reap_any() {
  Ended ended;
  return wait_for(P_ALL, 0, WNOHANG, ended) ? ended.info.si_pid : 0;
}

std::optional<EndedChild> collect_any(Instant now) {
  Ended ended;
  if (!wait_for(P_ALL, 0, WNOHANG, ended) || ended.info.si_pid == 0) return std::nullopt;
  return EndedChild{ended.info.si_pid, exit_status_of(ended, now)};
}

std::optional<ExitStatus> collect_child(int pid, Instant now) {
  Ended ended;
  if (!wait_for(P_PID, pid, WNOHANG, ended) || ended.info.si_pid == 0) return std::nullopt;
  return exit_status_of(ended, now);
}

}  // namespace train
