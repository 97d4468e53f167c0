// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/event_loop/loop.hpp"
#include "config_schema/error.hpp"

namespace train {

/// Where a connection can be made to.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  std::string numeric;  ///< "10.77.1.3", "fe80::1%eth0"
};

/// "10.77.1.3", "fe80::1%eth0"; empty when it is no address.
std::string numeric_text(const sockaddr* address, socklen_t size);

/// "10.77.1.3:22", "[::1]:22".
std::string endpoint_text(const std::string& host, int port);

/// Turns names into addresses without ever blocking the loop.
class Resolver {
 public:
  using Addresses = std::vector<SocketAddress>;

  explicit Resolver(Loop& loop);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// The address that `host` spells out in digits; none when it is a name.
  static Addresses numeric(const std::string& host, int port);
  /// Asks the system for a name. `on_result` comes from the loop, also when this object is gone by
  /// then; an error is of class `host`.
  void resolve(const std::string& host, int port, std::function<void(Result<Addresses>)> on_result);

 private:
  struct Impl;
  Loop& loop_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace train
