// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/ssh_keys/identities.hpp"
#include "backends/ssh_session/byte_stream.hpp"
#include "backends/ssh_session/ssh_channel.hpp"

namespace train {

/// One libssh2 session over a stream. Never blocks. Its bytes go into the buffer of the stream,
/// which the caller flushes. The steps must be called in the order of their declaration.
class SshSession {
 public:
  /// `stream` must outlive the session.
  explicit SshSession(ByteStream& stream);
  ~SshSession();
  SshSession(const SshSession&) = delete;
  SshSession& operator=(const SshSession&) = delete;

  /// What can be negotiated.
  enum class Method { key_exchange, host_key, cipher, mac };
  /// The algorithms that libssh2 knows; none when memory is short.
  static std::vector<std::string> supported(Method method);
  /// The libraries that sessions use, with their versions: "libssh2 1.10.0".
  static std::vector<std::string> libraries();
  /// Offers these algorithms, best first. False when libssh2 knows none of them.
  bool prefer(Method method, const std::vector<std::string>& algorithms);
  Progress handshake();
  /// After a failed handshake: whether the two sides have no algorithm in common.
  bool found_no_common_algorithm() const;
  /// The key that the host has shown and proved to own, encoded as in RFC 4253.
  std::string host_key() const;
  /// Makes a signature; returns nothing while it is being made: then `authenticate` must be called
  /// again with the same arguments, and calls this again.
  using Sign = std::function<std::optional<Result<std::string>>(const std::string& data,
                                                                const std::string& algorithm)>;
  Progress authenticate(const std::string& user, const LoginKey& login, const Sign& sign);
  /// Opens a channel for a command. Only one channel, of either kind, can be opened at a time.
  Progress open_channel();
  /// Lets the server connect to an address that it knows, and opens a channel to it. Repeat with
  /// the same arguments until it is `done` or has `failed`.
  Progress open_forward(const std::string& host, int port);
  /// The channel that was opened last; it can be taken once, and must not be used after the session
  /// is destroyed.
  std::unique_ptr<SshChannel> take_channel();

  /// libssh2's message for the last failure, or that of the signature.
  std::string trouble() const;
  /// After `open_forward` failed: whether the server's own rules forbid it.
  bool is_forwarding_forbidden() const;
  /// Why the key itself could not sign; empty when the server refused it.
  const std::string& sign_trouble() const { return sign_trouble_; }

 private:
  Progress opened() const;

  ByteStream& stream_;
  _LIBSSH2_SESSION* session_ = nullptr;
  _LIBSSH2_CHANNEL* channel_ = nullptr;
  std::string sign_trouble_;
};

}  // namespace train
