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
  /// What the host reaches this machine by: its end of the same connection; if local, what the
  /// hosts file says that other hosts reach this machine by. Empty when not known.
  std::string own_address = {};
  /// What it may well reach this machine by: its end of the connection to the first jump host on
  /// the way; if local, its only address. Empty when not known.
  std::string likely_own_address = {};
};

/// What a link tells its owner. All callbacks come from the event loop, never from inside a call
/// to the link, and none after `on_closed` or after the link was destroyed.
struct LinkEvents {
  /// The agent runs and the stream is open; comes once, first.
  std::function<void(const LinkInfo&)> on_open;
  /// Bytes of the agent's frame stream, in order, in pieces of any size.
  std::function<void(std::string_view bytes)> on_bytes;
  /// The stream is over, or was never opened: why, of class `host` or `missing`, in words that
  /// need no host name added. Comes once, last.
  std::function<void(const Error& why)> on_closed;
};

/// What is asked of a host.
struct AgentCall {
  enum class Verb {
    attach,    ///< to speak to an agent, which is started if it does not run
    reattach,  ///< to speak to an agent that runs; where none does, the stream is a NoAgent
    sweep,     ///< that what a dead agent has left is ended; the stream is a SweepReport
    exec,      ///< to run a command beside a rank; the stream is of exec_talk.hpp
    get,       ///< to be sent what a rank has left; the stream is of get_talk.hpp
    look,      ///< what the host has and who holds it; the stream is a HostReport
    wait,      ///< for a place in the host's line; the stream is as in talks/wait_talk.hpp
    check,     ///< whether the host is fit; the streams are as in fitness/host_fitness.hpp
  };
  std::string key;  ///< "<task>-<node rank>"; of a look, which is of no task, `look_word`
  Verb verb = Verb::attach;
  /// How long a TCP connection may take: a host that is not there yet is tried again rather than
  /// waited for. Nothing: as long as is usual.
  std::optional<milliseconds> connect_limit = {};
};

/// "attach", "reattach", "sweep", "exec", "get", "look", "wait", "check": as the agent's program
/// knows it.
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
  /// Queues bytes for the agent; before `on_open` they wait. Never blocks.
  virtual void send(std::string bytes) = 0;
  /// The same for bytes that many links send; a link that can makes no copy of them.
  virtual void send_shared(const std::shared_ptr<const std::string>& bytes) { send(*bytes); }
  /// Bytes queued and not yet handed to the network.
  virtual std::size_t unsent_bytes() const = 0;
  /// Before `on_open`: somebody is being asked for what the login takes, and would be asked again
  /// by another link.
  virtual bool is_asking() const { return false; }
};

/// How hosts are reached. Local and remote hosts differ in nothing else.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Starts to reach `host` and what `call` asks for there. Returns at once; failures come through
  /// `events.on_closed`.
  virtual std::unique_ptr<HostLink> open(const Host& host, const AgentCall& call,
                                         LinkEvents events) = 0;
};

}  // namespace train
