// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/error.hpp"

namespace train {

/// What was found wrong, or worth a warning, while an input was read.
class Diagnostics {
 public:
  void error(Place place, std::string key, std::string message, std::string hint = {});
  void warn(Place place, std::string key, std::string message, std::string hint = {});

  bool has_errors() const { return !errors_.empty(); }
  std::size_t error_count() const { return errors_.size(); }

  /// All errors by line; those of other sources (flags) after those of `main_source`. What an alias
  /// made appear twice is said once. Call only when there are errors.
  Error take_error(ErrorClass error_class, const std::string& main_source);
  /// All warnings, in the same order.
  std::vector<Diagnostic> take_warnings(const std::string& main_source);

 private:
  std::vector<Diagnostic> errors_;
  std::vector<Diagnostic> warnings_;
};

}  // namespace train
