// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tests/catch.hpp"

namespace train::testing {

/// Whether the text has this part; a check that fails shows the text.
inline bool contains(const std::string& text, const std::string& part) {
  UNSCOPED_INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace train::testing
