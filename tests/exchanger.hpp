// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <stdexcept>
#include <string>

namespace train {

/// A process that exchanges two names without end, as anybody may who can write to their folder;
/// as another user of the machine where one is given, which takes root. It has done so once when it
/// is made.
class Exchanger {
 public:
  Exchanger(const std::string& one, const std::string& other, std::optional<uid_t> user = {}) {
    int said[2] = {-1, -1};
    if (::pipe2(said, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    pid_ = ::fork();
    if (pid_ == 0) exchange(one, other, user, said[1]);
    ::close(said[1]);
    char byte = 0;
    const bool has_begun = ::read(said[0], &byte, 1) == 1;
    ::close(said[0]);
    if (!has_begun) throw std::runtime_error("two names cannot be exchanged");
  }
  ~Exchanger() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Exchanger(const Exchanger&) = delete;
  Exchanger& operator=(const Exchanger&) = delete;

  bool is_at_work() const { return ::waitpid(pid_, nullptr, WNOHANG) == 0; }

 private:
  [[noreturn]] static void exchange(const std::string& one, const std::string& other,
                                    std::optional<uid_t> user, int told) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (user && (::setgid(*user) != 0 || ::setuid(*user) != 0)) ::_exit(1);
    bool is_told = false;
    while (::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0) {
      if (!is_told) is_told = ::write(told, "x", 1) == 1;
    }
    ::_exit(1);
  }

  pid_t pid_ = -1;
};

}  // namespace train
