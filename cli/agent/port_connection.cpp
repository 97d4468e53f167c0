// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/port_connection.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "backends/posix/child.hpp"
#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"

namespace train {

namespace {

// Copies until the end of `from`, or until `to` takes no more.
void copy(int from, int to) {
  std::array<char, 64 << 10> bytes;
  while (true) {
    const ssize_t count = read_some(from, bytes.data(), bytes.size());
    if (count <= 0) return;
    if (write_whole(to, {bytes.data(), static_cast<std::size_t>(count)}) != 0) return;
  }
}

// Programs listen on either loopback address, and most on both.
Result<Descriptor> connect_to(int port) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<std::uint16_t>(port));
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (socket && ::connect(socket.get(), reinterpret_cast<sockaddr*>(&v4), sizeof v4) == 0)
    return socket;
  const int error = errno;
  Descriptor other(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = v4.sin_port;
  v6.sin6_addr = in6addr_loopback;
  if (other && ::connect(other.get(), reinterpret_cast<sockaddr*>(&v6), sizeof v6) == 0)
    return other;
  return fail(ErrorClass::host,
              fmt::format("nothing answers on port {} there: {}", port, system_reason(error)));
}

}  // namespace

Result<void> connect_streams_to_port(int port) {
  auto socket = connect_to(port);
  if (!socket) return tl::make_unexpected(socket.error());
  const int there = socket->get();
  // The other direction ends with this process.
  auto sending = start_thread([there] {
    copy(STDIN_FILENO, there);
    ::shutdown(there, SHUT_WR);
  });
  if (!sending) return sending;
  copy(there, STDOUT_FILENO);
  (void)socket->release();  // the other thread may still use it
  return {};
}

}  // namespace train
