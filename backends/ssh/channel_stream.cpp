// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/channel_stream.hpp"

#include <errno.h>

#include "backends/ssh/jump_session.hpp"

namespace train {

ChannelStream::ChannelStream(std::shared_ptr<JumpSession> session,
                             std::unique_ptr<SshChannel> channel)
    : session_(std::move(session)), channel_(std::move(channel)) {
  session_->add(*this);
}

ChannelStream::~ChannelStream() { session_->remove(*this, std::move(channel_)); }

int ChannelStream::fd() const { return session_->fd(); }

bool ChannelStream::is_ready() const {
  if (!channel_ || ended()) return false;
  return channel_->can_read() || (pending() > 0 && session_->has_room() && channel_->has_room());
}

void ChannelStream::wake() {
  const auto on_ready = on_ready_;  // the call may destroy the stream
  if (on_ready) on_ready();
}

void ChannelStream::lose(const Error& why) {
  cause_ = why;
  channel_.reset();
}

ssize_t ChannelStream::read_some(char* buffer, std::size_t size) {
  if (!channel_) return -ECONNRESET;
  const long count = channel_->read(SshChannel::Stream::output, buffer, size);
  session_->touch(count);
  if (count < 0) return -ECONNRESET;
  if (count > 0) return count;
  return channel_->at_end() ? 0 : -EAGAIN;
}

ssize_t ChannelStream::write_some(const char* bytes, std::size_t size) {
  if (!channel_) return -EPIPE;
  if (!session_->has_room()) return -EAGAIN;
  const long count = channel_->write({bytes, size});
  session_->touch(count);
  if (count == 0) return -EAGAIN;
  return count < 0 ? -EPIPE : count;
}

}  // namespace train
