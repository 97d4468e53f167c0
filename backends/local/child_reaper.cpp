// SPDX-License-Identifier: Apache-2.0
#include "backends/local/child_reaper.hpp"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

namespace train {

namespace {

// Nothing while the child runs. One that somebody else collected ended in a way unknown.
std::optional<ChildEnd> try_collect(int pidfd) {
  siginfo_t info{};
  while (::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG) != 0)
    if (errno != EINTR) return ChildEnd{CLD_EXITED, -1};
  if (info.si_pid == 0) return std::nullopt;
  return ChildEnd{info.si_code, info.si_status};
}

}  // namespace

ChildReaper::~ChildReaper() {
  for (auto& [pidfd, child] : children_) {
    child.subscription.reset();
    (void)try_collect(pidfd);
    ::close(pidfd);
  }
}

void ChildReaper::watch(int pidfd, std::function<void(const ChildEnd&)> on_end) {
  Child& child = children_[pidfd];
  child.on_end = std::move(on_end);
  child.subscription = loop_.when_readable(pidfd, [this, pidfd] { collect(pidfd); });
}

void ChildReaper::forget(int pidfd) {
  const auto found = children_.find(pidfd);
  if (found != children_.end()) found->second.on_end = nullptr;
}

void ChildReaper::collect(int pidfd) {
  const auto end = try_collect(pidfd);
  const auto found = children_.find(pidfd);
  if (!end || found == children_.end()) return;
  const auto on_end = std::move(found->second.on_end);
  children_.erase(found);  // ends the subscription before its descriptor is closed
  ::close(pidfd);
  if (on_end) on_end(*end);
}

}  // namespace train
