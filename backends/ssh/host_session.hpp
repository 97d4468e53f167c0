// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "backends/ssh/host_sessions.hpp"
#include "backends/ssh/ssh_connection.hpp"

namespace train {

/// One session with a host and the links that it carries, each over its own channel. It ends with
/// the last link, unless it is kept for further links (HostSessions).
class HostSession final : public SshSessionUser, public std::enable_shared_from_this<HostSession> {
 public:
  HostSession(std::shared_ptr<SshShared> shared, HostSessions::Key host, SshTarget target);
  ~HostSession() override;
  HostSession(const HostSession&) = delete;
  HostSession& operator=(const HostSession&) = delete;

  /// Starts the login, for the one link that was added; called once, from the loop.
  void start() { connection_->start(); }
  /// Before the login only one link may be added, afterwards more. A link must be removed before it
  /// is destroyed.
  void add(SshSessionUser& link);
  /// Removes a link, and closes its channel if it has one.
  void remove(SshSessionUser& link, std::unique_ptr<SshChannel> channel);
  /// Opens a channel for a link. libssh2 opens one at a time: other links wait meanwhile.
  Progress open_channel(const SshSessionUser& link);

  /// Whether another link may be added, as far as this side knows.
  bool is_usable() const;
  /// Whether the session stays open without links.
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
  const SshSessionUser* opener_ = nullptr;  ///< null while opening: the link was removed meanwhile
  std::vector<std::unique_ptr<SshChannel>> closing_;
};

}  // namespace train
