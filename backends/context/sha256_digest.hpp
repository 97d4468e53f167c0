// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct SHA256state_st;

namespace train {

/// SHA-256 of bytes that are added in pieces.
class Sha256Digest {
 public:
  Sha256Digest();
  ~Sha256Digest();
  Sha256Digest(const Sha256Digest&) = delete;
  Sha256Digest& operator=(const Sha256Digest&) = delete;

  void add(std::string_view bytes);
  /// The digest of all bytes, 64 hexadecimal digits. Must be the last call.
  std::string finish();

 private:
  std::unique_ptr<SHA256state_st> state_;
};

/// SHA-256 of the bytes, 64 hexadecimal digits.
std::string sha256_of(std::string_view bytes);

}  // namespace train
