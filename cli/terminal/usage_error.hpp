// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config_schema/text/error.hpp"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace train {

/// Describes what is wrong with a command line that `app` refused with `error`: the word at fault,
/// the nearest command or option, and what to type instead. `arguments` are those before `--`,
/// without the program name. Always class `usage`.
Error usage_error(const CLI::App& app, const CLI::ParseError& error,
                  const std::vector<std::string>& arguments);

/// The error for `-- command` after a command of `train` that runs no ranks.
Error command_without_ranks(const CLI::App& app, const std::vector<std::string>& arguments,
                            const std::vector<std::string>& command);

}  // namespace train
