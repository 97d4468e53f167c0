// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace train {

/// The names of the published JSON Schemas: those of what users write, then those of what `--json`
/// prints.
std::vector<std::string> schema_names();

/// A published JSON Schema (draft 7), with a final newline; nothing when there is none of that
/// name.
std::optional<std::string> published_schema(std::string_view name);

}  // namespace train
