// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// A key for logins: read from a file, or held by ssh-agent. Parsed once, used for all hosts.
class SigningKey {
 public:
  virtual ~SigningKey() = default;
  /// The public half, encoded as in RFC 4253.
  const std::string& public_blob() const { return public_blob_; }
  /// Its source, for messages: "~/.ssh/id_rsa", "ssh-agent's key 'me@there'".
  const std::string& origin() const { return origin_; }
  /// The bare signature of `data` with one of `signature_algorithms`.
  virtual Result<std::string> sign(std::string_view data, std::string_view algorithm) = 0;
  /// The holder of the key when another process signs, such as ssh-agent; `sign` may then block for
  /// minutes. Empty when this process signs.
  virtual std::string holder() const { return {}; }
  /// Whether a passphrase is needed before it can sign.
  virtual bool is_locked() const { return false; }

 protected:
  SigningKey(std::string public_blob, std::string origin)
      : public_blob_(std::move(public_blob)), origin_(std::move(origin)) {}

 private:
  std::string public_blob_;
  std::string origin_;
};

/// The signature algorithms to try with a key of this type, best first; none for types that are not
/// supported here (certificates, security keys, DSA). RSA keys never sign with SHA-1.
std::vector<std::string> signature_algorithms(std::string_view key_type);

/// The public blob for a request with `algorithm`: libssh2 takes the algorithm's name from the
/// blob, and before 1.11 would sign with SHA-1 for "ssh-rsa".
std::string blob_for_algorithm(std::string_view public_blob, std::string_view algorithm);

}  // namespace train
