// SPDX-License-Identifier: Apache-2.0
#include "backends/agent/fence.hpp"

#include <sys/mman.h>

#include <new>

namespace train {

static_assert(std::atomic<std::int64_t>::is_always_lock_free);

Fence::Fence() : shared_(nullptr) {
  void* page =
      ::mmap(nullptr, sizeof *shared_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED) shared_ = new (page) std::atomic<std::int64_t>(0);
}

void Fence::set(std::optional<Instant> at) {
  if (shared_ != nullptr) shared_->store(at ? at->count() : 0);
}

std::optional<Instant> Fence::at() const {
  const std::int64_t at = shared_ == nullptr ? 0 : shared_->load();
  if (at == 0) return std::nullopt;
  return Instant(at);
}

}  // namespace train
