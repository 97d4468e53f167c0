// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/event_loop/loop.hpp"
#include "backends/link/logins.hpp"
#include "backends/openssh/openssh_transport.hpp"
#include "backends/ssh/ssh_transport.hpp"
#include "cli/terminal/terminal_question.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/ports/transport.hpp"

namespace train {

/// What this process has for logging in, by its environment.
Credentials own_credentials();

/// Reaches each host the way its `transport` says: this machine by a child process, all others over
/// SSH, by libssh2 or by OpenSSH's client. `auto` takes libssh2, and OpenSSH for the hosts that
/// libssh2 cannot serve.
class HostTransports final : public Transport {
 public:
  using Say = std::function<void(const std::string&)>;
  /// Makes the transports that these hosts need. Ranks of this machine get `open_files`
  /// as their soft limit of descriptors, or that of this process. `say` tells the user something in
  /// one line, from the loop. At a terminal, passphrases are asked for there.
  HostTransports(Loop& loop, const std::vector<Host>& hosts, std::optional<rlim_t> open_files,
                 Say say);

  std::unique_ptr<HostLink> open(const Host& host, const AgentCall& call,
                                 LinkEvents events) override;
  /// Somebody is being asked, at the terminal or by a program of ssh's, and has not answered yet.
  bool is_asking() const { return question_.is_open() || (openssh_ && openssh_->is_asking()); }
  /// With what the hosts are logged in to; a host of this machine takes no part.
  Logins& logins() { return *logins_; }
  /// Whether hosts stay logged in to when their links have ended, for the next ones; not at first.
  /// Those that OpenSSH's client reaches do not.
  void keep_sessions(bool are_kept);
  /// From now on that is told there.
  void say_through(Say say) { *say_ = std::move(say); }

 private:
  /// What transports are made of.
  struct Parts {
    Loop& loop;
    std::optional<rlim_t> open_files;
    Say say;
  };
  void make_for(const Host& host, const Parts& parts);
  void make_over_ssh(const Parts& parts);
  Transport* transport_of(const Host& host) const;

  std::shared_ptr<Logins> logins_;
  std::shared_ptr<Say> say_;  ///< links may outlive this
  TerminalQuestion question_;
  std::unique_ptr<OpensshTransport> openssh_;
  std::unique_ptr<Transport> local_;
  std::unique_ptr<SshTransport> ssh_;
};

/// Hosts within reach of a command, over all that it does there one after the other: a launch may
/// be refused, look what is held, stand in line and start, and logs in to each host once for that.
struct Reach {
  /// Raises this process's limit of descriptors; ranks of this machine get the one before. What the
  /// transports have to say is said with `talk`.
  explicit Reach(const std::vector<Host>& hosts);

  Loop loop;
  HostTransports transports;
};

}  // namespace train
