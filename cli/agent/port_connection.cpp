// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/port_connection.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "backends/network/timed_socket.hpp"
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
  int error = 0;
  for (const char* loopback : {"127.0.0.1", "::1"}) {
    const auto address = socket_address(loopback, port);
    Descriptor socket(::socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto* const to = reinterpret_cast<const sockaddr*>(&address->storage);
    if (socket && ::connect(socket.get(), to, address->size) == 0) return socket;
    if (error == 0) error = errno;
  }
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
