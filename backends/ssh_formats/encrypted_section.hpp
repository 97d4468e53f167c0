// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "backends/ssh_formats/locked_bytes.hpp"
#include "backends/ssh_formats/secret.hpp"

namespace train {

/// The means to open an encrypted key.
struct KeyOpening {
  const Secret& passphrase;
  const std::atomic<bool>&
      is_cancelled;  ///< another thread sets it when the key is no longer wanted
};

/// Whether this cipher of the private section of OpenSSH's key files is supported.
bool is_known_cipher(std::string_view cipher);

/// Decrypts the private section of one of OpenSSH's key files (PROTOCOL.key). A wrong passphrase
/// gives meaningless bytes. Nothing when the file is broken, or requires too much work (more than
/// 100,000 rounds), or when cancelled.
std::optional<LockedBytes> decrypt_section(std::string_view cipher, std::string_view kdf,
                                           std::string_view kdf_options, std::string_view section,
                                           const KeyOpening& opening);

}  // namespace train
