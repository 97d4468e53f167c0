// SPDX-License-Identifier: Apache-2.0
#include "backends/local/attach_process.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <array>

namespace train {

namespace {

constexpr int first_above_standard = 3;

void close_all(std::initializer_list<int> descriptors) {
  for (const int fd : descriptors)
    if (fd >= 0) ::close(fd);
}

tl::unexpected<Error> cannot(const char* what, int error) {
  return fail(ErrorClass::host, fmt::format("cannot {}: {}", what, ::strerrordesc_np(error)),
              error == EMFILE ? "raise the limit of open files (ulimit -n)" : "");
}

// A session of its own, default signals, nothing blocked, nothing open but the standard three.
class SpawnOptions {
 public:
  SpawnOptions(int stream, int errors) {
    ::posix_spawnattr_init(&attributes_);
    sigset_t set;
    ::sigfillset(&set);
    ::posix_spawnattr_setsigdefault(&attributes_, &set);
    ::sigemptyset(&set);
    ::posix_spawnattr_setsigmask(&attributes_, &set);
    ::posix_spawnattr_setflags(&attributes_,
                               POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_adddup2(&actions_, stream, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, stream, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, errors, STDERR_FILENO);
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, first_above_standard);
  }
  ~SpawnOptions() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnOptions(const SpawnOptions&) = delete;
  SpawnOptions& operator=(const SpawnOptions&) = delete;

  int spawn(pid_t& pid, const std::vector<std::string>& command) const {
    std::vector<char*> argv;
    argv.reserve(command.size() + 1);
    for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    return ::posix_spawn(&pid, argv[0], &actions_, &attributes_, argv.data(), environ);
  }

 private:
  posix_spawnattr_t attributes_;
  posix_spawn_file_actions_t actions_;
};

// The child's ends must be above the standard descriptors, or setting those up overwrites them.
int move_up(int fd) {
  if (fd < 0 || fd >= first_above_standard) return fd;
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, first_above_standard);
  const int error = errno;
  ::close(fd);
  errno = error;
  return moved;
}

struct Ends {
  int stream[2] = {-1, -1};  // ours, the child's
  int errors[2] = {-1, -1};  // ours, the child's

  void close() { close_all({stream[0], stream[1], errors[0], errors[1]}); }
};

bool make_ends(Ends& ends) {
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.stream) != 0) return false;
  if (::pipe2(ends.errors, O_CLOEXEC) != 0) return false;
  for (int* const pair : {ends.stream, ends.errors}) {
    if ((pair[1] = move_up(pair[1])) < 0) return false;
    if (::fcntl(pair[0], F_SETFL, O_NONBLOCK) != 0) return false;
  }
  return true;
}

}  // namespace

Result<AttachProcess> start_attach_process(const std::vector<std::string>& command) {
  Ends ends;
  if (!make_ends(ends)) {
    const int error = errno;
    ends.close();
    return cannot("make a connection to the agent", error);
  }
  AttachProcess process;
  const int error = SpawnOptions(ends.stream[1], ends.errors[1]).spawn(process.pid, command);
  if (error != 0) {
    ends.close();
    const bool is_missing = error == ENOENT || error == EACCES || error == ENOTDIR;
    return fail(is_missing ? ErrorClass::missing : ErrorClass::host,
                fmt::format("cannot execute '{}': {}", command.front(), ::strerrordesc_np(error)));
  }
  close_all({ends.stream[1], ends.errors[1]});
  process.stream = ends.stream[0];
  process.errors = ends.errors[0];
  process.pidfd = static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0));
  if (process.pidfd >= 0) return process;
  const int pidfd_error = errno;
  close_all({process.stream, process.errors});
  ::kill(process.pid, SIGKILL);
  while (::waitpid(process.pid, nullptr, 0) < 0 && errno == EINTR) continue;
  return cannot("watch the agent (Linux 5.3 or later is needed)", pidfd_error);
}

std::string describe_end(int wait_code, int wait_status) {
  if (wait_code == CLD_EXITED) return fmt::format("exit status {}", wait_status);
  return fmt::format("signal {}", wait_status);
}

}  // namespace train
