// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "backends/ssh_formats/locked_bytes.hpp"
#include "backends/ssh_formats/secret.hpp"

namespace train {

/// What opens an encrypted key.
struct KeyOpening {
  const Secret& passphrase;
  const std::atomic<bool>&
      is_cancelled;  ///< another thread sets it when the key is not wanted any more
};

/// Whether the private section of OpenSSH's key files can be read under this cipher.
bool is_known_cipher(std::string_view cipher);

/// Decrypts the private section of one of OpenSSH's key files (PROTOCOL.key). With a wrong
/// passphrase what comes out makes no sense. Nothing when the file is broken, or asks for more work
/// than a key is worth.
std::optional<LockedBytes> decrypt_section(std::string_view cipher, std::string_view kdf,
                                           std::string_view kdf_options, std::string_view section,
                                           const KeyOpening& opening);

}  // namespace train
