// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace train {

/// Bits that nobody can have guessed. (std::random_device would ask hosts for glibc 2.36.)
std::uint64_t random_bits();

/// A word that nobody can have guessed, new at every call: 32 hexadecimal digits.
std::string new_nonce();

}  // namespace train
