// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

struct _LIBSSH2_CHANNEL;
struct _LIBSSH2_SESSION;

namespace train {

/// How a step of a session or channel went.
enum class Progress {
  done,
  wait,    ///< call again when the stream can be read
  failed,  ///< `SshSession::trouble` says why
};

/// How the remote command ended.
struct RemoteExit {
  int status = 0;
  std::string signal;  ///< "KILL"; empty unless a signal ended it: then the status says nothing
};

/// One channel of a session, which must outlive it and frees it at its own end. Never blocks.
class SshChannel {
 public:
  SshChannel(_LIBSSH2_SESSION* session, _LIBSSH2_CHANNEL* channel)
      : session_(session), channel_(channel) {}

  Progress execute(const std::string& command);

  enum class Stream { output = 0, error = 1 };
  /// A count of bytes, 0 for nothing now (or ever), -1 when the session is broken.
  long read(Stream stream, char* buffer, std::size_t size);
  /// Takes what came for all channels of the session; false when the session is broken.
  bool take_arrivals();
  /// Whether, after `take_arrivals`, `read` has something to give or `at_end` became true.
  bool can_read() const;
  /// Bytes taken, 0 while the peer's window is full, -1 when the session is broken. After 0 the
  /// next call must offer the same bytes.
  long write(std::string_view bytes);
  /// Whether the peer's window has room.
  bool has_room() const;
  /// Whether the remote command has closed its output, all of which was read.
  bool at_end() const;
  /// After `at_end`: done when it is known how the command ended.
  Progress wait_closed();
  RemoteExit exit() const;
  /// Closes the channel before the session ends. Until it is done only this may be called.
  Progress close();

 private:
  _LIBSSH2_SESSION* session_;
  _LIBSSH2_CHANNEL* channel_;
};

/// What a return code of libssh2 says.
Progress progress_of(int code);

}  // namespace train
