// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <fstream>
#include <string>

/// What a stand-in is to pretend: by the environment, else by the file of this name in a folder of
/// the host.
inline std::string fake_setting(const std::string& folder, const char* name) {
  if (const char* value = std::getenv(name)) return value;
  std::ifstream file(folder + "/" + name);
  std::string line;
  std::getline(file, line);
  return line;
}
