// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "backends/event_loop/loop.hpp"
#include "backends/link/agent_binary.hpp"
#include "backends/link/host_settings.hpp"
#include "backends/link/logins.hpp"
#include "backends/link/setup_window.hpp"
#include "launcher/ports/transport.hpp"

namespace train {

/// How ssh processes are run.
struct OpensshOptions {
  std::string search_path;               ///< $PATH, along which `ssh` is looked for
  std::vector<std::string> environment;  ///< of this process; ssh sees what it needs of it
  /// With what hosts are logged in to; empty: with what `environment` says. Others may share it.
  std::shared_ptr<Logins> logins;
  /// What asks for passphrases, unless it is another one in `environment`.
  std::string askpass = "/usr/bin/ssh-askpass";
  AgentBinary agent;  ///< what is shipped
  /// What ssh's configuration says of a host; empty: nothing that matters here.
  HostSettingsOf settings_of;
  /// Tells the user something in one line; may be empty.
  std::function<void(const std::string&)> say;

  int max_setups = 128;  ///< hosts that are being logged in to at the same time, without a window
  /// Silence that is borne. An address that ssh connects to has `connect_timeout`; from then on, or
  /// from the start of a ProxyCommand, all up to the login has `login_timeout`, the key exchange
  /// half of it: ssh does not tell reliably where in between it is. A ConnectTimeout that is longer
  /// than the time to connect, or than that for the key exchange, takes its place.
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds login_timeout{40'000};
  std::chrono::milliseconds start_timeout{30'000};  ///< from the login to an answer
  std::chrono::milliseconds upload_stall{60'000};   ///< longest pause while the agent travels
  std::chrono::milliseconds upload_notice{10'000};  ///< after so much of that pause it is said
};

struct OpensshShared;

/// Reaches hosts through OpenSSH's client: one `ssh` process for each, which runs the same agent
/// with the same bootstrap as the libssh2 transport. What ssh can do and the user has configured
/// works: certificates, security keys, GSSAPI, ProxyCommand, a ControlMaster that runs already.
/// Nothing is prompted for, and host keys must be known unless the host's settings accept new ones.
/// Processes are driven from the loop's thread and never block it. When a link goes, its ssh is let
/// go of within a second or two; the transport waits for that long when it goes itself. The loop
/// must outlive links and transport.
class OpensshTransport final : public Transport {
 public:
  /// `window` is shared with other transports; none: its own, as the options say.
  OpensshTransport(Loop& loop, OpensshOptions options,
                   std::shared_ptr<SetupWindow> window = nullptr);
  ~OpensshTransport() override;

  std::unique_ptr<HostLink> open(const Host& host, const AgentCall& call,
                                 LinkEvents events) override;
  /// A program of ssh's asks for a passphrase, or whether to trust a host, and has no answer yet.
  bool is_asking() const;

 private:
  std::shared_ptr<OpensshShared> shared_;
};

}  // namespace train
