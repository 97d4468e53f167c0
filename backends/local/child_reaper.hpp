// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "backends/event_loop/loop.hpp"

namespace train {

/// How a child ended, as waitid tells it.
struct ChildEnd {
  int code = 0;    ///< CLD_EXITED, CLD_KILLED or CLD_DUMPED
  int status = 0;  ///< exit status or signal
};

/// Collects children when they end, whether or not somebody still asks. Never blocks: what has not
/// ended when the reaper is destroyed is left to the system.
class ChildReaper {
 public:
  explicit ChildReaper(Loop& loop) : loop_(loop) {}
  ~ChildReaper();
  ChildReaper(const ChildReaper&) = delete;
  ChildReaper& operator=(const ChildReaper&) = delete;

  /// Owns the child (and its pidfd) from now on; `on_end` is called from the loop, once.
  void watch(int pidfd, std::function<void(const ChildEnd&)> on_end);
  /// Nobody asks for this child any more: it is collected without a word.
  void forget(int pidfd);

 private:
  struct Child {
    std::function<void(const ChildEnd&)> on_end;
    std::unique_ptr<Subscription> subscription;
  };
  void collect(int pidfd);

  Loop& loop_;
  std::map<int, Child> children_;  ///< by pidfd
};

}  // namespace train
