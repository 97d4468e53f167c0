// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "tests/support/waiting.hpp"

namespace train::testing {

/// Stands in for a standard stream of this process with a pipe, as long as it lives.
class CapturedStream {
 public:
  explicit CapturedStream(int fd) : fd_(fd), saved_(::fcntl(fd, F_DUPFD_CLOEXEC, 10)) {
    int ends[2] = {-1, -1};
    if (saved_ < 0 || ::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    reader_ = ends[0];
    ::dup2(ends[1], fd_);
    ::close(ends[1]);
  }
  ~CapturedStream() {
    restore();
    close_reader();
  }
  CapturedStream(const CapturedStream&) = delete;
  CapturedStream& operator=(const CapturedStream&) = delete;

  /// Gives the stream back: what was written ends here.
  void restore() {
    if (saved_ < 0) return;
    ::dup2(saved_, fd_);
    ::close(saved_);
    saved_ = -1;
  }
  void close_reader() {
    if (reader_ >= 0) ::close(reader_);
    reader_ = -1;
  }
  /// At most `most` of what is there; waits for the first byte. Empty at the end.
  std::string read_some(std::size_t most = 65536) const {
    if (!becomes_readable(reader_)) throw std::runtime_error("nothing was written");
    std::string text(most, '\0');
    const ssize_t count = ::read(reader_, text.data(), text.size());
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return text;
  }
  /// Everything, once the stream was given back.
  std::string read_all() {
    restore();
    std::string text;
    for (std::string some = read_some(); !some.empty(); some = read_some()) text += some;
    return text;
  }

 private:
  int fd_;
  int saved_;
  int reader_ = -1;
};

}  // namespace train::testing
