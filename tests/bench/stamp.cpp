// SPDX-License-Identifier: Apache-2.0
// bench_stamp FILE: appends the time at which it was executed, in nanoseconds since the epoch, as a
// line. The cheapest program that shows when a launcher has started it.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

int main(int argc, char** argv) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const int file = argc == 2 ? open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
  char line[32];
  const int size = std::snprintf(line, sizeof line, "%lld%09ld\n",
                                 static_cast<long long>(now.tv_sec), now.tv_nsec);
  return file >= 0 && write(file, line, static_cast<std::size_t>(size)) == size ? 0 : 1;
}
