// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>

#include "backends/event_loop/loop.hpp"
#include "backends/posix/child.hpp"

namespace train {

/// Children of this process, each the leader of a session of its own. They are collected when they
/// end, from the loop, whether or not somebody still asks.
class Children {
 public:
  /// What becomes of children that are still there when this object goes.
  enum class Rest {
    goes_on,  ///< they are left alone, as is what any child has started
    ends,     ///< they are ended; whenever a child ends, so does what it has started
  };
  /// How the child ended; without code and signal when somebody else has collected it.
  using OnEnd = std::function<void(const ExitStatus&)>;

  Children(Loop& loop, Rest rest) : loop_(loop), rest_(rest) {}
  /// With `Rest::ends`, ends the children that are left and waits for them, for about two seconds
  /// at most.
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  /// Owns a child from now on; `on_end` is called from the loop, once.
  void add(pid_t pid, Descriptor pidfd, OnEnd on_end);
  /// The owner does not want to hear of this child any more. No effect on one that has ended.
  void forget(pid_t pid);
  /// The same; the child has `patience` to end by itself, then it is asked to end, and killed if it
  /// does not, together with what it has started. No effect on one that has ended.
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
