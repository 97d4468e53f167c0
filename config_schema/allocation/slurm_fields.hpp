// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "config_schema/text/text.hpp"

namespace train {

/// The fields of a line that `sinfo` or `squeue` prints with a format `A|B|C`, without spaces
/// around them. The last one has the rest of the line: a reason may have any characters. Nothing if
/// there are fewer.
template <std::size_t count>
std::optional<std::array<std::string_view, count>> slurm_fields(std::string_view line) {
  std::array<std::string_view, count> fields;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const std::size_t end = line.find('|');
    if (end == line.npos) return std::nullopt;
    fields[i] = trim(line.substr(0, end));
    line.remove_prefix(end + 1);
  }
  fields.back() = trim(line);
  return fields;
}

}  // namespace train
