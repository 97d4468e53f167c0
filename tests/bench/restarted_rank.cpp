// SPDX-License-Identifier: Apache-2.0
// bench_restarted_rank FILE: a rank of a task that is started twice. Appends lines "WHAT
// NANOSECONDS" since the epoch: `first` when it is executed in the first attempt, `failed` and
// `stopped` before it ends there (rank 0 fails after 1.5 s, the others wait for TERM), `second` in
// the second one.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

bool note(const char* file_name, const char* what) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const int file = open(file_name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  char line[64];
  const int size = std::snprintf(line, sizeof line, "%s %lld%09ld\n", what,
                                 static_cast<long long>(now.tv_sec), now.tv_nsec);
  return file >= 0 && write(file, line, static_cast<std::size_t>(size)) == size;
}

bool is_zero(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr && std::strcmp(text, "0") == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (!is_zero("TRAIN_RESTART_COUNT")) return note(argv[1], "second") ? 0 : 2;
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  sigprocmask(SIG_BLOCK, &term, nullptr);
  if (!note(argv[1], "first")) return 2;
  if (is_zero("RANK")) {
    const timespec pause{1, 500'000'000};
    nanosleep(&pause, nullptr);
    note(argv[1], "failed");
    return 1;
  }
  sigwaitinfo(&term, nullptr);
  note(argv[1], "stopped");
  return 143;
}
