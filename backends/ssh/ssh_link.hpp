// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/link/send_queue.hpp"
#include "backends/ssh/host_session.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/bootstrap/bootstrap_talk.hpp"
#include "launcher/ports/transport.hpp"

namespace train {

/// The link to the agent of one host over a channel: from the login, or on an existing session
/// (HostSessions), to the end of its stream.
class SshLink final : public SshSessionUser, public std::enable_shared_from_this<SshLink> {
 public:
  SshLink(std::shared_ptr<SshShared> shared, const Host& host, AgentCall call, LinkEvents events);
  ~SshLink() override;
  SshLink(const SshLink&) = delete;
  SshLink& operator=(const SshLink&) = delete;

  /// Starts; called once, from the loop.
  void start();
  void send(const std::shared_ptr<const std::string>& bytes);
  /// Whether a signature of ssh-agent is pending, which the user may have to confirm.
  bool is_asking() const;
  std::size_t unsent_bytes() const;
  /// Closes the link; no events follow.
  void close();
  bool is_closed() const { return phase_ == Phase::closed; }

 private:
  enum class Phase {
    connecting,
    channel,
    exec,
    bootstrap,
    streaming,
    ending,       ///< the output has ended; the exit of the command is not known yet
    handed_over,  ///< `other_`, a link of another transport, serves the host
    closed,
  };

  void on_login() override;
  bool step() override;
  void on_obstacle(Libssh2Obstacle obstacle) override;
  void on_failure(Error why) override;

  void log_in();
  void log_in_instead();
  bool step_channel();
  bool step_exec();
  bool transfer();
  bool write_some();
  bool read_output();
  bool read_errors();
  bool count_errors(std::size_t bytes);
  void on_output(std::string_view bytes);
  void upload();
  void become_open();
  LinkInfo link_info() const;
  bool step_ending();
  void finish();

  void await_upload();
  /// `passed`: the part of the same wait that is already over.
  void set_deadline(nanoseconds delay, std::string_view doing, nanoseconds passed = nanoseconds(0));
  Error late_error(nanoseconds delay, std::string_view doing) const;
  std::string works_hint() const;
  void fail_with(const Error& error);
  void fail_broken(std::string_view doing);

  std::shared_ptr<SshShared> shared_;
  Host host_;
  AgentCall call_;
  LinkEvents events_;
  std::shared_ptr<HostSession> session_;       ///< set from the start on
  std::shared_ptr<SshConnection> connection_;  ///< that of the session
  bool may_log_in_instead_ = false;  ///< on an existing session that has not opened a channel yet
  Phase phase_ = Phase::connecting;
  std::unique_ptr<SshChannel> channel_;  ///< only while the connection has its session
  std::string command_;
  std::unique_ptr<Subscription> deadline_;

  std::optional<BootstrapTalk> bootstrap_;
  SendQueue upload_;
  Instant upload_progress_{};
  bool has_told_pause_ = false;
  SendQueue queue_;
  std::string errors_;
  std::unique_ptr<HostLink> other_;
};

}  // namespace train
