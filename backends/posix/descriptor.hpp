// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <cerrno>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "config_schema/text/error.hpp"

namespace train {

/// Owns an open file descriptor and closes it; -1: none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  /// Gives up ownership; the descriptor stays open.
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

/// The two ends of a pipe.
struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};

/// Repeats a system call as long as signals interrupt it.
template <class Call>
auto uninterrupted(Call call) {
  while (true) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

/// The system's text for an errno value, for use inside a sentence: "permission denied".
std::string system_reason(int error);

/// Moves a descriptor to a number above standard error, keeping it close-on-exec, so that the
/// standard descriptors of a child can be set up even if those of this process are closed.
Result<Descriptor> above_standard(Descriptor descriptor);

/// A close-on-exec pipe whose ends are above standard error.
Result<Pipe> make_pipe();

/// /dev/null for reading and writing, close-on-exec and above standard error.
Result<Descriptor> open_null();

/// Opens /dev/null for each of stdin, stdout and stderr that the caller has closed. Otherwise the
/// next opened file, such as the task registry, would get that number, and all terminal output
/// would be written into it.
void open_closed_standard_streams();

/// Closes every descriptor above standard error except those in `keep`. Async-signal-safe.
void close_others(std::initializer_list<int> keep);

/// Raises this process's soft limit of open descriptors to its hard limit: it watches one
/// connection per host, or three descriptors per rank, and the usual soft limit of 1024 is for
/// programs that use select(). Returns the old limit, which programs started by this process should
/// get; `nullopt` when it cannot be read.
std::optional<rlimit> raise_open_files_limit();

/// Sets the soft limit of open descriptors of this process, as far as its hard limit allows.
void set_open_files_limit(rlim_t soft);

}  // namespace train
