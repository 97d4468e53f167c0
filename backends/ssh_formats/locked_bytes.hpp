// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace train {

/// Bytes that are nobody else's: zeros at first, in pages of their own, which are not swapped, are
/// in no core, and are empty in a forked process; overwritten at the end. Where the user's limit of
/// locked memory (ulimit -l) is reached, the pages may be swapped all the same. Throws
/// std::bad_alloc where there is no memory.
class LockedBytes {
 public:
  LockedBytes() = default;
  explicit LockedBytes(std::size_t size);
  ~LockedBytes();
  LockedBytes(LockedBytes&& other) noexcept;
  LockedBytes& operator=(LockedBytes&& other) noexcept;
  LockedBytes(const LockedBytes&) = delete;
  LockedBytes& operator=(const LockedBytes&) = delete;

  std::span<char> bytes() { return {bytes_, size_}; }
  std::string_view view() const { return {bytes_, size_}; }

 private:
  char* bytes_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace train
