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
/// loop, since a disk may hang, and nothing that happens to it keeps a stop from going on.
class StopFile {
 public:
  explicit StopFile(Loop& loop) : loop_(loop), background_(loop, Background::Idle::goes) {}

  /// Begins to make it, empty, in the run directory of the agent `key`; `directory` must outlive
  /// this process's threads. Calls `failed`, from the loop, where it could not be made in a second.
  void make(const HostDirectory& directory, const std::string& key, AttemptId of,
            std::function<void(const std::string& why)> failed);
  /// Calls `next` once the file that is being made is there or is not waited for any more; at once
  /// where that is so already.
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
