// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/ssh/ssh_shared.hpp"
#include "backends/ssh_config/jump_route.hpp"
#include "backends/ssh_config/libssh2_limits.hpp"
#include "backends/ssh_config/ssh_settings.hpp"
#include "backends/ssh_session/byte_stream.hpp"
#include "backends/ssh_session/ssh_errors.hpp"
#include "backends/ssh_session/ssh_session.hpp"
#include "backends/ssh_session/tcp_stream.hpp"

namespace train {

class JumpHost;

/// The target of a connection.
struct SshTarget {
  std::string name;  ///< for messages
  SshDestination destination;
  std::string identity_file = {};  ///< from the hosts file; empty: none
  /// The jump hosts in front of it; nothing: those of the configuration.
  std::optional<std::string> jumps = {};
  const JumpHost* jump_host = nullptr;            ///< set when the target is a jump host
  std::optional<nanoseconds> connect_limit = {};  ///< for each address, if shorter than the usual
                                                  ///< timeout
};

/// The user of a session. All calls come from the loop; the connection may be closed inside them.
class SshSessionUser {
 public:
  virtual ~SshSessionUser() = default;
  /// The login was accepted. `step` follows.
  virtual void on_login() = 0;
  /// Does the work that is possible now; false when there was none. Called whenever bytes have
  /// arrived or can be sent.
  virtual bool step() = 0;
  /// libssh2 cannot log in to the host. Nothing follows.
  virtual void on_obstacle(Libssh2Obstacle obstacle) = 0;
  /// The host was not reached. Nothing follows. A failure after the login shows in `step`.
  virtual void on_failure(Error why) = 0;
};

/// The connection to one host, from its name to a session that is logged in, and then the pump that
/// moves its bytes: a state machine that is stepped whenever its socket, or the channel of a jump
/// host that carries it, is ready. The part that depends on the host's settings is in
/// ssh_connection_settings.cpp, the login in ssh_connection_login.cpp.
class SshConnection : public std::enable_shared_from_this<SshConnection> {
 public:
  /// `user` must outlive the connection, or close it.
  SshConnection(std::shared_ptr<SshShared> shared, SshTarget target, SshSessionUser& user);
  ~SshConnection();
  SshConnection(const SshConnection&) = delete;
  SshConnection& operator=(const SshConnection&) = delete;

  /// Starts; called once, from the loop.
  void start();
  /// Closes the connection; the user is not called any more.
  void close();
  /// Ends the set-up of the host: the login, and the user's first work after it. Another host may
  /// begin its own.
  void leave_setup();
  /// Calls `pump` soon, from the loop.
  void post_pump();
  /// Steps until nothing advances.
  void pump();

  /// Whether a signature of ssh-agent is pending.
  bool is_signing() const { return signing_ != nullptr; }
  SshSession& session() { return *session_; }
  ByteStream& stream() { return *stream_; }
  /// The jump host in front of it; null: none.
  const JumpHost* jump_host() const { return jump_host_.get(); }
  const std::string& user_name() const { return settings_.user; }
  const Endpoint& endpoint() const { return endpoint_; }
  /// The address of the connection, numeric; empty when a jump host connects to it.
  std::string address() const;
  /// The address of this machine on the connection; empty behind a jump host.
  std::string own_address() const { return tcp_ ? tcp_->own_address() : ""; }
  /// The address of this machine on the connection to the first jump host; empty without one.
  std::string own_address_towards_jump_host() const;
  /// When the server was connected to, and when it accepted the login.
  std::optional<Instant> connected_at() const { return connected_at_; }
  std::optional<Instant> logged_in_at() const { return logged_in_at_; }
  /// "10.77.1.3:22", for messages.
  std::string at() const;
  /// The error of a broken session; `doing` says when: "in use".
  Error broken_error(std::string_view doing) const;

 private:
  enum class Phase {
    waiting,  ///< for settings, a name, a jump host, room in the window, a connection or a retry
    handshake,
    choosing_keys,  ///< reading or writing files, while the server waits
    login,
    logged_in,
    closed,
  };

  // Settings.
  void on_settings(const Result<SshSettings>& settings);
  void look_up_known_keys();
  bool prefer_algorithms();
  void on_known_hosts(const Result<void>& read);
  bool check_host_key();
  void accept_host_key(const std::string& shown);
  IdentityChoice identity_choice() const;

  // From the name to a connection.
  void find_server();
  void on_resolved(Result<Resolver::Addresses> addresses);
  void find_jump_host();
  void await_room(SetupWindow::Turn turn);
  void connect();
  void connect_directly();
  void connect_through_jump_host();
  void on_connect_ready();
  void on_connect_failed(int error);
  nanoseconds connect_timeout() const;
  enum class Cause { refused, overrun };
  void retry_or_fail(int max_tries, Cause cause, const Error& error);
  void begin_session();

  // The login.
  bool step();
  bool step_handshake();
  bool step_login();
  void fail_handshake();
  void choose_keys();
  void on_keys(Result<LoginPlan> plan);
  std::optional<Result<std::string>> sign(const LoginKey& login, const std::string& data,
                                          const std::string& algorithm);
  void on_signed(Result<std::string> made);
  bool listen_only();
  void fail_login();
  void note_refusal();
  void open_key(const std::shared_ptr<SigningKey>& key);

  // All phases.
  void watch();
  void set_deadline(nanoseconds delay, std::string_view doing);
  void report_obstacle(Libssh2Obstacle obstacle);
  void fail_with(Error error);
  void drop_connection();

  std::shared_ptr<SshShared> shared_;
  SshTarget target_;
  SshSessionUser* user_;
  SshSettings settings_;
  Endpoint endpoint_;
  Phase phase_ = Phase::waiting;
  std::string server_;  ///< its name in the window of set-ups
  bool in_setup_ = false;
  bool pump_posted_ = false;

  Resolver::Addresses addresses_;
  std::size_t address_ = 0;
  int tries_ = 0;
  std::vector<KnownKey> known_keys_;
  LoginPlan login_;
  std::size_t login_key_ = 0;
  std::vector<std::string> refused_;
  std::set<std::pair<std::string, std::string>> tried_;  ///< blob and algorithm; not tried again
  HeldKeys::Ticket signing_;                             ///< while a signature is pending
  std::optional<Result<std::string>> signed_;
  std::optional<Instant> connected_at_;
  std::optional<Instant> logged_in_at_;
  int connection_ = 0;  ///< number of the connection: answers for an earlier one are ignored

  // The order matters: the session uses the stream, the stream uses the jump host, and the
  // subscriptions watch the descriptor of the stream. Users are destroyed first.
  std::shared_ptr<JumpHost> jump_host_;
  std::unique_ptr<ByteStream> stream_;
  TcpStream* tcp_ = nullptr;  ///< `stream_`, unless a jump host carries it
  std::unique_ptr<SshSession> session_;
  std::unique_ptr<Subscription> readable_;
  std::unique_ptr<Subscription> writable_;
  std::unique_ptr<Subscription> deadline_;
};

}  // namespace train
