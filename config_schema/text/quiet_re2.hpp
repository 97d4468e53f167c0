// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <re2/re2.h>

namespace train {

/// What is wrong with a pattern is for its caller to say, not for RE2 to print.
inline RE2::Options quietly() {
  RE2::Options options;
  options.set_log_errors(false);
  return options;
}

}  // namespace train
