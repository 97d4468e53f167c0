// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/log/log_sink.hpp"
#include "backends/posix/descriptor.hpp"

namespace train {

/// Syncs files by their paths, so that no descriptor is kept for it. One that was removed needs no
/// sync.
struct LogSync {
  std::vector<std::string> files;
  std::string folder;  ///< whose names are to be on the disk too; may be empty
  std::string lost;    ///< before this, as in `Synced`

  LogSink::Synced operator()() const;
};

/// All of these, as one.
LogSink::Sync join_syncs(std::vector<LogSink::Sync> parts);

/// 0 or errno. Some file systems know of no sync: that is no error.
int sync_file(const Descriptor& file);

}  // namespace train
