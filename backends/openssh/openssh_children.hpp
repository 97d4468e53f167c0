// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>

#include "backends/event_loop/loop.hpp"
#include "backends/posix/descriptor.hpp"

namespace train {

/// How an ssh process ended.
struct OpensshEnd {
  bool is_known = false;  ///< false while it runs, or when somebody else has collected it
  bool is_signal = false;
  int number = 0;  ///< exit status, or the signal that ended it
};

/// The ssh processes of a transport, each the leader of a session of its own. They are collected
/// when they end, whether or not somebody still asks, and none is left when this object goes: its
/// destructor waits for those that are still there, for about two seconds at most.
class OpensshChildren {
 public:
  explicit OpensshChildren(Loop& loop) : loop_(loop) {}
  ~OpensshChildren();
  OpensshChildren(const OpensshChildren&) = delete;
  OpensshChildren& operator=(const OpensshChildren&) = delete;

  /// Owns a child from now on; `on_end` is called from the loop, once.
  void add(pid_t pid, Descriptor pidfd, std::function<void(const OpensshEnd&)> on_end);
  /// Nobody asks for this child any more. It has `patience` to end by itself, is then asked to, and
  /// killed if it does not; with it what it has started, its ProxyCommand above all. No effect on
  /// a child that has ended.
  void dismiss(pid_t pid, nanoseconds patience);

 private:
  struct Child {
    Descriptor pidfd;
    std::function<void(const OpensshEnd&)> on_end;
    bool may_end_itself = false;
    std::unique_ptr<Subscription> ended;
    std::unique_ptr<Subscription> deadline;
  };

  void collect(pid_t pid);
  void signal_after(pid_t pid, nanoseconds patience, int signal);
  bool wait_for_all(std::chrono::milliseconds limit);

  Loop& loop_;
  std::map<pid_t, Child> children_;
};

}  // namespace train
