// SPDX-License-Identifier: Apache-2.0
// bench_fork_exec COUNT PROGRAM: starts PROGRAM COUNT times at once and waits for all: the least
// that a launcher of COUNT local processes can cost. Fails when one of them fails.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

bool start(char* program) {
  const pid_t pid = fork();
  if (pid == 0) {
    char* arguments[] = {program, nullptr};
    execv(program, arguments);
    _exit(127);
  }
  return pid > 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc == 3 ? std::atoi(argv[1]) : 0;
  if (count < 1) {
    std::fprintf(stderr, "usage: %s COUNT PROGRAM\n", argv[0]);
    return 64;
  }
  bool all_succeeded = true;
  for (int i = 0; i < count; ++i)
    if (!start(argv[2])) all_succeeded = false;
  for (int status = 0; wait(&status) > 0;)
    if (status != 0) all_succeeded = false;
  return all_succeeded ? 0 : 1;
}
