// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>

#include "backends/process/host_directory.hpp"

namespace train {

/// The program and the module with which ranks report, in a folder that all trials of an agent
/// share: the ranks' PATH and PYTHONPATH end with it.
class ReportTools {
 public:
  /// The directory must outlive this.
  ReportTools(const HostDirectory& directory, std::string key)
      : directory_(directory), key_(std::move(key)) {}

  /// The path of the folder.
  std::string path() const { return directory_.run_directory(key_, HostDirectory::shared); }
  /// Creates the missing files; the run directory of a trial must exist. From any thread; class
  /// `host`.
  Result<void> make();

 private:
  const HostDirectory& directory_;
  const std::string key_;
  std::mutex mutex_;
};

}  // namespace train
