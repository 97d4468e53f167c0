// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/plan.hpp"

namespace train {

struct TextOptions {
  int width = 80;      ///< columns; at least 40 are used
  bool color = false;  ///< with terminal control sequences
};

/// The plan for people, one screen: a title, every host as a row with its slots as cells that show
/// their ranks, the rank table, warnings and advice. Many hosts or ranks are folded to the first
/// and the last with a count. Ends with a newline.
std::string plan_to_text(const Plan& plan, const TextOptions& options = {});

}  // namespace train
