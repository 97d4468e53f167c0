// SPDX-License-Identifier: Apache-2.0
#include "cli/state_directory.hpp"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

namespace train {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

}  // namespace

std::string home_directory() {
  if (std::string home = variable("HOME"); !home.empty()) return home;
  const passwd* entry = ::getpwuid(::getuid());
  return entry == nullptr ? std::string() : entry->pw_dir;
}

std::string home_of_ssh() {
  const passwd* entry = ::getpwuid(::getuid());
  return entry == nullptr ? home_directory() : entry->pw_dir;
}

std::string user_name() {
  const passwd* entry = ::getpwuid(::getuid());
  return entry == nullptr ? std::to_string(::getuid()) : entry->pw_name;
}

Result<std::unique_ptr<SqliteTaskStore>> open_task_store() {
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
  return SqliteTaskStore::open(base + "/train");
}

}  // namespace train
