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
/// Of a numeric IPv4 or IPv6 address and a port from 1 on; nothing where it is none.
std::optional<SocketAddress> socket_address(const std::string& text, int port);

/// A socket that listens on all addresses of this host, of IPv4 and, where there is any, of IPv6,
/// without blocking; port 0: one of the kernel's choice. None, and errno, on error.
Descriptor listen_on_all(int port);
/// The port of a socket of this host; 0: the kernel does not say.
int port_of(const Descriptor& socket);

/// How an attempt to connect has ended: 0 or errno.
int pending_error(const Descriptor& socket);

/// When something has to be done.
using Deadline = std::chrono::steady_clock::time_point;

/// A TCP connection to another program, of which everything has a deadline: for a program that does
/// one thing after the other. Errors are of class `host`, without a name of the other side.
class TimedSocket {
 public:
  static Result<TimedSocket> connect(const std::string& address, int port, Deadline deadline);
  /// One that was accepted.
  explicit TimedSocket(Descriptor socket);

  /// The other side's address, numeric, as IPv4 where it is that; empty: the kernel does not say.
  std::string peer() const;
  Result<void> send(std::string_view bytes, Deadline deadline);
  /// The next line, without its end, of at most 4 KiB.
  Result<std::string> line(Deadline deadline);
  /// Sends as much as goes until the other side has enough, or the deadline.
  void flood(Deadline deadline);
  /// Bytes per second that arrive, from the first of them on and for so long or until there are no
  /// more. An error where fewer than two pieces arrive.
  Result<std::uint64_t> pace(milliseconds length, Deadline deadline);

 private:
  Descriptor socket_;
  LineBuffer received_;
};

/// The next connection to a listening socket.
Result<TimedSocket> accept_from(const Descriptor& listening, Deadline deadline);
/// The next one that begins with this line, unless one with `stop` comes before: an error. Whoever
/// says something else, or nothing for a second, is cut off.
Result<TimedSocket> accept_from(const Descriptor& listening, std::string_view line,
                                std::string_view stop, Deadline deadline);

}  // namespace train
