// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config_schema/search/hyperparameters.hpp"
#include "tests/catch.hpp"
#include "tests/config_schema/reading.hpp"

namespace train::testing {

/// The hyperparameters of a text in YAML or JSON, in Determined's words or in Tune's. Fails the
/// test when they are refused.
inline Hyperparameters read_space_text(const std::string& text, bool is_tune) {
  Diagnostics diagnostics;
  const YamlNodePtr root = read_tree(text);
  Hyperparameters read =
      is_tune ? read_param_space(*root, diagnostics) : read_hyperparameters(*root, diagnostics);
  INFO(text);
  if (diagnostics.has_errors()) FAIL(render(diagnostics.take_error(ErrorClass::config, "")));
  return read;
}

}  // namespace train::testing
