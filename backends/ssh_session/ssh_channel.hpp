// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

struct _LIBSSH2_CHANNEL;
struct _LIBSSH2_SESSION;

namespace train {

/// The result of a step of a session or channel.
enum class Progress {
  done,
  wait,    ///< call again when the stream is readable
  failed,  ///< `SshSession::trouble` says why
};

/// How the remote command ended.
struct RemoteExit {
  int status = 0;
  std::string signal;  ///< "KILL"; empty unless a signal ended it; then `status` is meaningless
};

/// One channel of a session. The session must outlive it, and frees it at its own end. Never
/// blocks.
class SshChannel {
 public:
  SshChannel(_LIBSSH2_SESSION* session, _LIBSSH2_CHANNEL* channel)
      : session_(session), channel_(channel) {}

  Progress execute(const std::string& command);

  enum class Stream { output = 0, error = 1 };
  /// Returns a count of bytes, 0 for nothing now (or ever), -1 when the session is broken.
  long read(Stream stream, char* buffer, std::size_t size);
  /// Receives the packets for all channels of the session; false when the session is broken.
  bool take_arrivals();
  /// Whether, after `take_arrivals`, `read` returns bytes or `at_end` is true.
  bool can_read() const;
  /// Returns the number of bytes taken, 0 while the peer's window is full, -1 when the session is
  /// broken. After 0 the next call must pass the same bytes.
  long write(std::string_view bytes);
  /// Whether the peer's window has room.
  bool has_room() const;
  /// Whether the remote command has closed its output and all of it was read.
  bool at_end() const;
  /// After `at_end`: done when the exit of the command is known.
  Progress wait_closed();
  RemoteExit exit() const;
  /// Closes the channel before the session ends. No other function may be called before it is done.
  Progress close();

 private:
  _LIBSSH2_SESSION* session_;
  _LIBSSH2_CHANNEL* channel_;
};

/// Translates a return code of libssh2.
Progress progress_of(int code);

}  // namespace train
