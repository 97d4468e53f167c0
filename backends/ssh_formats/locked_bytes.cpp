// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_formats/locked_bytes.hpp"

#include <string.h>
#include <sys/mman.h>

#include <new>
#include <utility>

namespace train {

// Failures of mlock and madvise are ignored: older kernels lack some of these.
LockedBytes::LockedBytes(std::size_t size) : size_(size) {
  if (size == 0) return;
  void* const pages =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  bytes_ = static_cast<char*>(pages);
  (void)::mlock(pages, size);
  (void)::madvise(pages, size, MADV_DONTDUMP);
  (void)::madvise(pages, size, MADV_WIPEONFORK);
}

LockedBytes::~LockedBytes() {
  if (bytes_ == nullptr) return;
  ::explicit_bzero(bytes_, size_);
  (void)::munmap(bytes_, size_);
}

LockedBytes::LockedBytes(LockedBytes&& other) noexcept
    : bytes_(std::exchange(other.bytes_, nullptr)), size_(std::exchange(other.size_, 0)) {}

LockedBytes& LockedBytes::operator=(LockedBytes&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace train
