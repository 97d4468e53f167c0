// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/link/send_queue.hpp"
#include "backends/ssh/libssh2_limits.hpp"
#include "backends/ssh/ssh_errors.hpp"
#include "backends/ssh/ssh_session.hpp"
#include "backends/ssh/ssh_settings.hpp"
#include "backends/ssh/ssh_shared.hpp"
#include "backends/ssh/tcp_stream.hpp"
#include "config_schema/host_inventory.hpp"
#include "launcher/bootstrap/bootstrap_talk.hpp"
#include "launcher/ports/transport.hpp"

namespace train {

/// One connection to one host, from the name to the end of the agent's stream: a state machine that
/// is stepped whenever its socket is ready. What the settings of the host decide is in
/// ssh_link_settings.cpp, the set-up in ssh_link_setup.cpp, what happens on the channel in
/// ssh_link_stream.cpp.
class SshLink : public std::enable_shared_from_this<SshLink> {
 public:
  SshLink(std::shared_ptr<SshShared> shared, const Host& host, std::string agent_key,
          LinkEvents events);
  ~SshLink();
  SshLink(const SshLink&) = delete;
  SshLink& operator=(const SshLink&) = delete;

  /// Begins; called once, from the loop, when there is room for another set-up.
  void start();
  void send(std::shared_ptr<const std::string> bytes);
  std::size_t unsent_bytes() const;
  /// Ends without a word to the owner.
  void close();
  bool is_closed() const { return phase_ == Phase::closed; }

 private:
  enum class Phase {
    waiting,  ///< for room, settings, a name, a connection or the next try
    handshake,
    login,
    channel,
    exec,
    bootstrap,
    streaming,
    ending,       ///< the command's output is over, its exit not yet known
    handed_over,  ///< to the transport that `other_` is of
    closed,
  };

  // Settings.
  void on_settings(const Result<SshSettings>& settings);
  void look_up_known_keys();
  bool prefer_algorithms();
  bool check_host_key();
  IdentityChoice identity_choice() const;
  void hand_over(const Libssh2Obstacle& obstacle);

  // Set-up.
  void resolve();
  void on_resolved(Result<Resolver::Addresses> addresses);
  void connect();
  void on_connect_ready();
  void on_connect_failed(int error);
  void begin_session();
  bool step();
  bool step_handshake();
  bool step_login();
  bool step_channel();
  bool step_exec();
  void fail_handshake();
  bool plan_login();
  void fail_login();
  void retry_or_fail(int max_tries, const Error& error);

  // Channel.
  bool transfer();
  bool write_some();
  bool read_output();
  bool read_errors();
  void on_output(std::string_view bytes);
  void upload();
  void on_packed(const BinaryPacker::Packed& packed);
  void become_open();
  bool step_ending();
  void finish();

  // Both.
  void pump();
  void post_pump();
  void watch();
  void set_deadline(nanoseconds delay, std::string_view doing);
  void fail_with(const Error& error);
  void fail_broken(std::string_view doing);
  void drop_connection();
  void leave_setup();
  std::string at() const;

  std::shared_ptr<SshShared> shared_;
  Host host_;
  std::string agent_key_;
  LinkEvents events_;
  SshSettings settings_;
  Endpoint endpoint_;
  std::string user_;
  Phase phase_ = Phase::waiting;
  bool in_setup_ = false;
  bool pump_posted_ = false;

  Resolver::Addresses addresses_;
  std::size_t address_ = 0;
  int tries_ = 0;
  std::vector<KnownKey> known_keys_;
  LoginPlan login_;
  std::size_t login_key_ = 0;
  std::vector<std::string> refused_;
  std::string command_;

  // The session uses the stream, and the subscriptions watch its descriptor: they go before it.
  std::unique_ptr<TcpStream> stream_;
  std::unique_ptr<SshSession> session_;
  int write_watch_fd_ = -1;
  std::unique_ptr<Subscription> readable_;
  std::unique_ptr<Subscription> writable_;
  std::unique_ptr<Subscription> deadline_;

  std::optional<BootstrapTalk> bootstrap_;
  SendQueue upload_;
  Instant upload_progress_{};
  SendQueue queue_;
  std::string errors_;
  std::unique_ptr<HostLink> other_;
};

}  // namespace train
