// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/launcher/bootstrap/shell_dialogue.hpp"

namespace train::testing {

/// Makes a key pair with ssh-keygen: `flags` such as "-t ed25519".
inline std::string make_key(const std::filesystem::path& path, const std::string& flags,
                            const std::string& passphrase = "") {
  output_of("ssh-keygen -q " + flags + " -N '" + passphrase + "' -C test -f '" + path.string() +
            "'");
  return path.string();
}

inline std::string public_line(const std::string& path) {
  std::string line = read_file(path + ".pub");
  while (!line.empty() && line.back() == '\n') line.pop_back();
  return line;
}

}  // namespace train::testing
