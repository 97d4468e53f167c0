// SPDX-License-Identifier: Apache-2.0
#include "backends/lease/host_mutex.hpp"

#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace train {

using namespace std::chrono_literals;

namespace {

constexpr auto mutex_limit = 2s;
constexpr auto mutex_pause = 1ms;

}  // namespace

Result<HostMutex> HostMutex::lock(const LeaseFolder& folder) {
  auto file = LeaseFile::open(folder, lease_mutex_name);
  if (!file) return tl::make_unexpected(file.error());
  const auto deadline = std::chrono::steady_clock::now() + mutex_limit;
  while (!file->lock({0, 1})) {
    if (std::chrono::steady_clock::now() > deadline)
      return fail(
          ErrorClass::busy,
          fmt::format("somebody has kept the lock of '{}/{}{}' for {} s", folder.path,
                      folder.prefix, lease_mutex_name, std::chrono::seconds(mutex_limit).count()),
          "'fuser' with that file on the host, as root, says which processes have it open");
    std::this_thread::sleep_for(mutex_pause);
  }
  return HostMutex(std::move(*file));
}

Result<void> HostMutex::make(const LeaseFolder& folder) {
  const auto file = LeaseFile::open(folder, lease_mutex_name);
  if (!file) return tl::make_unexpected(file.error());
  return {};
}

void HostMutex::keep_young(const LeaseFolder& folder) {
  if (const auto file = LeaseFile::open(folder, lease_mutex_name)) file->keep_young();
}

}  // namespace train
