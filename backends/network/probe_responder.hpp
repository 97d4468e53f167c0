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
/// a port that the kernel gives, and for those who know its token, which is new for each responder.
///
/// Anybody may connect, and do as he likes: 256 connections are served at once, each for 10 s at
/// most, and others wait in the socket's queue. When all are taken, those that have not shown the
/// token within a second make room. Whoever shows another one is cut off at once.
class ProbeResponder {
 public:
  /// Of class `host` when there is no socket to be had.
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
  std::unique_ptr<Subscription> next_look_;  ///< for room; while there is none
};

}  // namespace train
