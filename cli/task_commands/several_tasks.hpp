// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "cli/surroundings/exit_code.hpp"

namespace train {

/// What has become of each of several tasks that a command is about.
class Outcomes {
 public:
  void add(ExitCode code);
  /// Says of how many tasks it was `trouble` ("could not be stopped"), the verdict on the worst
  /// last, and returns its code: the highest. Nothing is said when all went well.
  ExitCode tell(std::string_view trouble) const;

 private:
  int count_ = 0;
  int failed_ = 0;
  int worst_ = 0;
};

}  // namespace train
