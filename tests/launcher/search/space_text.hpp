// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launcher/hyperparameters/search_space.hpp"
#include "tests/config_schema/search/space_reading.hpp"

namespace train::testing {

/// The space of a text in YAML or JSON, in Determined's words or in Tune's. Fails the test when it
/// is refused.
inline SearchSpace space_of(const std::string& text, bool is_tune) {
  return SearchSpace(read_space_text(text, is_tune).space);
}
inline SearchSpace determined_space(const std::string& text) { return space_of(text, false); }
inline SearchSpace tune_space(const std::string& text) { return space_of(text, true); }

}  // namespace train::testing
