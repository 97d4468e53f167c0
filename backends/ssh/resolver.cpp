// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/resolver.hpp"

#include <fmt/format.h>
#include <netdb.h>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <cstring>

#include "launcher/rendezvous/endpoint.hpp"

namespace train {

struct Resolver::Impl {
  explicit Impl(asio::io_context& context) : resolver(context) {}
  asio::ip::tcp::resolver resolver;
};

namespace {

SocketAddress socket_address(const sockaddr* address, socklen_t size) {
  SocketAddress result;
  std::memcpy(&result.storage, address, size);
  result.size = size;
  result.numeric = numeric_text(address, size);
  return result;
}

}  // namespace

std::string numeric_text(const sockaddr* address, socklen_t size) {
  char text[NI_MAXHOST] = {};
  const bool is_shown =
      ::getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0;
  return is_shown ? text : "";
}

std::string endpoint_text(const std::string& host, int port) { return endpoint(host, port); }

Resolver::Resolver(Loop& loop) : loop_(loop), impl_(std::make_unique<Impl>(loop.context())) {}
Resolver::~Resolver() = default;

Resolver::Addresses Resolver::numeric(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list) != 0) return {};
  Addresses addresses{socket_address(list->ai_addr, list->ai_addrlen)};
  ::freeaddrinfo(list);
  return addresses;
}

void Resolver::resolve(const std::string& host, int port,
                       std::function<void(Result<Addresses>)> on_result) {
  const auto report = [host, &loop = loop_, on_result = std::move(on_result)](
                          std::error_code error,
                          const asio::ip::tcp::resolver::results_type& found) {
    Addresses addresses;
    for (const auto& entry : found) {
      const asio::ip::tcp::endpoint endpoint = entry.endpoint();
      addresses.push_back(socket_address(endpoint.data(), static_cast<socklen_t>(endpoint.size())));
    }
    Result<Addresses> result = std::move(addresses);
    if (error || result->empty())
      result = fail(ErrorClass::host,
                    fmt::format("name '{}' does not resolve{}", host,
                                error ? ": " + error.message() : std::string()),
                    fmt::format("check it with: getent hosts {}; or give the host an address: in "
                                "the hosts file",
                                host));
    // The loop reads its clock once per callback of its own, which this one is not.
    loop.post([on_result, result = std::move(result)] { on_result(result); });
  };
  impl_->resolver.async_resolve(host, std::to_string(port),
                                asio::ip::resolver_base::numeric_service, report);
}

}  // namespace train
