// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "backends/lease/lease_file.hpp"

namespace train {

/// While it lives nobody else takes anything on this host, nor joins its line. Anybody may let go.
class HostMutex {
 public:
  /// Waits so long at most: nobody keeps it for longer than some files take to be locked, but a
  /// squatter may: class `busy`, with who that is as its words. Class `host` where it cannot be
  /// locked at all.
  static Result<HostMutex> lock(const LeaseFolder& folder,
                                std::chrono::milliseconds limit = std::chrono::seconds(2));
  /// Where others tidy the folder.
  static void keep_young(const LeaseFolder& folder);

 private:
  explicit HostMutex(LeaseFile file) : file_(std::move(file)) {}
  LeaseFile file_;
};

}  // namespace train
