// SPDX-License-Identifier: Apache-2.0
#include "cli/surroundings/user_account.hpp"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

namespace train {

std::string home_directory() {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') return home;
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

}  // namespace train
