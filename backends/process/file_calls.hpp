// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/ports/clock.hpp"

namespace train {

/// Notes the file system call that is under way: with a dead server a call hangs for ever, and only
/// this note says on which path. One thread makes calls; other threads may read the note meanwhile.
class FileCalls {
 public:
  /// A call that has not returned yet.
  struct Call {
    std::string text;  ///< "stat of '/nfs/data'"
    Instant since{0};  ///< CLOCK_BOOTTIME
  };

  /// The call that has not returned yet, if there is one.
  std::optional<Call> current() const;

  /// Makes a call, noted as "NAME of 'PATH'", and returns its result; errno is the call's.
  template <class Ask>
  auto operator()(std::string_view name, const std::string& path, Ask ask) {
    begin(name, path);
    auto answer = ask();
    const int error = errno;
    end();
    errno = error;
    return answer;
  }

 private:
  void begin(std::string_view name, const std::string& path);
  void end();

  mutable std::mutex mutex_;
  std::optional<Call> current_;
};

/// Makes a call; it is noted unless `calls` is null.
template <class Ask>
auto noted(FileCalls* calls, std::string_view name, const std::string& path, Ask ask) {
  return calls != nullptr ? (*calls)(name, path, ask) : ask();
}

}  // namespace train
