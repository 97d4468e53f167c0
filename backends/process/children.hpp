// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>

#include "backends/event_loop/loop.hpp"
#include "backends/posix/child.hpp"

namespace train {

/// Children of this process, each the leader of a session of its own. They are reaped when they
/// end, from the loop, even if their owner has forgotten them.
class Children {
 public:
  /// What happens to children that still run when this object is destroyed.
  enum class Rest {
    goes_on,  ///< they and their descendants are left alone
    ends,     ///< they are ended; when a child ends, its process group is ended too
  };
  /// How the child ended; without code and signal when it was reaped elsewhere.
  using OnEnd = std::function<void(const ExitStatus&)>;

  Children(Loop& loop, Rest rest) : loop_(loop), rest_(rest) {}
  /// With `Rest::ends`, ends the remaining children and waits for them, for about two seconds at
  /// most.
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  /// Takes ownership of a child; `on_end` is called from the loop, once.
  void add(pid_t pid, Descriptor pidfd, OnEnd on_end);
  /// `on_end` of this child is not called any more. No effect on one that has ended.
  void forget(pid_t pid);
  /// The same; the child has `patience` to end by itself, then its process group gets SIGTERM, and
  /// half a second later SIGKILL. No effect on one that has ended.
  void dismiss(pid_t pid, nanoseconds patience);

 private:
  struct Child {
    Descriptor pidfd;
    OnEnd on_end;
    bool may_end_itself = false;
    std::unique_ptr<Subscription> ended;
    std::unique_ptr<Subscription> deadline;
  };

  void collect(pid_t pid);
  void signal_after(pid_t pid, nanoseconds patience, int signal);
  bool wait_for_all(std::chrono::milliseconds limit);

  Loop& loop_;
  const Rest rest_;
  std::map<pid_t, Child> children_;
};

}  // namespace train
