// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/tcp_stream.hpp"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace train {

namespace {

constexpr std::size_t max_greeting = 200;
constexpr std::size_t read_ahead = 4096;

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

ssize_t TcpStream::receive(char* buffer, std::size_t size) {
  if (taken_ < input_.size()) return static_cast<ssize_t>(take_input(buffer, size));
  if (ended_) return error_ ? -error_ : 0;
  if (size >= read_ahead) return receive_some(buffer, size);
  // libssh2 reads the greeting byte by byte.
  input_.resize(read_ahead);
  taken_ = 0;
  const ssize_t count = receive_some(input_.data(), input_.size());
  input_.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return count > 0 ? static_cast<ssize_t>(take_input(buffer, size)) : count;
}

ssize_t TcpStream::receive_some(char* buffer, std::size_t size) {
  ssize_t count = 0;
  do {
    count = ::recv(fd_, buffer, size, 0);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return -EAGAIN;
  if (count <= 0) {
    ended_ = true;
    error_ = count < 0 ? errno : 0;
    return -error_;
  }
  enable(fd_, TCP_QUICKACK);
  if (greeting_.size() < max_greeting)
    greeting_.append(buffer,
                     std::min(static_cast<std::size_t>(count), max_greeting - greeting_.size()));
  return count;
}

std::size_t TcpStream::take_input(char* buffer, std::size_t size) {
  const std::size_t count = std::min(size, input_.size() - taken_);
  std::memcpy(buffer, input_.data() + taken_, count);
  taken_ += count;
  return count;
}

void TcpStream::queue(const char* bytes, std::size_t size) {
  if (!ended_) output_.append(bytes, size);
}

void TcpStream::flush() {
  while (flushed_ < output_.size()) {
    const ssize_t count =
        ::send(fd_, output_.data() + flushed_, output_.size() - flushed_, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    flushed_ = count < 0 ? output_.size() : flushed_ + static_cast<std::size_t>(count);
  }
  // The part already sent goes when it is all of it, or most: moving bytes is then rare.
  if (flushed_ == output_.size() || flushed_ > output_.size() / 2) {
    output_.erase(0, flushed_);
    flushed_ = 0;
  }
}

void TcpStream::shut() {
  ended_ = true;
  input_.clear();
  output_.clear();
  taken_ = flushed_ = 0;
}

}  // namespace train
