// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include "backends/network/probe_responder.hpp"
#include "backends/posix/descriptor.hpp"
#include "tests/catch.hpp"
#include "tests/support/waiting.hpp"

namespace train::testing {

// An IPv4 address of the loopback, and a port.
inline sockaddr_in loopback_address(const std::string& address, int port) {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, address.c_str(), &where.sin_addr);
  return where;
}

// A blocking socket that is connected there; none when nobody listens.
inline Descriptor connect_to(int port, int receive_buffer = 0) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (receive_buffer > 0)
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  const sockaddr_in where = loopback_address("127.0.0.1", port);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0)
    return Descriptor();
  return socket;
}

inline bool say(const Descriptor& socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

// All that comes, until so much is there or the other side ends.
inline std::string hear(const Descriptor& socket, std::size_t most) {
  std::string heard(most, '\0');
  std::size_t size = 0;
  while (size < most && becomes_readable(socket.get())) {
    const ssize_t count = ::recv(socket.get(), heard.data() + size, most - size, 0);
    if (count <= 0) break;
    size += static_cast<std::size_t>(count);
  }
  heard.resize(size);
  return heard;
}

// Whether the other side has ended the connection, having said nothing.
inline bool is_ended(const Descriptor& socket) {
  char byte = 0;
  const ssize_t count = ::recv(socket.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
  return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

// A responder whose loop runs in a thread.
class RunningResponder {
 public:
  RunningResponder() {
    auto opened = ProbeResponder::open(loop_);
    REQUIRE(opened);
    responder_ = std::move(*opened);
    port = responder_->port();
    token = responder_->token();
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~RunningResponder() { stop(); }
  RunningResponder(const RunningResponder&) = delete;
  RunningResponder& operator=(const RunningResponder&) = delete;

  void stop() {
    if (!thread_.joinable()) return;
    loop_.post([this] { loop_.stop(); });
    thread_.join();
    responder_.reset();
  }

  int port = 0;
  std::string token;

 private:
  Loop loop_;
  std::unique_ptr<ProbeResponder> responder_;
  std::thread thread_;
};

}  // namespace train::testing
