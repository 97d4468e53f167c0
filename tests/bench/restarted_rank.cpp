// SPDX-License-Identifier: Apache-2.0
// bench_restarted_rank FILE RESTARTS: a rank of a task that is started again so often. Appends
// lines "WHAT ATTEMPT NANOSECONDS" since the epoch: `started` when it is executed, `failed` and
// `stopped` before it ends (rank 0 fails after 1.5 s, the others wait for TERM); in the last
// attempt all end at once.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

bool note(const char* file_name, const char* what, int attempt) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const int file = open(file_name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  char line[64];
  const int size = std::snprintf(line, sizeof line, "%s %d %lld%09ld\n", what, attempt,
                                 static_cast<long long>(now.tv_sec), now.tv_nsec);
  return file >= 0 && write(file, line, static_cast<std::size_t>(size)) == size;
}

int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? -1 : std::atoi(text);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int attempt = number_in("TRAIN_RESTART_COUNT");
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  sigprocmask(SIG_BLOCK, &term, nullptr);
  if (!note(argv[1], "started", attempt)) return 2;
  if (attempt == std::atoi(argv[2])) return 0;
  if (number_in("RANK") == 0) {
    const timespec pause{1, 500'000'000};
    nanosleep(&pause, nullptr);
    note(argv[1], "failed", attempt);
    return 1;
  }
  sigwaitinfo(&term, nullptr);
  note(argv[1], "stopped", attempt);
  return 143;
}
