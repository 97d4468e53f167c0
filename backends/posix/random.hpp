// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace train {

/// Unpredictable bits. (std::random_device would need glibc 2.36 on hosts.)
std::uint64_t random_bits();

/// An unpredictable word, new at every call: 32 hexadecimal digits.
std::string new_nonce();

}  // namespace train
