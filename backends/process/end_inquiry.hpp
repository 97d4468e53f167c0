// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "backends/event_loop/background.hpp"

namespace train {

/// Reads the error files of ranks beside the loop: a rank may have put anything there, also a link
/// to a file system that does not answer.
class ErrorFiles {
 public:
  explicit ErrorFiles(Loop& loop) : loop_(loop), background_(loop) {}

  /// Calls `done` from the loop, once, with at most 64 KiB of the file; with nothing when it cannot
  /// be read within two seconds.
  void read(const std::string& path, std::function<void(std::string text)> done);

 private:
  struct Reading {
    std::function<void(std::string)> done;
    std::unique_ptr<Subscription> limit;
  };
  void answer(int number, std::string text);

  Loop& loop_;
  std::map<int, Reading> readings_;
  int next_ = 0;
  Background background_;
};

}  // namespace train
