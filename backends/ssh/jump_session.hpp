// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/ssh/channel_stream.hpp"
#include "backends/ssh/jump_hosts.hpp"
#include "backends/ssh/ssh_connection.hpp"

namespace train {

/// The result of a request for a connection through a jump host.
struct ForwardAnswer {
  std::unique_ptr<ChannelStream> stream;  ///< null when there is none
  Error error = {};                       ///< why there is none
  bool may_pass = false;                  ///< the error may be temporary
};

/// A request for a connection through a jump host.
struct ForwardRequest {
  std::string address;  ///< a name or address that the jump host resolves
  int port = 22;
  nanoseconds timeout{};
  Instant since{};  ///< when it was requested
  /// Called once, from the loop and never from inside a call, unless the jump host is destroyed
  /// before.
  std::function<void(ForwardAnswer)> on_answer;
};

/// Answers a request, from the loop.
void answer_later(Loop& loop, ForwardRequest request, ForwardAnswer answer);

/// One session with a jump host and the connections that it carries. libssh2 opens one channel at a
/// time: further requests wait until it is answered.
class JumpSession final : public SshSessionUser, public std::enable_shared_from_this<JumpSession> {
 public:
  /// Events of a session. The callbacks may release the session.
  struct Events {
    std::function<void()> on_login;
    std::function<void(JumpFailure)> on_failure;  ///< instead of `on_login`
    /// One request takes so long that the others, which are passed here, should use another
    /// session.
    std::function<void(std::deque<ForwardRequest>)> on_stuck;
    std::function<void()> on_lost;  ///< after the login; its streams have been notified
  };

  JumpSession(std::shared_ptr<SshShared> shared, SshTarget target, Events events);
  ~JumpSession() override;

  void start() { connection_->start(); }
  /// Only after the login.
  void connect(ForwardRequest request);
  bool is_stuck() const { return is_stuck_; }
  bool is_ready() const { return is_ready_; }
  const SshConnection& connection() const { return *connection_; }

  // For its streams.
  void add(ChannelStream& stream);
  void remove(ChannelStream& stream, std::unique_ptr<SshChannel> channel);
  int fd() const { return connection_->stream().fd(); }
  /// Whether bytes that are written now will be sent soon.
  bool has_room() const;
  /// Steps soon, since packets may have to be sent or were received for other streams; `count`
  /// bytes were read or written.
  void touch(long count);

 private:
  void on_login() override;
  bool step() override;
  void on_obstacle(Libssh2Obstacle obstacle) override;
  void on_failure(Error why) override;

  bool step_opening();
  void open_next();
  void on_opened();
  void on_refused();
  void on_late();
  void answer(ForwardAnswer answer);
  bool step_closing();
  bool take_arrivals();
  void wake_streams();
  void lose();
  void lose(const Error& why);
  std::string at(const ForwardRequest& request) const;

  std::shared_ptr<SshShared> shared_;
  std::string name_;
  Events events_;
  std::shared_ptr<SshConnection> connection_;
  bool is_ready_ = false;
  bool is_stuck_ = false;
  bool is_stepping_ = false;

  std::deque<ForwardRequest> requests_;
  std::optional<ForwardRequest> opening_;  ///< without `on_answer` after its timeout
  std::unique_ptr<Subscription> patience_;
  std::unique_ptr<Subscription> deadline_;
  std::map<std::uint64_t, ChannelStream*> streams_;
  std::uint64_t last_stream_ = 0;
  std::uint64_t moves_ = 0;
  std::vector<std::unique_ptr<SshChannel>> closing_;
};

}  // namespace train
