// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_session/tcp_stream.hpp"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "backends/posix/files.hpp"

namespace train {

namespace {

void enable(int fd, int option) {
  const int on = 1;
  // Without the option everything works, only slower.
  (void)::setsockopt(fd, IPPROTO_TCP, option, &on, sizeof on);
}

}  // namespace

int TcpStream::connect(const SocketAddress& address) {
  socket_ = Descriptor(
      ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket_) return errno;
  enable(fd(), TCP_NODELAY);
  enable(fd(), TCP_QUICKACK);
  const auto* target = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::connect(fd(), target, address.size) == 0 || errno == EINPROGRESS || errno == EINTR)
    return 0;
  return errno;
}

int TcpStream::connect_result() const {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(fd(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

std::string TcpStream::own_address() const {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  return ::getsockname(fd(), address, &size) == 0 ? numeric_text(address, size) : "";
}

ssize_t TcpStream::read_some(char* buffer, std::size_t size) {
  const ssize_t count = train::read_some(fd(), buffer, size);
  if (count < 0) return errno == EWOULDBLOCK ? -EAGAIN : -errno;
  if (count > 0) enable(fd(), TCP_QUICKACK);
  return count;
}

ssize_t TcpStream::write_some(const char* bytes, std::size_t size) {
  const ssize_t count = uninterrupted([&] { return ::send(fd(), bytes, size, MSG_NOSIGNAL); });
  if (count < 0) return errno == EWOULDBLOCK ? -EAGAIN : -errno;
  return count;
}

}  // namespace train
