// SPDX-License-Identifier: Apache-2.0
#include "backends/process/file_calls.hpp"

#include <fmt/format.h>
#include <time.h>

namespace train {

namespace {

Instant boot_time() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

}  // namespace

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
