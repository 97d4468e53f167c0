// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace train {

/// The JSON Schemas (draft 7) of files that users write, generated from the tables of fields. The
/// readers refuse everything that the schemas refuse, and in addition only what a schema cannot
/// express (relations between values). Each ends with a newline.
std::string experiment_json_schema();
std::string hosts_json_schema();

/// The names of the published JSON Schemas: first those of users' files, then those of the output
/// of `--json`.
std::vector<std::string> schema_names();

/// A published JSON Schema (draft 7), with a final newline; nothing if there is none of that name.
/// Defined in schemas.cpp, which CMake generates from schemas.cpp.in and the *.schema.json files.
std::optional<std::string> published_schema(std::string_view name);

}  // namespace train
