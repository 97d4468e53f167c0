// SPDX-License-Identifier: Apache-2.0
// To be preloaded: to open a path that contains HANGING_PATH, or to go there, takes for ever, as on
// a file server that is gone; the file HANGS says so. A signal that ends the process does so.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

template <typename Call>
Call* real(const char* name) {
  return reinterpret_cast<Call*>(::dlsym(RTLD_NEXT, name));
}

using Open = int(const char*, int, ...);

void hang_at(const char* path) {
  const char* part = std::getenv("HANGING_PATH");
  if (part == nullptr || std::strstr(path, part) == nullptr) return;
  if (const char* told = std::getenv("HANGS"))
    ::close(real<Open>("open")(told, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  while (true) ::poll(nullptr, 0, -1);
}

}  // namespace

extern "C" {

#define TRAIN_HANGING_OPEN(name)                                  \
  int name(const char* path, int flags, ...) {                    \
    std::va_list rest;                                            \
    va_start(rest, flags);                                        \
    const auto mode = va_arg(rest, mode_t); /* if there is one */ \
    va_end(rest);                                                 \
    hang_at(path);                                                \
    return real<Open>(#name)(path, flags, mode);                  \
  }
TRAIN_HANGING_OPEN(open)
TRAIN_HANGING_OPEN(open64)

int fchdir(int directory) noexcept {
  char path[4096] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(directory);
  if (::readlink(link.c_str(), path, sizeof path - 1) > 0) hang_at(path);
  return real<int(int)>("fchdir")(directory);
}
}
