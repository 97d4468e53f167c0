// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "backends/ssh_formats/secret.hpp"

namespace train {

/// Derives the key with which OpenSSH encrypts private key files (PROTOCOL.key): bcrypt_pbkdf of
/// OpenBSD, which is PBKDF2 over Blowfish's slow key schedule. Fills `key`, of at most 512 bytes.
/// Takes about 10 ms for each round and 32 bytes. False when `is_cancelled` became true meanwhile,
/// or a hash could not be computed.
bool bcrypt_pbkdf(std::string_view passphrase, std::string_view salt, std::uint32_t rounds,
                  char* key, std::size_t key_size, const std::atomic<bool>& is_cancelled);

}  // namespace train
