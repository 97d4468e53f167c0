// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "backends/event_loop/background.hpp"
#include "backends/event_loop/loop.hpp"
#include "backends/process/host_directory.hpp"
#include "launcher/agent/spool.hpp"

namespace train {

/// The file on a host's disk where its agent keeps output that the supervisor has not synced yet
/// and that does not fit into memory. It has no name, so it disappears with the agent (the ranks do
/// not outlive the agent either). Written and read by a thread beside the loop.
class OutputSpool {
 public:
  /// `answer` is called from the loop, never from `perform`.
  OutputSpool(Loop& loop, const HostDirectory& directory, std::function<void(SpoolAnswer)> answer);

  /// Work is done in the order in which it is given. The file takes at most a tenth of the space
  /// that was free when it was made, and no more than the process's file size limit (ulimit -f).
  void perform(const SpoolWork& work);

 private:
  struct File;

  Background background_;
  Loop& loop_;
  std::shared_ptr<File> file_;
  std::function<void(SpoolAnswer)> answer_;
};

}  // namespace train
