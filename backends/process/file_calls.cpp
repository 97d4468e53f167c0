// SPDX-License-Identifier: Apache-2.0
#include "backends/process/file_calls.hpp"

#include <fmt/format.h>

#include "backends/event_loop/loop.hpp"

namespace train {

std::optional<FileCalls::Call> FileCalls::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

void FileCalls::begin(std::string_view name, const std::string& path) {
  Call call{fmt::format("{} of '{}'", name, path), boot_time()};
  const std::lock_guard lock(mutex_);
  current_ = std::move(call);
}

void FileCalls::end() {
  const std::lock_guard lock(mutex_);
  current_.reset();
}

}  // namespace train
