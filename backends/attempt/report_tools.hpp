// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>

#include "backends/process/host_directory.hpp"

namespace train {

/// The program and the module by which ranks report, in a folder that all trials of an agent share:
/// their PATH and PYTHONPATH end with it.
class ReportTools {
 public:
  /// The directory must outlive this.
  ReportTools(const HostDirectory& directory, std::string key)
      : directory_(directory), key_(std::move(key)) {}

  /// The folder.
  std::string path() const { return directory_.run_directory(key_, HostDirectory::shared); }
  /// Makes what is not there, after the run directory of a trial. From any thread; class `host`.
  Result<void> make();

 private:
  const HostDirectory& directory_;
  const std::string key_;
  std::mutex mutex_;
};

}  // namespace train
