// SPDX-License-Identifier: Apache-2.0
#include "cli/own_binary.hpp"

#include <unistd.h>
#include <climits>

namespace train {

std::string own_binary() {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  const bool is_there =
      length > 0 && length < PATH_MAX && ::access(std::string(path, length).c_str(), X_OK) == 0;
  return is_there ? std::string(path, length) : "/proc/self/exe";
}

}  // namespace train
