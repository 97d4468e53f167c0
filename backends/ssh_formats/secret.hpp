// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace train {

/// Overwrites what nobody may find in memory any more.
inline void wipe(char* bytes, std::size_t size) { ::explicit_bzero(bytes, size); }

/// A few bytes that leave no copy of themselves behind: a passphrase. Longer ones than fit are cut
/// off, and no copies can be made.
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
