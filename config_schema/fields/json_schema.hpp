// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace train {

/// The JSON Schemas (draft 7) of what users write, made from the tables of fields. The readers
/// refuse all that they refuse, and beyond that only what a schema cannot say (relations between
/// values). Each ends with a newline.
std::string experiment_json_schema();
std::string hosts_json_schema();

/// The names of the published JSON Schemas: those of what users write, then those of what `--json`
/// prints.
std::vector<std::string> schema_names();

/// A published JSON Schema (draft 7), with a final newline; nothing when there is none of that
/// name. Defined in schemas.cpp, which CMake makes of schemas.cpp.in and the *.schema.json files.
std::optional<std::string> published_schema(std::string_view name);

}  // namespace train
