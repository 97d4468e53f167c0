// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "backends/ssh/resolver.hpp"

namespace train {

/// A non-blocking TCP connection that never refuses bytes to send: they wait in a buffer, so that
/// libssh2 never stops in the middle of a packet (it could then neither read nor write anything
/// else), and all packets of one step leave in one write. Whoever fills it watches `pending`.
class TcpStream {
 public:
  TcpStream() = default;
  ~TcpStream();
  TcpStream(const TcpStream&) = delete;
  TcpStream& operator=(const TcpStream&) = delete;

  /// Starts to connect; 0, or the errno that says why not. It is done when `fd` is writable.
  int connect(const SocketAddress& address);
  /// 0 once connected, or the errno of the failed attempt.
  int connect_result() const;
  int fd() const { return fd_; }
  /// This machine's address on the connection, numeric; empty when there is none.
  std::string own_address() const;

  /// Reads what is there: a count of bytes, 0 at the end, or -errno (-EAGAIN: nothing yet). Makes
  /// the kernel acknowledge at once, which halves the time that a login takes: sshd's small writes
  /// wait for acknowledgements.
  ssize_t receive(char* buffer, std::size_t size);
  /// Appends to the buffer. Always takes everything.
  void queue(const char* bytes, std::size_t size);
  /// Writes as much as the kernel takes. After an error the buffer is dropped: reading tells.
  void flush();
  std::size_t pending() const { return output_.size() - flushed_; }

  /// From now on nothing is sent, and `receive` reports the end.
  void shut();
  /// Whether the peer has gone (or `shut` was called), and the errno, 0 for an orderly end.
  bool ended() const { return ended_; }
  int error() const { return error_; }
  /// The first bytes that the peer sent, at most 200.
  const std::string& greeting() const { return greeting_; }

 private:
  ssize_t receive_some(char* buffer, std::size_t size);
  std::size_t take_input(char* buffer, std::size_t size);

  int fd_ = -1;
  std::string input_;
  std::size_t taken_ = 0;
  std::string output_;
  std::size_t flushed_ = 0;
  std::string greeting_;
  bool ended_ = false;
  int error_ = 0;
};

}  // namespace train
