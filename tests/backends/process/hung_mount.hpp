// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/posix/descriptor.hpp"

namespace train::testing {

/// A file system that does not answer, as that of a dead server: every call on it waits until this
/// object goes, and then fails. Processes that are to wait on it must have been made before, since
/// it lives in a descriptor that others must not have. Needs root and FUSE.
class HungMount {
 public:
  /// Mounts over this directory, which is made if need be.
  explicit HungMount(std::string path);
  ~HungMount();
  HungMount(const HungMount&) = delete;
  HungMount& operator=(const HungMount&) = delete;

  /// False where nothing could be mounted.
  bool is_there() const { return is_there_; }
  const std::string& path() const { return path_; }
  /// What waits comes back, with an error; so does every later call.
  void break_off() { device_.reset(); }

 private:
  std::string path_;
  Descriptor device_;
  bool is_there_ = false;
};

}  // namespace train::testing
