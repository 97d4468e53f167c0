// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/event_loop/loop.hpp"
#include "backends/link/agent_binary.hpp"
#include "backends/link/logins.hpp"
#include "backends/link/setup_window.hpp"
#include "backends/ssh_keys/passphrases.hpp"
#include "launcher/ports/transport.hpp"

namespace train {

/// How to log in to hosts.
struct SshOptions {
  std::string home;  ///< the value of "~": keys are in ~/.ssh
  /// ssh's configuration, the user's and the system's; empty: none.
  std::string user_config;
  std::string system_config;
  std::string ssh_program = "ssh";  ///< reports the settings of a host from these two files
  std::vector<std::string> ssh_environment;  ///< its environment variables
  // Files that are read once, when no others are configured; missing files have no keys.
  std::vector<std::string> known_hosts_files;  ///< the user's; accepted keys are added to the first
  std::vector<std::string> global_known_hosts_files;
  /// Credentials besides key files; other transports may share them.
  std::shared_ptr<Logins> logins = std::make_shared<Logins>(Credentials());
  std::string default_user;  ///< for hosts without a user
  AgentBinary agent;         ///< the agent that is sent to hosts
  /// Takes over the hosts that libssh2 cannot serve; must outlive the links. Null: such a host
  /// fails, with the reason.
  Transport* openssh = nullptr;
  /// Shows the user a line of text; may be empty.
  std::function<void(const std::string&)> print;
  /// Asks for the passphrases of encrypted keys; empty: they are not used.
  AskSecret ask;

  int max_setups = 128;  ///< concurrent logins, if no window is given
  int max_tries = 8;     ///< tries with a server that ends connections before the login
  std::chrono::milliseconds connect_timeout{10'000};  ///< for each address of a host
  /// For a jump host to report whether it reached a host; then other hosts use another session.
  std::chrono::milliseconds jump_patience{1'000};
  /// For an existing session to open a further channel; then a new login is made.
  std::chrono::milliseconds session_patience{2'000};
  std::chrono::milliseconds handshake_timeout{20'000};
  std::chrono::milliseconds login_timeout{20'000};
  std::chrono::milliseconds start_timeout{30'000};   ///< from the exec request to an answer
  std::chrono::milliseconds upload_stall{60'000};    ///< longest pause of the upload of the agent
  std::chrono::milliseconds upload_notice{10'000};   ///< pause after which the user is told
  std::chrono::milliseconds agent_deadline{2'000};   ///< for ssh-agent to list its keys
  std::chrono::milliseconds agent_patience{60'000};  ///< for a signature, which the user may have
                                                     ///< to confirm
  std::chrono::milliseconds keys_deadline{10'000};   ///< for reading all keys
  /// For each answer of `ssh -G`, and for reading its files and known_hosts.
  std::chrono::milliseconds config_deadline{10'000};
};

/// Options for this user: the configuration and known_hosts of the user and of the machine. `home`
/// should come from the user database, as for ssh.
SshOptions default_ssh_options(std::string home, std::string user);

class SshFiles;
struct SshShared;

/// Reaches hosts over SSH (libssh2): checks host keys strictly, logs in with keys only, uploads the
/// agent if it is not cached, and starts it with one exec request. All sessions run on the loop's
/// thread and never block it. Links may outlive the transport, but not the loop.
class SshTransport final : public Transport {
 public:
  /// `window` and `files` may be shared with other transports; null: created from the options.
  SshTransport(Loop& loop, SshOptions options, std::shared_ptr<SetupWindow> window = nullptr,
               std::shared_ptr<SshFiles> files = nullptr);
  ~SshTransport() override;

  std::unique_ptr<HostLink> open(const Host& host, const AgentCall& call,
                                 LinkEvents events) override;
  /// Whether sessions stay open when their links have ended, so that the next links need no login.
  /// Initially false. False: links keep their sessions, all other sessions end now.
  void keep_sessions(bool are_kept);

 private:
  std::shared_ptr<SshShared> shared_;
};

}  // namespace train
