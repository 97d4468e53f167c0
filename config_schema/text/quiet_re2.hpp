// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <re2/re2.h>

namespace train {

/// RE2 prints nothing: its callers report what is wrong with a pattern.
inline RE2::Options quietly() {
  RE2::Options options;
  options.set_log_errors(false);
  return options;
}

}  // namespace train
