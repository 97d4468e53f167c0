// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace train {

/// Lower-case hexadecimal.
std::string hexadecimal(std::string_view bytes);

/// A word that nobody can have guessed, new at every call: 32 hexadecimal digits.
std::string new_nonce();

}  // namespace train
