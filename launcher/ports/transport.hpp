// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// What the launcher learns about a host when its agent answers.
struct LinkInfo {
  std::string
      address;  ///< numeric address that the launcher reached the host by; loopback if local
  std::string transport;  ///< "local", "ssh"
  /// The address by which the host reaches this machine: this machine's end of the same connection;
  /// if local, the address that the hosts file gives for this machine. Empty: not known.
  std::string own_address = {};
  /// An address by which the host may reach this machine: this machine's end of the connection to
  /// the first jump host; if local, the only address of this machine. Empty: not known.
  std::string likely_own_address = {};
  // When the SSH server answered, and when it accepted the login: perhaps long before, if an
  // existing session is used. Nothing: there is no server, or the transport does not know.
  std::optional<Instant> connected = {};
  std::optional<Instant> logged_in = {};
};

/// Events of a link. All callbacks come from the event loop, never from inside a call to the link,
/// and none after `on_closed` or after the link was destroyed.
struct LinkEvents {
  /// The agent runs and the stream is open; comes once, first.
  std::function<void(const LinkInfo&)> on_open;
  /// Bytes of the agent's frame stream, in order, in pieces of any size.
  std::function<void(std::string_view bytes)> on_bytes;
  /// The stream is over, or was never opened: the reason, of class `host` or `missing`, in
  /// words that make sense without the host's name. Comes once, last.
  std::function<void(const Error& why)> on_closed;
};

/// A request to a host.
struct AgentCall {
  enum class Verb {
    attach,    ///< connect to an agent, and start one if none runs
    reattach,  ///< connect to a running agent; the stream is a NoAgent if none runs
    sweep,     ///< end what a dead agent has left; the stream is a SweepReport
    exec,      ///< run a command beside a rank; the stream is as in exec_talk.hpp
    get,       ///< send files that a rank has left; the stream is as in get_talk.hpp
    look,      ///< report what the host has and who holds it; the stream is a HostReport
    wait,      ///< wait in the host's line; the stream is as in talks/wait_talk.hpp
    check,     ///< check the host's fitness; the streams are as in fitness/host_fitness.hpp
  };
  std::string key;  ///< "<task>-<node rank>"; for a look, which has no task, `look_word`
  Verb verb = Verb::attach;
  /// Limit of a TCP connection attempt: a host that does not answer is tried again rather than
  /// waited for. Nothing: the usual limit.
  std::optional<milliseconds> connect_limit = {};
};

/// "attach", "reattach", "sweep", "exec", "get", "look", "wait", "check": the words of the agent's
/// program.
constexpr const char* to_string(AgentCall::Verb verb) {
  switch (verb) {
    case AgentCall::Verb::attach:
      return "attach";
    case AgentCall::Verb::reattach:
      return "reattach";
    case AgentCall::Verb::sweep:
      return "sweep";
    case AgentCall::Verb::exec:
      return "exec";
    case AgentCall::Verb::get:
      return "get";
    case AgentCall::Verb::look:
      return "look";
    case AgentCall::Verb::wait:
      return "wait";
    case AgentCall::Verb::check:
      return "check";
  }
  return "attach";
}

/// A byte stream to the agent of one task on one host. Destroying it closes the stream at once.
class HostLink {
 public:
  virtual ~HostLink() = default;
  /// Queues bytes for the agent; they wait until `on_open`. Never blocks.
  virtual void send(std::string bytes) = 0;
  /// The same for bytes that many links send; a link that can avoids a copy.
  virtual void send_shared(const std::shared_ptr<const std::string>& bytes) { send(*bytes); }
  /// Bytes queued and not yet handed to the network.
  virtual std::size_t unsent_bytes() const = 0;
  /// Before `on_open`: the user is being asked for a password or passphrase, and would be asked
  /// again by another link.
  virtual bool is_asking() const { return false; }
};

/// Reaches hosts. Local and remote hosts are handled alike.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Starts to reach `host` for `call`. Returns at once; failures are reported by
  /// `events.on_closed`.
  virtual std::unique_ptr<HostLink> open(const Host& host, const AgentCall& call,
                                         LinkEvents events) = 0;
};

}  // namespace train
