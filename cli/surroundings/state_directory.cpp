// SPDX-License-Identifier: Apache-2.0
#include "cli/surroundings/state_directory.hpp"

#include <string>

#include "cli/surroundings/environment.hpp"
#include "cli/surroundings/user_account.hpp"

namespace train {

Result<std::string> state_directory() {
  // The base directory specification ignores paths that are not absolute.
  std::string base = variable("XDG_STATE_HOME");
  if (base.empty() || base.front() != '/') {
    const std::string home = home_directory();
    if (home.empty())
      return fail(ErrorClass::no_input,
                  "there is no place for the record of tasks: HOME is not set",
                  "set HOME, or XDG_STATE_HOME to a directory of yours");
    base = home + "/.local/state";
  }
  return base + "/train";
}

Result<std::unique_ptr<SqliteTaskStore>> open_task_store() {
  const auto directory = state_directory();
  if (!directory) return tl::make_unexpected(directory.error());
  return SqliteTaskStore::open(*directory);
}

}  // namespace train
