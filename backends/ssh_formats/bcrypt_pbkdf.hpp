// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "backends/ssh_formats/secret.hpp"

namespace train {

/// The key that OpenSSH's private key files are encrypted with (PROTOCOL.key): bcrypt_pbkdf of
/// OpenBSD, which is PBKDF2 over Blowfish's slow key schedule. Fills `key`, of at most 512 bytes.
/// About 10 ms for each round and 32 bytes; false when `is_cancelled` became true meanwhile, or a
/// hash could not be made.
bool bcrypt_pbkdf(std::string_view passphrase, std::string_view salt, std::uint32_t rounds,
                  char* key, std::size_t key_size, const std::atomic<bool>& is_cancelled);

}  // namespace train
