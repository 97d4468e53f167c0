// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <string>
#include <string_view>

#include "backends/ssh_formats/locked_bytes.hpp"

namespace train {

struct EvpKeyFree {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
/// An OpenSSL key; OpenSSL wipes its secrets when it is destroyed.
using EvpKey = std::unique_ptr<EVP_PKEY, EvpKeyFree>;

/// Private keys from big-endian numbers; null when OpenSSL rejects them.
EvpKey make_ed25519_key(std::string_view seed);
/// `curve` is "nistp256", "nistp384" or "nistp521"; `point` is uncompressed.
EvpKey make_ecdsa_key(std::string_view curve, std::string_view point, std::string_view scalar);
struct RsaNumbers {
  std::string_view n, e, d, p, q, q_inverse;
};
EvpKey make_rsa_key(const RsaNumbers& numbers);

/// The private half as DER, for `private_key_of_der`; empty when OpenSSL cannot write it.
LockedBytes der_of(EVP_PKEY* key);
EvpKey private_key_of_der(std::string_view der);

/// The public half, encoded as in RFC 4253; empty for unsupported kinds.
std::string public_blob_of(EVP_PKEY* key);

/// The bare SSH signature under an algorithm that fits the key; empty when it cannot be made.
std::string sign_with(EVP_PKEY* key, std::string_view data, std::string_view algorithm);

}  // namespace train
