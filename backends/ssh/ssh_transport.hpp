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

/// How hosts are logged in to.
struct SshOptions {
  std::string home;  ///< what "~" is: keys are in ~/.ssh
  /// ssh's configuration, the user's and the system's; empty: none.
  std::string user_config;
  std::string system_config;
  std::string ssh_program = "ssh";  ///< what tells the settings of a host, from these two files
  std::vector<std::string> ssh_environment;  ///< the variables that it sees
  // Files that are read once, when nothing else is configured; missing ones hold no keys.
  std::vector<std::string> known_hosts_files;  ///< the user's; the first takes accepted keys
  std::vector<std::string> global_known_hosts_files;
  /// With what hosts are logged in to beside files; others may share it.
  std::shared_ptr<Logins> logins = std::make_shared<Logins>(Credentials());
  std::string default_user;  ///< for hosts that name none
  AgentBinary agent;         ///< what is shipped
  /// Takes over the hosts that libssh2 cannot serve; must outlive the links. Null: such a host
  /// fails, with the reason.
  Transport* openssh = nullptr;
  /// Tells the user something in one line; may be empty.
  std::function<void(const std::string&)> say;
  /// Asks for the passphrases of encrypted keys; empty: they are not used.
  AskSecret ask;

  int max_setups = 128;  ///< hosts that are being logged in to at the same time, without a window
  int max_tries = 8;     ///< connections to a server that ends them before the login
  std::chrono::milliseconds connect_timeout{10'000};  ///< for each address of a host
  /// For a jump host to say whether it reached a host; others then go through another session.
  std::chrono::milliseconds jump_patience{1'000};
  /// For a session that is there to open a further channel; then the host is logged in to anew.
  std::chrono::milliseconds session_patience{2'000};
  std::chrono::milliseconds handshake_timeout{20'000};
  std::chrono::milliseconds login_timeout{20'000};
  std::chrono::milliseconds start_timeout{30'000};   ///< from the exec request to an answer
  std::chrono::milliseconds upload_stall{60'000};    ///< longest pause while the agent travels
  std::chrono::milliseconds upload_notice{10'000};   ///< after so much of that pause it is said
  std::chrono::milliseconds agent_deadline{2'000};   ///< for ssh-agent to list its keys
  std::chrono::milliseconds agent_patience{60'000};  ///< for a signature: it may ask a person
  std::chrono::milliseconds keys_deadline{10'000};   ///< for all keys to be read
  /// For each answer of `ssh -G`, and for its files and known_hosts to be read.
  std::chrono::milliseconds config_deadline{10'000};
};

/// Options for this user: configuration and known_hosts of the user (whose home, as for ssh, is
/// what the user database says) and of the machine.
SshOptions default_ssh_options(std::string home, std::string user);

class SshFiles;
struct SshShared;

/// Reaches hosts over SSH (libssh2): strict about host keys, logs in with keys only, ships the
/// agent where it is not cached, and runs the agent with one exec request. All sessions are driven
/// from the loop's thread and never block it. Links may outlive the transport, but not the loop.
class SshTransport final : public Transport {
 public:
  /// `window` and `files` are shared with other transports; none: its own, as the options say.
  SshTransport(Loop& loop, SshOptions options, std::shared_ptr<SetupWindow> window = nullptr,
               std::shared_ptr<SshFiles> files = nullptr);
  ~SshTransport() override;

  std::unique_ptr<HostLink> open(const Host& host, const AgentCall& call,
                                 LinkEvents events) override;
  /// Whether hosts stay logged in to when their links have ended, so that the next ones need no
  /// login. Not at first. False: links keep what they have, all else ends now.
  void keep_sessions(bool are_kept);

 private:
  std::shared_ptr<SshShared> shared_;
};

}  // namespace train
