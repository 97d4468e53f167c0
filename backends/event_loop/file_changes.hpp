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

/// Reports writes to files (inotify), from a loop. Closing an inotify instance takes the kernel ten
/// milliseconds and more, which would block the loop: so one instance, made with the first watch,
/// serves all files.
class FileChanges {
 public:
  explicit FileChanges(Loop& loop) : loop_(loop) {}
  FileChanges(const FileChanges&) = delete;
  FileChanges& operator=(const FileChanges&) = delete;

  /// Calls back, perhaps once for many writes, until the subscription is destroyed, which must
  /// happen before this object is. The file must exist and not be a link. Null if there is no watch
  /// (the kernel's limit); no callbacks come for a new file under the same path.
  [[nodiscard]] std::unique_ptr<Subscription> when_written(const std::string& path,
                                                           std::function<void()> callback);

 private:
  struct Watch;
  void read();

  Loop& loop_;
  Descriptor inotify_;
  std::map<int, std::list<Watch*>> watches_;  ///< by watch descriptor, one for each file
  std::unique_ptr<Subscription> readable_;
};

}  // namespace train
