// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "backends/command/process_link.hpp"
#include "backends/event_loop/loop.hpp"
#include "backends/link/host_settings.hpp"
#include "backends/link/logins.hpp"
#include "backends/link/setup_window.hpp"
#include "launcher/ports/transport.hpp"

namespace train {

/// How to run ssh processes.
struct OpensshOptions : ProcessLinkOptions {
  std::string search_path;               ///< $PATH, in which `ssh` is searched
  std::vector<std::string> environment;  ///< of this process; only the variables for ssh are passed
                                         ///< on
  /// The credentials for logins; null: those in `environment`. Other transports may share them.
  std::shared_ptr<Logins> logins;
  /// The program that asks for passphrases, unless `environment` names another one.
  std::string askpass = "/usr/bin/ssh-askpass";
  /// Reads ssh's configuration of a host; empty: default settings.
  HostSettingsOf settings_of;

  int max_setups = 128;  ///< concurrent logins, if no window is given
  /// Timeouts of silence. Each address that ssh connects to has `connect_timeout`. From then on, or
  /// from the start of a ProxyCommand, everything up to the login has `login_timeout`, the key
  /// exchange half of it: ssh does not report reliably where in between it is. A ConnectTimeout
  /// that is longer than the time to connect, or than that for the key exchange, replaces it.
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds login_timeout{40'000};
};

struct OpensshShared;

/// Reaches hosts through OpenSSH's client: one `ssh` process for each, which runs the same agent
/// with the same bootstrap as the libssh2 transport. Everything that ssh supports and the user has
/// configured works: certificates, security keys, GSSAPI, ProxyCommand, an existing ControlMaster.
/// There are no prompts on the terminal, and host keys must be known unless the host's settings
/// accept new ones. Processes are driven from the loop's thread and never block it. When a link is
/// destroyed, its ssh ends within a second or two; destroying the transport waits for that. The
/// loop must outlive links and transport.
class OpensshTransport final : public Transport {
 public:
  /// `window` may be shared with other transports; null: created from the options.
  OpensshTransport(Loop& loop, OpensshOptions options,
                   std::shared_ptr<SetupWindow> window = nullptr);
  ~OpensshTransport() override;

  std::unique_ptr<HostLink> open(const Host& host, const AgentCall& call,
                                 LinkEvents events) override;
  /// Whether a program of ssh asks for a passphrase, or whether to trust a host, and has no answer
  /// yet.
  bool is_asking() const;

 private:
  std::shared_ptr<OpensshShared> shared_;
};

}  // namespace train
