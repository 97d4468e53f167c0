// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_session/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace train {

void release_zero_pages(void* block, std::size_t size) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto* const begin = static_cast<char*>(block);
  const std::size_t unaligned = reinterpret_cast<std::uintptr_t>(begin) % page;
  for (std::size_t at = unaligned == 0 ? 0 : page - unaligned; at + page <= size; at += page) {
    const bool is_zero = std::all_of(begin + at, begin + at + page, [](char c) { return c == 0; });
    // On failure the page stays.
    if (is_zero) (void)::madvise(begin + at, page, MADV_DONTNEED);
  }
}

}  // namespace train
