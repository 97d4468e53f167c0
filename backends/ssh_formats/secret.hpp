// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace train {

/// Overwrites bytes that must not stay in memory.
inline void wipe(char* bytes, std::size_t size) { ::explicit_bzero(bytes, size); }

/// A few secret bytes, such as a passphrase, that leave no copy of themselves in memory. What does
/// not fit is cut off, and the object cannot be copied.
class Secret {
 public:
  static constexpr std::size_t capacity = 1024;

  Secret() = default;
  explicit Secret(std::string_view text) { append(text); }
  ~Secret() { wipe(bytes_.data(), bytes_.size()); }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;

  void append(std::string_view text) {
    const std::size_t count = text.copy(bytes_.data() + size_, capacity - size_);
    size_ += count;
  }
  std::string_view text() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, capacity> bytes_{};
  std::size_t size_ = 0;
};

}  // namespace train
