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

/// The means for logging in that the environment of this process gives.
Credentials own_credentials();

/// Reaches each host the way its `transport` says: this machine by a child process, a host with a
/// command of its own by that, all others over SSH, by libssh2 or by OpenSSH's client. `auto` takes
/// libssh2, and OpenSSH for the hosts that libssh2 cannot serve.
class HostTransports final : public Transport {
 public:
  using Print = std::function<void(const std::string&)>;
  /// Makes the transports that these hosts need. Ranks on this machine get `open_files` as their
  /// soft limit of open files, or the limit of this process if there is none. `print` takes one
  /// line for the user and is called from the loop. On a terminal, passphrases are asked for there.
  HostTransports(Loop& loop, const std::vector<Host>& hosts, std::optional<rlim_t> open_files,
                 Print print);

  std::unique_ptr<HostLink> open(const Host& host, const AgentCall& call,
                                 LinkEvents events) override;
  /// Whether the user is being asked, on the terminal or by a program of ssh, and has not answered
  /// yet.
  bool is_asking() const { return question_.is_open() || (openssh_ && openssh_->is_asking()); }
  /// The means by which the hosts are logged in to; a local host is not included.
  Logins& logins() { return *logins_; }
  /// Whether sessions stay open after their links have ended, for later links; initially not.
  /// Sessions of OpenSSH's client never stay open.
  void keep_sessions(bool are_kept);
  /// From now on, messages go to `print`.
  void print_through(Print print) { *print_ = std::move(print); }

 private:
  /// The arguments for making transports.
  struct Parts {
    Loop& loop;
    std::optional<rlim_t> open_files;
    Print print;
  };
  void make_for(const Host& host, const Parts& parts);
  void make_over_commands(const Parts& parts);
  void make_over_ssh(const Parts& parts);
  Transport* transport_of(const Host& host) const;

  std::shared_ptr<Logins> logins_;
  std::shared_ptr<Print> print_;  ///< shared: links may outlive this object
  TerminalQuestion question_;
  std::unique_ptr<OpensshTransport> openssh_;
  std::unique_ptr<Transport> local_;
  std::unique_ptr<Transport> command_;
  std::unique_ptr<SshTransport> ssh_;
};

/// The connection of a command to its hosts, shared by all its steps: a launch may be refused,
/// query what is in use, wait in the queue and start, but logs in to each host only once.
struct HostConnections {
  /// Raises this process's limit of open files; ranks on this machine get the old one. Messages of
  /// the transports go to `talk`.
  explicit HostConnections(const std::vector<Host>& hosts);

  Loop loop;
  HostTransports transports;
};

}  // namespace train
