// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_session/resolver.hpp"

#include <fmt/format.h>
#include <netdb.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "backends/posix/descriptor.hpp"

namespace train {

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

Resolver::Resolver(Loop& loop, LookUp look_up_name)
    : loop_(loop), look_up_(std::move(look_up_name)) {}
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

Result<Resolver::Addresses> Resolver::look_up(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error != 0)
    return fail(ErrorClass::host,
                fmt::format("name '{}' does not resolve: {}", host,
                            error == EAI_SYSTEM ? system_reason(errno) : ::gai_strerror(error)),
                fmt::format("check it with: getent hosts {}; or give the host an address: in the "
                            "hosts file",
                            host));
  Addresses addresses;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next)
    addresses.push_back(socket_address(entry->ai_addr, entry->ai_addrlen));
  ::freeaddrinfo(list);
  return addresses;
}

void Resolver::resolve(const std::string& host, int port,
                       std::function<void(Result<Addresses>)> on_result) {
  waiting_.push_back({host, port, std::move(on_result)});
  ask_next();
}

void Resolver::ask_next() {
  while (!waiting_.empty()) {
    if (idle_.empty() && threads_.size() == most_at_a_time) return;
    if (idle_.empty()) {
      idle_.push_back(threads_.size());
      threads_.push_back(std::make_unique<Background>(loop_, Background::Idle::goes));
    }
    const std::size_t thread = idle_.back();
    idle_.pop_back();
    Question question = std::move(waiting_.front());
    waiting_.pop_front();
    ask(thread, std::move(question));
  }
}

void Resolver::ask(std::size_t thread, Question question) {
  const auto found = std::make_shared<Result<Addresses>>();
  const auto on_result = std::move(question.on_result);
  const auto begun =
      threads_[thread]->run([look_up = look_up_, host = question.host, port = question.port,
                             found] { *found = look_up(host, port); },
                            [this, thread, found, on_result] {
                              idle_.push_back(thread);
                              ask_next();
                              on_result(std::move(*found));
                            });
  if (begun) return;
  // The thread is tried again for the next name.
  *found = tl::make_unexpected(begun.error());
  idle_.push_back(thread);
  loop_.post([found, on_result] { on_result(std::move(*found)); });
}

}  // namespace train
