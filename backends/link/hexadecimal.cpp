// SPDX-License-Identifier: Apache-2.0
#include "backends/link/hexadecimal.hpp"

#include <sys/random.h>

namespace train {

std::string hexadecimal(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string new_nonce() {
  std::string bytes(16, '\0');
  const auto size = static_cast<ssize_t>(bytes.size());
  while (::getrandom(bytes.data(), bytes.size(), 0) != size) continue;  // interrupted by a signal
  return hexadecimal(bytes);
}

}  // namespace train
