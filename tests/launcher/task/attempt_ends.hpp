// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launcher/task/task.hpp"

namespace train {

/// How an attempt ends of which a rank has exited with this code.
inline AttemptEnd failed_with(int exit_code) {
  AttemptEnd end;
  end.any_started = true;
  end.exit_code = exit_code;
  return end;
}

}  // namespace train
