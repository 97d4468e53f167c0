// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <memory>
#include <string>

#include "backends/event_loop/acceptor.hpp"
#include "backends/event_loop/loop.hpp"
#include "backends/network/probe_protocol.hpp"
#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// Answers the probes of other hosts, from a loop: on all addresses of this host, IPv4 and IPv6, on
/// a port that the kernel chooses, and only for clients that know its token, which is new for each
/// responder.
///
/// Any process may connect: 256 connections are served at once, each for at most 10 s, and others
/// wait in the socket's queue. When all are taken, connections that have not sent the token within
/// a second are closed. A connection with a wrong token is closed at once.
class ProbeResponder {
 public:
  /// Class `host` when no socket can be opened.
  static Result<std::unique_ptr<ProbeResponder>> open(Loop& loop);
  /// Ends all connections.
  ~ProbeResponder();
  ProbeResponder(const ProbeResponder&) = delete;
  ProbeResponder& operator=(const ProbeResponder&) = delete;

  int port() const { return port_; }
  /// 32 hexadecimal digits.
  const std::string& token() const { return token_; }

 private:
  struct Connection;
  using Connections = std::list<Connection>;

  ProbeResponder(Loop& loop, Descriptor socket, int port);
  void take(Descriptor socket);
  void make_room();
  void receive(Connections::iterator connection);
  void send(Connections::iterator connection);
  void cut_off(Connections::iterator connection);
  void end(Connections::iterator connection);

  Loop& loop_;
  const Descriptor socket_;
  const int port_;
  const std::string token_;
  const std::string question_;  ///< header
  const std::string answer_;    ///< header
  Connections connections_;
  Acceptor acceptor_;
  std::unique_ptr<Subscription> next_look_;  ///< retries `make_room` while all connections are
                                             ///< taken
};

}  // namespace train
