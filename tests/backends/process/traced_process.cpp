// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/process/traced_process.hpp"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "tests/backends/process/testing.hpp"

namespace train::testing {

TracedProcess::TracedProcess(int pid) : pid_(pid) {
#ifdef __x86_64__
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    const int thread = std::stoi(entry.path().filename());
    if (::ptrace(PTRACE_SEIZE, thread, nullptr, PTRACE_O_TRACEEXIT) != 0) {
      release();
      return;
    }
    threads_.push_back(thread);
  }
  is_there_ = true;
#endif
}

TracedProcess::~TracedProcess() { release(); }

// Only a thread that stands still can be let go. One that is killed meanwhile leaves the stop that
// it was found in, and stands still again at its end.
void TracedProcess::release() {
  for (const int thread : threads_) {
    (void)::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
    const auto is_let_go = [thread] {
      return ::ptrace(PTRACE_DETACH, thread, nullptr, nullptr) == 0;
    };
    while (!is_let_go() && ::waitpid(thread, nullptr, __WALL) == thread) continue;
  }
  threads_.clear();
}

bool TracedProcess::stop_main_thread() const {
  int status = 0;
  return ::ptrace(PTRACE_INTERRUPT, pid_, nullptr, nullptr) == 0 &&
         ::waitpid(pid_, &status, __WALL) == pid_ && WIFSTOPPED(status);
}

void TracedProcess::hold() const {
  if (!stop_main_thread()) throw std::runtime_error("a process cannot be stopped");
}

// Once it waits in a call of the kernel, that is made again as another one.
void TracedProcess::exit([[maybe_unused]] int code) {
#ifdef __x86_64__
  constexpr long system_call = 0x050f;  // the instruction
  user_regs_struct registers{};
  const auto waits = [&] {
    if (!stop_main_thread() || ::ptrace(PTRACE_GETREGS, pid_, nullptr, &registers) != 0)
      throw std::runtime_error("a process cannot be stopped");
    registers.rip -= 2;
    if ((::ptrace(PTRACE_PEEKTEXT, pid_, registers.rip, nullptr) & 0xffff) == system_call)
      return true;
    (void)::ptrace(PTRACE_CONT, pid_, nullptr, nullptr);
    return false;
  };
  if (!testing::eventually(waits)) throw std::runtime_error("a process does not wait");
  registers.orig_rax = static_cast<unsigned long long>(-1);  // nothing is to be restarted
  registers.rax = SYS_exit_group;
  registers.rdi = static_cast<unsigned long long>(code);
  if (::ptrace(PTRACE_SETREGS, pid_, nullptr, &registers) != 0)
    throw std::runtime_error("a process cannot be changed");
  release();
#endif
}

}  // namespace train::testing
