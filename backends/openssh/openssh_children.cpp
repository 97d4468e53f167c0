// SPDX-License-Identifier: Apache-2.0
#include "backends/openssh/openssh_children.hpp"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace train {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr milliseconds own_end_limit = 1s;
constexpr milliseconds term_limit = 500ms;
constexpr milliseconds kill_limit = 500ms;

// The child leads its group, which has this number for sure until the child is collected.
void signal_group(pid_t pid, int signal) { (void)::kill(-pid, signal); }

// Collects a child that has ended; one that runs has no known end.
bool try_collect(int pidfd, OpensshEnd& end) {
  siginfo_t info{};
  while (::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG) != 0)
    if (errno != EINTR) return true;
  if (info.si_pid == 0) return false;
  end = {true, info.si_code != CLD_EXITED, info.si_status};
  return true;
}

bool has_ended(int pidfd) {
  pollfd ended{pidfd, POLLIN, 0};
  return ::poll(&ended, 1, 0) > 0;
}

}  // namespace

OpensshChildren::~OpensshChildren() {
  const bool may_wait = std::any_of(children_.begin(), children_.end(),
                                    [](const auto& item) { return item.second.may_end_itself; });
  if (may_wait && wait_for_all(own_end_limit)) return;
  for (const auto& [pid, child] : children_) signal_group(pid, SIGTERM);
  if (wait_for_all(term_limit)) return;
  for (const auto& [pid, child] : children_) signal_group(pid, SIGKILL);
  (void)wait_for_all(kill_limit);
}

void OpensshChildren::add(pid_t pid, Descriptor pidfd,
                          std::function<void(const OpensshEnd&)> on_end) {
  Child& child = children_[pid];
  child.pidfd = std::move(pidfd);
  child.on_end = std::move(on_end);
  child.ended = loop_.when_readable(child.pidfd.get(), [this, pid] { collect(pid); });
}

void OpensshChildren::dismiss(pid_t pid, nanoseconds patience) {
  const auto found = children_.find(pid);
  if (found == children_.end()) return;
  found->second.on_end = nullptr;
  found->second.may_end_itself = patience > nanoseconds(0);
  if (found->second.may_end_itself) return signal_after(pid, patience, SIGTERM);
  signal_group(pid, SIGTERM);
  signal_after(pid, term_limit, SIGKILL);
}

void OpensshChildren::signal_after(pid_t pid, nanoseconds patience, int signal) {
  children_[pid].deadline = loop_.after(patience, [this, pid, signal] {
    signal_group(pid, signal);
    if (signal == SIGTERM) signal_after(pid, term_limit, SIGKILL);
  });
}

void OpensshChildren::collect(pid_t pid) {
  const auto found = children_.find(pid);
  if (found == children_.end() || !has_ended(found->second.pidfd.get())) return;
  // For a ProxyCommand that does not notice that its ssh is gone.
  signal_group(pid, found->second.on_end ? SIGTERM : SIGKILL);
  OpensshEnd end;
  if (!try_collect(found->second.pidfd.get(), end)) return;
  const Child child = std::move(found->second);
  children_.erase(found);
  if (child.on_end) child.on_end(end);
}

// Collects without the loop, which does not run any more.
bool OpensshChildren::wait_for_all(milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!children_.empty()) {
    std::vector<pollfd> watched;
    for (const auto& [pid, child] : children_) watched.push_back({child.pidfd.get(), POLLIN, 0});
    const auto left =
        std::chrono::duration_cast<milliseconds>(until - std::chrono::steady_clock::now());
    const int ready = ::poll(watched.data(), watched.size(),
                             static_cast<int>(std::max<milliseconds::rep>(left.count(), 0)));
    for (auto item = children_.begin(); item != children_.end();) {
      OpensshEnd ignored;
      const bool ended = has_ended(item->second.pidfd.get());
      if (ended) signal_group(item->first, SIGKILL);
      item = ended && try_collect(item->second.pidfd.get(), ignored) ? children_.erase(item)
                                                                     : std::next(item);
    }
    if (ready == 0 && left <= 0ms) break;
  }
  return children_.empty();
}

}  // namespace train
