// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "backends/log/log_sink.hpp"
#include "backends/posix/descriptor.hpp"

namespace train {

/// Syncs files by their paths, so that no descriptors are kept open. A file that was removed needs
/// no sync.
struct LogSync {
  std::vector<std::string> files;
  std::string folder;  ///< directory to sync too; may be empty
  std::string lost;    ///< an earlier loss, for `Synced::lost`

  LogSink::Synced operator()() const;
};

/// One sync that carries out all of these.
LogSink::Sync join_syncs(std::vector<LogSink::Sync> parts);

/// Returns 0 or errno. A file system without sync is no error.
int sync_file(const Descriptor& file);

}  // namespace train
