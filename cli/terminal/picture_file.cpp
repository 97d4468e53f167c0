// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/picture_file.hpp"

#include <fmt/format.h>

namespace train {

Result<void> check_picture_file(const std::optional<std::string>& file) {
  if (!file || (!file->empty() && *file != "-")) return {};
  return fail(ErrorClass::usage, fmt::format("--svg: '{}' is no file", *file),
              "give the path of a file: the answer goes to standard output");
}

}  // namespace train
