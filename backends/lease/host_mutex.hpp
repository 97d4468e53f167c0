// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "backends/lease/lease_file.hpp"

namespace train {

/// While it exists no other task takes leases on this host or removes dead files. Releasing leases
/// does not need it.
class HostMutex {
 public:
  /// Waits for `limit` at most. Tasks hold it only while they lock some files, but a squatter may
  /// keep it: class `busy`, whose message names the squatter. Class `host` if it cannot be locked.
  static Result<HostMutex> lock(const LeaseFolder& folder,
                                std::chrono::milliseconds limit = std::chrono::seconds(2));
  /// Touches the file, for folders with a cleaner of old files.
  static void touch(const LeaseFolder& folder);

 private:
  explicit HostMutex(LeaseFile file) : file_(std::move(file)) {}
  LeaseFile file_;
};

}  // namespace train
