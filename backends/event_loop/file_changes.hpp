// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "backends/event_loop/loop.hpp"
#include "backends/posix/descriptor.hpp"

namespace train {

/// Tells when files are written to (inotify), from a loop. To close an instance of inotify takes
/// the kernel ten milliseconds and more, in which the loop would stand still: one serves for all
/// files, and is made with the first.
class FileChanges {
 public:
  explicit FileChanges(Loop& loop) : loop_(loop) {}
  FileChanges(const FileChanges&) = delete;
  FileChanges& operator=(const FileChanges&) = delete;

  /// Calls back, perhaps once for many writes, until the subscription goes, which is before this
  /// does. The file is there, and no link; where the kernel has no watch left, or the path names
  /// another file by now, nothing comes.
  [[nodiscard]] std::unique_ptr<Subscription> when_written(const std::string& path,
                                                           std::function<void()> callback);

 private:
  struct Watch;
  void read();

  Loop& loop_;
  Descriptor inotify_;
  std::map<int, std::list<Watch*>> watches_;  ///< by the kernel's number, one for each file
  std::unique_ptr<Subscription> readable_;
};

}  // namespace train
