// SPDX-License-Identifier: Apache-2.0
#include "backends/agent/supervisor_connection.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace train {

SupervisorConnection::SupervisorConnection(Loop& loop, Descriptor socket, Events events)
    : loop_(loop), socket_(std::move(socket)), events_(std::move(events)) {
  readable_ = loop_.when_readable(socket_.get(), [this] { read(); });
}

void SupervisorConnection::read() {
  char buffer[64 << 10];
  const ssize_t count = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
  if (count <= 0) return close();
  decoder_.feed({buffer, static_cast<std::size_t>(count)});
  while (true) {
    const auto frame = decoder_.next();
    if (!frame) return close();
    if (!*frame) return;
    if (!events_.on_frame(**frame)) return close();
  }
}

void SupervisorConnection::send(std::string bytes) {
  if (!can_send_) return;
  unsent_.push_back(std::move(bytes));
  write();
}

void SupervisorConnection::write() {
  while (!unsent_.empty()) {
    const std::string_view rest = std::string_view(unsent_.front()).substr(front_offset_);
    const ssize_t count = uninterrupted([&] {
      return ::send(socket_.get(), rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    });
    if (count < 0) {
      // `read` notices a broken stream too, and notifies the owner outside of `send`.
      const bool must_wait = errno == EAGAIN || errno == EWOULDBLOCK;
      if (must_wait && !writable_)
        writable_ = loop_.when_writable(socket_.get(), [this] { write(); });
      if (!must_wait) forget_unsent();
      return;
    }
    front_offset_ += static_cast<std::size_t>(count);
    if (front_offset_ < unsent_.front().size()) continue;
    unsent_.pop_front();
    front_offset_ = 0;
  }
  writable_.reset();
}

void SupervisorConnection::forget_unsent() {
  can_send_ = false;
  unsent_.clear();
  front_offset_ = 0;
  writable_.reset();
}

void SupervisorConnection::close() {
  forget_unsent();
  readable_.reset();
  socket_.reset();
  events_.on_closed();
}

}  // namespace train
