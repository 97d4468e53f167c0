// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace train {

/// A text that a user wrote, with the name under which errors speak of it. Reading the file is
/// somebody else's work.
struct SourceText {
  std::string name;  ///< file name as given, or the flag the text came from ("-H")
  std::string text;
};

}  // namespace train
