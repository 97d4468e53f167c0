// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/event_loop/background.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// An address to connect to.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  std::string numeric;  ///< "10.77.1.3", "fe80::1%eth0"
};

/// "10.77.1.3", "fe80::1%eth0"; empty when it is not an IP address.
std::string numeric_text(const sockaddr* address, socklen_t size);

/// Resolves names without blocking the loop: several at a time, each on its own thread, since a
/// name server that is down takes long for every name.
class Resolver {
 public:
  using Addresses = std::vector<SocketAddress>;
  /// Resolves with `getaddrinfo`. May block.
  using LookUp = std::function<Result<Addresses>(const std::string& host, int port)>;
  static Result<Addresses> look_up(const std::string& host, int port);
  static constexpr std::size_t most_at_a_time = 32;

  explicit Resolver(Loop& loop, LookUp look_up_name = look_up);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  /// The address if `host` is numeric; empty when it is a name.
  static Addresses numeric(const std::string& host, int port);
  /// Resolves a name. `on_result` is called from the loop, unless this object is destroyed before;
  /// errors are of class `host`. Destroying this object does not wait for answers.
  void resolve(const std::string& host, int port, std::function<void(Result<Addresses>)> on_result);

 private:
  struct Question {
    std::string host;
    int port;
    std::function<void(Result<Addresses>)> on_result;
  };
  void ask_next();
  void ask(std::size_t thread, Question question);

  Loop& loop_;
  LookUp look_up_;
  std::vector<std::unique_ptr<Background>> threads_;
  std::vector<std::size_t> idle_;  ///< indexes in `threads_`
  std::deque<Question> waiting_;
};

}  // namespace train
