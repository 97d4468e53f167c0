// SPDX-License-Identifier: Apache-2.0
// OpenSSL's newer interface finds algorithms at run time, and so links all of them, 3 MB, into the
// agent that is sent to the hosts. The older one links only this algorithm.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "backends/context/sha256_digest.hpp"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <array>

namespace train {

Sha256Digest::Sha256Digest() : state_(std::make_unique<SHA256_CTX>()) { SHA256_Init(state_.get()); }

Sha256Digest::~Sha256Digest() = default;

void Sha256Digest::add(std::string_view bytes) {
  SHA256_Update(state_.get(), bytes.data(), bytes.size());
}

std::string Sha256Digest::finish() {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256_Final(digest.data(), state_.get());
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

std::string sha256_of(std::string_view bytes) {
  Sha256Digest digest;
  digest.add(bytes);
  return digest.finish();
}

}  // namespace train
