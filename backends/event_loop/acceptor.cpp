// SPDX-License-Identifier: Apache-2.0
#include "backends/event_loop/acceptor.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <utility>

namespace train {

namespace {

// The pause before the next try when no descriptor is left for a waiting connection.
constexpr std::chrono::seconds accept_pause{1};

}  // namespace

Acceptor::Acceptor(Loop& loop, int listening_socket, std::function<void(Descriptor)> on_connection)
    : loop_(loop), listening_(listening_socket), on_connection_(std::move(on_connection)) {
  await();
}

void Acceptor::pause() {
  readable_.reset();
  retry_.reset();
}

void Acceptor::go_on() {
  if (!readable_) await();
}

void Acceptor::await() {
  readable_ = loop_.when_readable(listening_, [this] { accept(); });
}

void Acceptor::accept() {
  Descriptor socket(::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
    // Without a descriptor the connection stays in the queue, and would wake up this process again
    // and again: so the socket is not watched for a while.
    readable_.reset();
    retry_ = loop_.after(accept_pause, [this] { await(); });
  }
  if (socket) on_connection_(std::move(socket));
}

}  // namespace train
