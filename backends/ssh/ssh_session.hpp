// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/ssh/identities.hpp"
#include "backends/ssh/tcp_stream.hpp"

struct _LIBSSH2_SESSION;
struct _LIBSSH2_CHANNEL;

namespace train {

/// How a step of a session went.
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

/// One libssh2 session with one channel over a TcpStream, never blocking. Its bytes go into the
/// stream's buffer; the caller flushes. Steps are to be called in order of declaration.
class SshSession {
 public:
  /// `stream` must outlive the session.
  explicit SshSession(TcpStream& stream);
  ~SshSession();
  SshSession(const SshSession&) = delete;
  SshSession& operator=(const SshSession&) = delete;

  /// What can be negotiated.
  enum class Method { key_exchange, host_key, cipher, mac };
  /// The algorithms that libssh2 knows; none when memory is short.
  static std::vector<std::string> supported(Method method);
  /// Offers these algorithms, best first. False when libssh2 knows none of them.
  bool prefer(Method method, const std::vector<std::string>& algorithms);
  Progress handshake();
  /// After a failed handshake: whether the two sides have no algorithm in common.
  bool found_no_common_algorithm() const;
  /// The key that the host showed and proved to own, as RFC 4253 encodes it.
  std::string host_key() const;
  Progress authenticate(const std::string& user, const LoginKey& login);
  Progress open_channel();
  Progress execute(const std::string& command);

  enum class Stream { output = 0, error = 1 };
  /// A count of bytes, 0 for nothing now (or ever), -1 when the session is broken.
  long read(Stream stream, char* buffer, std::size_t size);
  /// Bytes taken, 0 while the peer's window is full, -1 when the session is broken. After 0 the
  /// next call must offer the same bytes.
  long write(std::string_view bytes);
  /// Whether the remote command has closed its output, all of which was read.
  bool at_end() const;
  /// After `at_end`: done when the exit is known.
  Progress wait_closed();
  RemoteExit exit() const;

  /// What libssh2 says of the last failure.
  std::string trouble() const;
  /// Why the key itself could not sign; empty when the server refused it.
  const std::string& sign_trouble() const { return sign_trouble_; }

 private:
  Progress progress(int code) const;

  TcpStream& stream_;
  _LIBSSH2_SESSION* session_ = nullptr;
  _LIBSSH2_CHANNEL* channel_ = nullptr;
  std::string sign_trouble_;
};

}  // namespace train
