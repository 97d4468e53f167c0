// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/host_sessions.hpp"

#include <utility>

#include "backends/ssh/host_session.hpp"

namespace train {

HostSessions::Key HostSessions::key_of(const Host& host) {
  return {host.name, host.address, host.user, host.port, host.identity_file};
}

void HostSessions::keep(bool are_kept) {
  are_kept_ = are_kept;
  if (are_kept) return;
  for (const auto& [host, session] : std::exchange(sessions_, {})) session->keep(false);
}

void HostSessions::offer(const Key& host, const std::shared_ptr<HostSession>& session) {
  if (!are_kept_ || find(host)) return;
  const auto before = std::exchange(sessions_[host], session);
  if (before) before->keep(false);
  session->keep(true);
}

std::shared_ptr<HostSession> HostSessions::find(const Key& host) const {
  const auto found = sessions_.find(host);
  const bool is_there = found != sessions_.end() && found->second->is_usable();
  return is_there ? found->second : nullptr;
}

void HostSessions::forget(const Key& host, const HostSession* session) {
  const auto found = sessions_.find(host);
  if (found == sessions_.end() || found->second.get() != session) return;
  const std::shared_ptr<HostSession> forgotten = std::move(found->second);
  sessions_.erase(found);
  forgotten->keep(false);
}

}  // namespace train
