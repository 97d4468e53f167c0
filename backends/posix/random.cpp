// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/random.hpp"

#include <fmt/format.h>
#include <sys/random.h>

namespace train {

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  while (::getrandom(&bits, sizeof bits, 0) != sizeof bits) continue;  // interrupted by a signal
  return bits;
}

std::string new_nonce() { return fmt::format("{:016x}{:016x}", random_bits(), random_bits()); }

}  // namespace train
