// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/tcp_stream.hpp"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace train {

namespace {

void enable(int fd, int option) {
  const int on = 1;
  // Only a matter of speed: a kernel without the option is as good.
  (void)::setsockopt(fd, IPPROTO_TCP, option, &on, sizeof on);
}

}  // namespace

TcpStream::~TcpStream() {
  if (fd_ >= 0) ::close(fd_);
}

int TcpStream::connect(const SocketAddress& address) {
  fd_ = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return errno;
  enable(fd_, TCP_NODELAY);
  enable(fd_, TCP_QUICKACK);
  const auto* target = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::connect(fd_, target, address.size) == 0 || errno == EINPROGRESS || errno == EINTR) return 0;
  return errno;
}

int TcpStream::connect_result() const {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

std::string TcpStream::own_address() const {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  return ::getsockname(fd_, address, &size) == 0 ? numeric_text(address, size) : "";
}

ssize_t TcpStream::read_some(char* buffer, std::size_t size) {
  ssize_t count = 0;
  do {
    count = ::recv(fd_, buffer, size, 0);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return errno == EWOULDBLOCK ? -EAGAIN : -errno;
  if (count > 0) enable(fd_, TCP_QUICKACK);
  return count;
}

ssize_t TcpStream::write_some(const char* bytes, std::size_t size) {
  ssize_t count = 0;
  do {
    count = ::send(fd_, bytes, size, MSG_NOSIGNAL);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return errno == EWOULDBLOCK ? -EAGAIN : -errno;
  return count;
}

}  // namespace train
