// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/posix/descriptor.hpp"
#include "backends/ssh_session/byte_stream.hpp"
#include "backends/ssh_session/resolver.hpp"

namespace train {

/// A non-blocking TCP connection. Reading makes the kernel acknowledge at once, which halves the
/// duration of a login: sshd's small writes wait for acknowledgements.
class TcpStream final : public ByteStream {
 public:
  TcpStream() = default;

  /// Starts to connect; returns 0 or errno. The attempt has ended when `fd` is writable.
  int connect(const SocketAddress& address);
  /// 0 once connected, or the errno of the failed attempt.
  int connect_result() const;
  int fd() const override { return socket_.get(); }
  /// The address of this machine on the connection, numeric; empty when there is none.
  std::string own_address() const;

 private:
  ssize_t read_some(char* buffer, std::size_t size) override;
  ssize_t write_some(const char* bytes, std::size_t size) override;

  Descriptor socket_;
};

}  // namespace train
