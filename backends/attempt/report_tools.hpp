// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "backends/process/host_directory.hpp"

namespace train {

/// The program and the modules for ranks, in a folder that all trials of an agent share: the ranks'
/// PATH and PYTHONPATH end with it; PYTHONPATH begins with it if `hang_stacks` is set.
class ReportTools {
 public:
  /// The directory must outlive this.
  ReportTools(const HostDirectory& directory, std::string key)
      : directory_(directory), key_(std::move(key)) {}

  /// The path of the folder.
  std::string path() const { return directory_.run_directory(key_, HostDirectory::shared); }
  /// Creates the missing files; the run directory of a trial must exist. From any thread; class
  /// `host`.
  Result<void> make(bool with_hang_stacks);

 private:
  bool is_there(const char* name) const;
  Result<void> add(const char* name, const std::function<Result<void>()>& make) const;

  const HostDirectory& directory_;
  const std::string key_;
  std::mutex mutex_;
};

}  // namespace train
