// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/lease/lease_file.hpp"

namespace train {

/// While it lives nobody else takes anything on this host, nor joins its line. Anybody may let go.
class HostMutex {
 public:
  /// Waits for 2 s at most: nobody keeps it for longer than some files take to be locked, but a
  /// squatter may: class `busy`. Class `host` where it cannot be locked at all.
  static Result<HostMutex> lock(const LeaseFolder& folder);
  /// Where others tidy the folder: the file is a sign that something may be held there.
  static void keep_young(const LeaseFolder& folder);
  /// Makes the file, which is that sign.
  static Result<void> make(const LeaseFolder& folder);

 private:
  explicit HostMutex(LeaseFile file) : file_(std::move(file)) {}
  LeaseFile file_;
};

}  // namespace train
