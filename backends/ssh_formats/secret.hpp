// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string.h>

#include <cstddef>
#include <string_view>

#include "backends/ssh_formats/locked_bytes.hpp"

namespace train {

/// Overwrites bytes that must not stay in memory.
inline void wipe(char* bytes, std::size_t size) { ::explicit_bzero(bytes, size); }

/// A few secret bytes, such as a passphrase, in locked memory, without copies elsewhere. Bytes
/// beyond the capacity are cut off. Cannot be copied.
class Secret {
 public:
  static constexpr std::size_t capacity = 1024;

  Secret() = default;
  explicit Secret(std::string_view text) { append(text); }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;

  void append(std::string_view text) {
    const std::size_t count = text.copy(bytes_.bytes().data() + size_, capacity - size_);
    size_ += count;
  }
  std::string_view text() const { return bytes_.view().substr(0, size_); }

 private:
  LockedBytes bytes_{capacity};
  std::size_t size_ = 0;
};

}  // namespace train
