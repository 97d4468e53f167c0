// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace train {

/// Secret bytes in separate pages: zeros at first; not swapped, not in core files, and zero in
/// forked processes; overwritten when destroyed. When the user's limit of locked memory (ulimit -l)
/// is reached, the pages may be swapped nevertheless. Throws std::bad_alloc when there is no
/// memory.
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
