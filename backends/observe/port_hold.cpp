// SPDX-License-Identifier: Apache-2.0
#include "backends/observe/port_hold.hpp"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>

#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"

namespace train {

namespace {

// Most well-known and registered services have ports below this.
constexpr unsigned lowest_port = 20000;
constexpr unsigned highest_port = 65535;
constexpr int attempts = 64;

struct EphemeralRange {
  unsigned first = 32768;
  unsigned last = 60999;
};

EphemeralRange ephemeral_range() {
  EphemeralRange range;
  unsigned first = 0;
  unsigned last = 0;
  const std::string text = read_small_file("/proc/sys/net/ipv4/ip_local_port_range");
  if (::sscanf(text.c_str(), "%u %u", &first, &last) == 2 && first <= last) range = {first, last};
  return range;
}

unsigned random_number() {
  unsigned number = 0;
  // If the kernel has no randomness yet, every host begins at the same port, and takes the next one
  // when that is in use.
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) number = 0;
  return number;
}

// A port outside of the ephemeral range; 0, for any ephemeral port, if that range covers all ports.
std::uint16_t candidate(const EphemeralRange& range, unsigned index) {
  const unsigned below = range.first > lowest_port ? range.first - lowest_port : 0;
  const unsigned above_start = std::max(range.last + 1, lowest_port);
  const unsigned above = above_start <= highest_port ? highest_port - above_start + 1 : 0;
  if (below + above == 0) return 0;
  const unsigned place = index % (below + above);
  return static_cast<std::uint16_t>(place < below ? lowest_port + place
                                                  : above_start + (place - below));
}

struct BoundSocket {
  Descriptor socket;
  std::uint16_t port = 0;
};

std::uint16_t bound_port(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

int bind_wildcard(int socket, int family, std::uint16_t port) {
  if (family == AF_INET6) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    return ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  return ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

// Binds without SO_REUSEADDR: the kernel then refuses a port that any other socket has, another
// hold's included.
std::optional<BoundSocket> bind_alone(int family, std::uint16_t port, int& error) {
  constexpr int on = 1;
  BoundSocket bound{Descriptor(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)), 0};
  const int fd = bound.socket.get();
  const bool is_ready =
      fd >= 0 &&
      (family != AF_INET6 || ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) == 0) &&
      bind_wildcard(fd, family, port) == 0;
  if (!is_ready) {
    error = errno;
    return std::nullopt;
  }
  bound.port = bound_port(fd);
  return bound;
}

// The sockets of both families on one port; only one if a family is disabled, none on error.
std::vector<BoundSocket> bind_both(std::uint16_t port, int& error) {
  std::vector<BoundSocket> sockets;
  for (const int family : {AF_INET, AF_INET6}) {
    auto bound = bind_alone(family, port, error);
    if (!bound && (error == EAFNOSUPPORT || error == EADDRNOTAVAIL)) continue;
    if (!bound) return {};
    port = bound->port;
    sockets.push_back(std::move(*bound));
  }
  return sockets;
}

}  // namespace

Result<PortHold> PortHold::take() {
  const EphemeralRange range = ephemeral_range();
  const unsigned start = random_number();
  int error = 0;
  for (int i = 0; i < attempts; ++i) {
    // The second half asks the kernel for any free port.
    const bool is_ours = i < attempts / 2;
    const std::uint16_t wanted = is_ours ? candidate(range, start + static_cast<unsigned>(i)) : 0;
    std::vector<BoundSocket> bound = bind_both(wanted, error);
    if (bound.empty()) continue;
    std::vector<Descriptor> sockets;
    sockets.reserve(bound.size());
    for (BoundSocket& one : bound) sockets.push_back(std::move(one.socket));
    return PortHold(bound.front().port, std::move(sockets));
  }
  return fail(ErrorClass::host, "no free TCP port for the rendezvous: " + system_reason(error),
              "too many ports of this host are in use, or sockets are not permitted");
}

Result<std::vector<PortHold>> PortHold::take(int count) {
  std::vector<PortHold> holds;
  while (static_cast<int>(holds.size()) < count) {
    auto hold = take();
    if (!hold) return tl::make_unexpected(hold.error());
    holds.push_back(std::move(*hold));
  }
  return holds;
}

// Sets the option after the bind: the kernel checks it on the bound socket when another socket
// wants to bind.
void PortHold::share() {
  constexpr int on = 1;
  for (Descriptor& socket : sockets_)
    if (::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) socket.reset();
}

}  // namespace train
