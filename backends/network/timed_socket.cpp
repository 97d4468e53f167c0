// SPDX-License-Identifier: Apache-2.0
#include "backends/network/timed_socket.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>
#include <vector>

namespace train {

namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t longest_line = 4'096;
constexpr std::size_t piece = std::size_t{256} << 10;
constexpr auto stranger_patience = 1s;

tl::unexpected<Error> too_late() { return fail(ErrorClass::host, "there was no answer in time"); }
tl::unexpected<Error> broken(int error) { return fail(ErrorClass::host, system_reason(error)); }

// False, with errno set, at the deadline and on error.
bool await_on(int fd, short events, Deadline deadline) {
  pollfd waiting{fd, events, 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now());
  const int limit = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX));
  const int ready = uninterrupted([&] { return ::poll(&waiting, 1, limit); });
  if (ready == 0) errno = ETIMEDOUT;
  return ready > 0;
}

// On all addresses of the family, or on `v4` alone.
Descriptor listen_on(int family, int port, in_addr_t v4 = INADDR_ANY) {
  Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return socket;
  constexpr int off = 0;
  constexpr int on = 1;
  sockaddr_storage address{};  // all addresses: zeros
  auto* const of_v4 = reinterpret_cast<sockaddr_in*>(&address);
  address.ss_family = static_cast<sa_family_t>(family);
  const auto number = htons(static_cast<std::uint16_t>(port));
  if (family == AF_INET6)
    reinterpret_cast<sockaddr_in6*>(&address)->sin6_port = number;
  else
    of_v4->sin_port = number;
  if (family == AF_INET) of_v4->sin_addr.s_addr = htonl(v4);
  const socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  const bool listens =
      (family != AF_INET6 ||
       ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0) &&
      (port == 0 || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0) &&
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
      ::listen(socket.get(), SOMAXCONN) == 0;
  if (listens) return socket;
  const int error = errno;
  socket.reset();
  errno = error;
  return socket;
}

}  // namespace

std::optional<SocketAddress> socket_address(const std::string& text, int port) {
  if (port <= 0 || port > UINT16_MAX) return std::nullopt;
  SocketAddress address;
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (::inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<std::uint16_t>(port));
    address.size = sizeof *v4;
    return address;
  }
  if (::inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<std::uint16_t>(port));
    address.size = sizeof *v6;
    return address;
  }
  return std::nullopt;
}

Descriptor listen_on_all(int port) {
  Descriptor socket = listen_on(AF_INET6, port);
  return socket ? std::move(socket) : listen_on(AF_INET, port);  // where there is no IPv6
}

Descriptor listen_on_loopback(int port) { return listen_on(AF_INET, port, INADDR_LOOPBACK); }

int port_of(const Descriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

int pending_error(const Descriptor& socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

TimedSocket::TimedSocket(Descriptor socket) : socket_(std::move(socket)) {
  constexpr int on = 1;
  (void)::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Result<TimedSocket> TimedSocket::connect(const std::string& address, int port, Deadline deadline) {
  const auto to = socket_address(address, port);
  if (!to) return fail(ErrorClass::host, "'" + address + "' is no numeric address");
  Descriptor socket(::socket(to->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return broken(errno);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to->storage), to->size) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) return broken(errno);
    if (!await_on(socket.get(), POLLOUT, deadline)) return too_late();
    if (const int error = pending_error(socket); error != 0) return broken(error);
  }
  return TimedSocket(std::move(socket));
}

std::string TimedSocket::peer() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char text[INET6_ADDRSTRLEN] = {};
  if (::getpeername(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  const auto* const v4 = reinterpret_cast<const sockaddr_in*>(&address);
  const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(&address);
  const void* bytes = &v4->sin_addr;
  if (address.ss_family == AF_INET6) bytes = &v6->sin6_addr;
  if (::inet_ntop(address.ss_family, bytes, text, sizeof text) == nullptr) return {};
  constexpr std::string_view mapped = "::ffff:";
  const std::string_view whole = text;
  const bool is_v4 = whole.starts_with(mapped) && whole.find('.') != whole.npos;
  return std::string(is_v4 ? whole.substr(mapped.size()) : whole);
}

Result<void> TimedSocket::send(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t count = uninterrupted(
        [&] { return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL); });
    if (count < 0 && errno != EAGAIN) return broken(errno);
    if (count < 0 && !await_on(socket_.get(), POLLOUT, deadline)) return too_late();
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<std::string> TimedSocket::line(Deadline deadline) {
  while (true) {
    if (const auto line = received_.next()) return std::string(*line);
    if (received_.rest().size() > longest_line)
      return fail(ErrorClass::host, "it says more than was asked");
    char buffer[longest_line];
    const ssize_t count =
        uninterrupted([&] { return ::recv(socket_.get(), buffer, sizeof buffer, 0); });
    if (count == 0) return fail(ErrorClass::host, "the connection was closed");
    if (count < 0 && errno != EAGAIN) return broken(errno);
    if (count < 0 && !await_on(socket_.get(), POLLIN, deadline)) return too_late();
    if (count > 0) received_.feed({buffer, static_cast<std::size_t>(count)});
  }
}

void TimedSocket::flood(Deadline deadline) {
  const std::vector<char> zeros(piece);
  while (SteadyClock::now() < deadline) {
    const ssize_t count = ::send(socket_.get(), zeros.data(), zeros.size(), MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return;
    if (count < 0 && errno == EAGAIN && !await_on(socket_.get(), POLLOUT, deadline)) return;
  }
}

Result<std::uint64_t> TimedSocket::pace(milliseconds length, Deadline deadline) {
  std::vector<char> buffer(piece);
  SteadyClock::time_point first{};
  SteadyClock::time_point last{};
  std::uint64_t bytes = 0;  // after the first piece, whose start time is unknown
  Deadline end = deadline;
  while (await_on(socket_.get(), POLLIN, end)) {
    const ssize_t count =
        uninterrupted([&] { return ::recv(socket_.get(), buffer.data(), buffer.size(), 0); });
    if (count < 0 && errno == EAGAIN) continue;
    if (count < 0) return broken(errno);
    if (count == 0) break;
    last = SteadyClock::now();
    if (first == SteadyClock::time_point{}) {
      first = last;
      end = std::min(deadline, first + length);
    } else {
      bytes += static_cast<std::uint64_t>(count);
    }
    if (last >= end) break;
  }
  if (bytes == 0) return too_late();
  const auto took = std::chrono::duration_cast<nanoseconds>(last - first).count();
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * 1e9 /
                                    static_cast<double>(std::max<std::int64_t>(took, 1)));
}

Result<TimedSocket> accept_from(const Descriptor& listening, Deadline deadline) {
  while (true) {
    const int socket = uninterrupted(
        [&] { return ::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); });
    if (socket >= 0) return TimedSocket(Descriptor(socket));
    if (errno != EAGAIN && errno != ECONNABORTED) return broken(errno);
    if (!await_on(listening.get(), POLLIN, deadline)) return too_late();
  }
}

Result<TimedSocket> accept_from(const Descriptor& listening, std::string_view line,
                                std::string_view stop, Deadline deadline) {
  while (true) {
    auto socket = accept_from(listening, deadline);
    if (!socket) return socket;
    const auto said = socket->line(std::min(deadline, SteadyClock::now() + stranger_patience));
    if (said && *said == line) return socket;
    if (said && *said == stop) return fail(ErrorClass::host, "it was called off");
  }
}

}  // namespace train
