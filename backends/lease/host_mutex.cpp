// SPDX-License-Identifier: Apache-2.0
#include "backends/lease/host_mutex.hpp"

#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace train {

using namespace std::chrono_literals;

namespace {

constexpr auto mutex_pause = 1ms;

}  // namespace

Result<HostMutex> HostMutex::lock(const LeaseFolder& folder, std::chrono::milliseconds limit) {
  auto file = LeaseFile::open(folder, lease_mutex_name);
  if (!file) return tl::make_unexpected(file.error());
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!file->lock({0, 1})) {
    if (std::chrono::steady_clock::now() > deadline)
      return fail(ErrorClass::busy, fmt::format("a process that keeps the lock of '{}/{}{}'",
                                                folder.path, folder.prefix, lease_mutex_name));
    std::this_thread::sleep_for(mutex_pause);
  }
  return HostMutex(std::move(*file));
}

void HostMutex::touch(const LeaseFolder& folder) {
  if (const auto file = LeaseFile::open(folder, lease_mutex_name)) file->touch();
}

}  // namespace train
