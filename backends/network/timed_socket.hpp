// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backends/posix/descriptor.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/frames/line_buffer.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

/// A socket's address.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};
/// Parses a numeric IPv4 or IPv6 address, with a port from 1 on; nothing when either is invalid.
std::optional<SocketAddress> socket_address(const std::string& text, int port);

/// A non-blocking socket that listens on all addresses of this host, IPv4 and, if available, IPv6;
/// port 0: the kernel chooses. Empty, with errno set, on error.
Descriptor listen_on_all(int port);
/// The same on 127.0.0.1 alone.
Descriptor listen_on_loopback(int port);
/// The port of a socket of this host; 0 on failure.
int port_of(const Descriptor& socket);

/// The result of a connect: 0 or errno.
int pending_error(const Descriptor& socket);

/// The end of a wait.
using Deadline = std::chrono::steady_clock::time_point;

/// A TCP connection to another program in which every call has a deadline: for a sequential
/// program. Errors are of class `host`, and do not name the peer.
class TimedSocket {
 public:
  static Result<TimedSocket> connect(const std::string& address, int port, Deadline deadline);
  /// Takes a connection that was accepted.
  explicit TimedSocket(Descriptor socket);

  /// The address of the peer, numeric, in IPv4 form for IPv4; empty on failure.
  std::string peer() const;
  Result<void> send(std::string_view bytes, Deadline deadline);
  /// The next line, without its end, of at most 4 KiB.
  Result<std::string> line(Deadline deadline);
  /// Sends as much as possible until the peer closes the connection, or the deadline.
  void flood(Deadline deadline);
  /// Bytes per second that arrive, measured from the first of them for `length` or until the end of
  /// the stream. An error when fewer than two pieces arrive.
  Result<std::uint64_t> pace(milliseconds length, Deadline deadline);

 private:
  Descriptor socket_;
  LineBuffer received_;
};

/// Accepts the next connection of a listening socket.
Result<TimedSocket> accept_from(const Descriptor& listening, Deadline deadline);
/// Accepts the next connection that begins with `line`, unless one with `stop` comes before, which
/// is an error. Connections that send another line, or nothing for a second, are closed.
Result<TimedSocket> accept_from(const Descriptor& listening, std::string_view line,
                                std::string_view stop, Deadline deadline);

}  // namespace train
