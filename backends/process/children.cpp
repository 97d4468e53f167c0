// SPDX-License-Identifier: Apache-2.0
#include "backends/process/children.hpp"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "backends/process/process_tree.hpp"

namespace train {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr milliseconds own_end_limit = 1s;
constexpr milliseconds term_limit = 500ms;
constexpr milliseconds children_kill_limit = 500ms;

}  // namespace

Children::~Children() {
  if (rest_ == Rest::goes_on) {
    for (auto& [pid, child] : children_) {
      child.ended.reset();
      (void)reap(child.pidfd.get(), loop_.now());
    }
    return;
  }
  const bool may_wait = std::any_of(children_.begin(), children_.end(),
                                    [](const auto& item) { return item.second.may_end_itself; });
  if (may_wait && wait_for_all(own_end_limit)) return;
  // Each child leads a process group whose number is its pid; the number cannot be reused before
  // the child is reaped.
  for (const auto& [pid, child] : children_) signal_group(pid, SIGTERM);
  if (wait_for_all(term_limit)) return;
  for (const auto& [pid, child] : children_) signal_group(pid, SIGKILL);
  (void)wait_for_all(children_kill_limit);
}

void Children::add(pid_t pid, Descriptor pidfd, OnEnd on_end) {
  Child& child = children_[pid];
  child.pidfd = std::move(pidfd);
  child.on_end = std::move(on_end);
  child.ended = loop_.when_readable(child.pidfd.get(), [this, pid] { collect(pid); });
}

void Children::forget(pid_t pid) {
  const auto found = children_.find(pid);
  if (found != children_.end()) found->second.on_end = nullptr;
}

void Children::dismiss(pid_t pid, nanoseconds patience) {
  const auto found = children_.find(pid);
  if (found == children_.end()) return;
  found->second.on_end = nullptr;
  found->second.may_end_itself = patience > nanoseconds(0);
  if (found->second.may_end_itself) return signal_after(pid, patience, SIGTERM);
  signal_group(pid, SIGTERM);
  signal_after(pid, term_limit, SIGKILL);
}

void Children::signal_after(pid_t pid, nanoseconds patience, int signal) {
  children_[pid].deadline = loop_.after(patience, [this, pid, signal] {
    signal_group(pid, signal);
    if (signal == SIGTERM) signal_after(pid, term_limit, SIGKILL);
  });
}

void Children::collect(pid_t pid) {
  const auto found = children_.find(pid);
  if (found == children_.end() || !has_ended(found->second.pidfd)) return;
  // Also ends the processes that the child has started and left behind, such as a ProxyCommand of
  // ssh.
  if (rest_ == Rest::ends) signal_group(pid, found->second.on_end ? SIGTERM : SIGKILL);
  const auto status = reap(found->second.pidfd.get(), loop_.now());
  if (status && !*status) return;
  const Child child = std::move(found->second);
  children_.erase(found);
  if (child.on_end) child.on_end(status ? **status : ExitStatus{.at = loop_.now()});
}

// Reaps without the loop, which does not run any more.
bool Children::wait_for_all(milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!children_.empty()) {
    std::vector<pollfd> watched;
    for (const auto& [pid, child] : children_) watched.push_back({child.pidfd.get(), POLLIN, 0});
    const auto left =
        std::chrono::duration_cast<milliseconds>(until - std::chrono::steady_clock::now());
    const int ready = ::poll(watched.data(), watched.size(),
                             static_cast<int>(std::max<milliseconds::rep>(left.count(), 0)));
    std::erase_if(children_, [this](const auto& item) {
      const Descriptor& pidfd = item.second.pidfd;
      if (!has_ended(pidfd)) return false;
      signal_group(item.first, SIGKILL);
      const auto status = reap(pidfd.get(), loop_.now());
      return !status || *status;
    });
    if (ready == 0 && left <= 0ms) break;
  }
  return children_.empty();
}

}  // namespace train
