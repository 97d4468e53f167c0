// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "cli/surroundings/exit_code.hpp"

namespace train {

/// The outcomes of a command for several tasks.
class Outcomes {
 public:
  void add(ExitCode code);
  /// Reports how many tasks failed with `trouble` ("could not be stopped") and ends with the
  /// verdict on the worst outcome; returns its code, the highest one. Prints nothing if all
  /// succeeded.
  ExitCode report_all(std::string_view trouble) const;

 private:
  int count_ = 0;
  int failed_ = 0;
  int worst_ = 0;
};

}  // namespace train
