// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "backends/ssh_session/byte_stream.hpp"
#include "backends/ssh_session/ssh_channel.hpp"

namespace train {

class JumpSession;

/// A connection through a jump host: a channel of the session with that jump host.
class ChannelStream final : public ByteStream {
 public:
  ChannelStream(std::shared_ptr<JumpSession> session, std::unique_ptr<SshChannel> channel);
  ~ChannelStream() override;

  /// `on_ready` is called whenever there is something to read, or room to write.
  void on_ready(std::function<void()> on_ready) { on_ready_ = std::move(on_ready); }

  int fd() const override;
  const Error* cause() const override { return cause_ ? &*cause_ : nullptr; }

  // For the session.
  /// Receives the packets for all channels of the session; false when the session is broken.
  bool take_arrivals() { return channel_->take_arrivals(); }
  bool is_ready() const;
  void wake();
  /// The session has ended, and this stream with it.
  void lose(const Error& why);

 private:
  ssize_t read_some(char* buffer, std::size_t size) override;
  ssize_t write_some(const char* bytes, std::size_t size) override;

  std::shared_ptr<JumpSession> session_;
  std::unique_ptr<SshChannel> channel_;  ///< null after the end of the session
  std::function<void()> on_ready_;
  std::optional<Error> cause_;
};

}  // namespace train
