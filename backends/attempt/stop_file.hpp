// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/event_loop/background.hpp"
#include "backends/event_loop/loop.hpp"
#include "backends/process/host_directory.hpp"
#include "launcher/wire/attempt_id.hpp"

namespace train {

/// The file that tells the ranks of an attempt to end (`stop_file_name`). It is made beside the
/// loop, since a disk may hang; a failure or a hang never holds up a stop.
class StopFile {
 public:
  explicit StopFile(Loop& loop) : loop_(loop), background_(loop, Background::Idle::goes) {}

  /// Begins to make it, empty, in the run directory of the agent `key`; `directory` must outlive
  /// this process's threads. Calls `failed`, from the loop, if it could not be made within a
  /// second.
  void make(const HostDirectory& directory, const std::string& key, AttemptId of,
            std::function<void(const std::string& why)> failed);
  /// Calls `next` once the file exists, or could not be made within the limit; at once if no file
  /// is being made.
  void then(std::function<void()> next);

 private:
  void settle(const Result<void>& made);

  Loop& loop_;
  Background background_;
  bool is_making_ = false;
  std::function<void(const std::string& why)> failed_;
  std::vector<std::function<void()>> waiting_;
  std::unique_ptr<Subscription> limit_;
};

}  // namespace train
