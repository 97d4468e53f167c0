// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/posix/descriptor.hpp"
#include "backends/ssh_session/byte_stream.hpp"
#include "backends/ssh_session/resolver.hpp"

namespace train {

/// A TCP connection that does not block. Reading makes the kernel acknowledge at once, which halves
/// the time that a login takes: sshd's small writes wait for acknowledgements.
class TcpStream final : public ByteStream {
 public:
  TcpStream() = default;

  /// Starts to connect; 0, or the errno that says why not. It is done when `fd` is writable.
  int connect(const SocketAddress& address);
  /// 0 once connected, or the errno of the failed attempt.
  int connect_result() const;
  int fd() const override { return socket_.get(); }
  /// This machine's address on the connection, numeric; empty when there is none.
  std::string own_address() const;

 private:
  ssize_t read_some(char* buffer, std::size_t size) override;
  ssize_t write_some(const char* bytes, std::size_t size) override;

  Descriptor socket_;
};

}  // namespace train
