// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config_schema/error.hpp"

namespace train {

/// Says something to the user, on stderr, each line as "train: <line>" but for indented ones, which
/// belong to the line above. Text that came from a host or a file is
/// shown without bytes that steer a terminal.
void talk(std::string_view said);

/// Says what is legal but worth a line: each as "train: warning: <text>".
void talk_warnings(const std::vector<Diagnostic>& of_files,
                   const std::vector<std::string>& of_plan);

/// Writes an answer to stdout, whole. Returns false when nobody takes it (a closed pipe).
bool answer(std::string_view text);

}  // namespace train
