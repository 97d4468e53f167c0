// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>

namespace train {

/// A process that exchanges two names without end, as anybody may who can write to their folder;
/// as another user of the machine where one is given, which takes root.
class Exchanger {
 public:
  Exchanger(const std::string& one, const std::string& other, std::optional<uid_t> user = {}) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (user && (::setgid(*user) != 0 || ::setuid(*user) != 0)) ::_exit(1);
    while (::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0)
      continue;
    ::_exit(1);
  }
  ~Exchanger() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Exchanger(const Exchanger&) = delete;
  Exchanger& operator=(const Exchanger&) = delete;

  bool is_at_work() const { return ::waitpid(pid_, nullptr, WNOHANG) == 0; }

 private:
  pid_t pid_ = -1;
};

}  // namespace train
