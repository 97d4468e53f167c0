// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"
#include "config_schema/text/place.hpp"

namespace train {

enum class Severity {
  error,     ///< the file is refused
  obstacle,  ///< the file is legal; a launch refuses it
  warning,   ///< the file is legal; worth a line
};

std::string_view to_string(Severity severity);

/// Something that a check found in a file.
struct Finding {
  Severity severity = Severity::error;
  Diagnostic diagnostic;
};

/// What a file is read as.
enum class FileKind { experiment, hosts };

/// A YAML mapping with `hosts` is an inventory of hosts, any other text an experiment.
FileKind kind_of(const SourceText& source);

/// All findings of a file, errors first, each group ordered by line. A legal file has no errors.
std::vector<Finding> check_file(const SourceText& source, FileKind kind);

bool has_errors(const std::vector<Finding>& findings);

/// `{"diagnostics": [{"severity", "file", "line", "column", "key", "message", "hint"}]}` with null
/// for unknown values; follows diagnostics.schema.json. Ends with a newline.
std::string findings_to_json(const std::vector<Finding>& findings);

}  // namespace train
