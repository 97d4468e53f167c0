// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "backends/ssh/host_sessions.hpp"
#include "backends/ssh/ssh_connection.hpp"

namespace train {

/// One session with a host and the links that it carries, each over a channel of its own. It ends
/// with the last of them, unless it is kept for others (HostSessions).
class HostSession final : public SshSessionUser, public std::enable_shared_from_this<HostSession> {
 public:
  HostSession(std::shared_ptr<SshShared> shared, HostSessions::Key host, SshTarget target);
  ~HostSession() override;
  HostSession(const HostSession&) = delete;
  HostSession& operator=(const HostSession&) = delete;

  /// Begins to log in, for the one link that was added; called once, from the loop.
  void start() { connection_->start(); }
  /// Before the login one link only, afterwards others. A link is to be removed before it is gone.
  void add(SshSessionUser& link);
  /// With its channel, if it has one, which is closed.
  void remove(SshSessionUser& link, std::unique_ptr<SshChannel> channel);
  /// Opens a channel for a link. libssh2 opens one at a time: others wait meanwhile.
  Progress open_channel(const SshSessionUser& link);

  /// Whether another link may be added, as far as this side knows.
  bool is_usable() const;
  /// Whether it stays when it carries no link.
  void keep(bool is_kept);
  const std::shared_ptr<SshConnection>& connection() const { return connection_; }

 private:
  void on_login() override;
  bool step() override;
  void on_obstacle(Libssh2Obstacle obstacle) override;
  void on_failure(Error why) override;

  bool step_links();
  bool step_abandoned();
  bool step_closing();
  bool has_ended() const;
  void end();

  std::shared_ptr<SshShared> shared_;
  const HostSessions::Key host_;
  std::shared_ptr<SshConnection> connection_;
  bool is_ready_ = false;
  bool is_kept_ = false;
  std::map<std::uint64_t, SshSessionUser*> links_;
  std::uint64_t last_link_ = 0;
  bool is_opening_ = false;
  const SshSessionUser* opener_ = nullptr;  ///< null while opening: it was removed meanwhile
  std::vector<std::unique_ptr<SshChannel>> closing_;
};

}  // namespace train
