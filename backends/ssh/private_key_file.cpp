// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include "backends/ssh/evp_key.hpp"
#include "backends/ssh/signing_key.hpp"
#include "backends/ssh/wire_encoding.hpp"

namespace train {

namespace {

constexpr std::string_view openssh_begin = "-----BEGIN OPENSSH PRIVATE KEY-----";
constexpr std::string_view openssh_end = "-----END OPENSSH PRIVATE KEY-----";
constexpr std::string_view openssh_magic{"openssh-key-v1\0", 15};

class FileKey final : public SigningKey {
 public:
  FileKey(EvpKey key, std::string public_blob, std::string origin)
      : SigningKey(std::move(public_blob), std::move(origin)), key_(std::move(key)) {}

  Result<std::string> sign(std::string_view data, std::string_view algorithm) override {
    std::string signature = sign_with(key_.get(), data, algorithm);
    if (signature.empty())
      return fail(ErrorClass::host, fmt::format("{} could not sign with {}", origin(), algorithm),
                  "try another key");
    return signature;
  }

 private:
  EvpKey key_;
};

struct Trouble {
  std::string origin;
  auto encrypted() const {
    return fail(ErrorClass::host, origin + " is encrypted",
                "load it into ssh-agent: eval $(ssh-agent); ssh-add " + origin);
  }
  auto broken() const {
    return fail(ErrorClass::host, origin + " is not a private key that can be read",
                "check it: ssh-keygen -y -f " + origin);
  }
  auto unsupported(std::string_view type) const {
    return fail(ErrorClass::host,
                fmt::format("{} is of type {}, which is not supported", origin, type),
                "use an ed25519, ecdsa or rsa key");
  }
};

// The private section of one key: PROTOCOL.key of OpenSSH.
EvpKey read_private_section(WireReader& section, std::string_view type) {
  if (type == "ssh-ed25519") {
    const auto public_key = section.string(), secret = section.string();
    if (!public_key || !secret || secret->size() != 64) return nullptr;
    return make_ed25519_key(secret->substr(0, 32));
  }
  if (type.starts_with("ecdsa-sha2-")) {
    const auto curve = section.string(), point = section.string(), scalar = section.string();
    return scalar ? make_ecdsa_key(*curve, *point, *scalar) : nullptr;
  }
  if (type == "ssh-rsa") {
    const auto n = section.string(), e = section.string(), d = section.string();
    const auto q_inverse = section.string(), p = section.string(), q = section.string();
    return q ? make_rsa_key({*n, *e, *d, *p, *q, *q_inverse}) : nullptr;
  }
  return nullptr;
}

Result<std::shared_ptr<SigningKey>> parse_openssh(std::string_view bytes, const Trouble& trouble) {
  if (!bytes.starts_with(openssh_magic)) return trouble.broken();
  WireReader reader(bytes.substr(openssh_magic.size()));
  const auto cipher = reader.string(), kdf = reader.string(), kdf_options = reader.string();
  const auto count = reader.number();
  const auto blob = reader.string(), secrets = reader.string();
  if (!cipher || !kdf || !kdf_options || !count || !blob) return trouble.broken();
  if (*cipher != "none") return trouble.encrypted();
  if (*count != 1 || !secrets) return trouble.broken();
  WireReader section(*secrets);
  const auto check = section.number(), check_again = section.number();
  const auto type = section.string();
  if (!check || check != check_again || !type) return trouble.broken();
  if (signature_algorithms(*type).empty()) return trouble.unsupported(*type);
  EvpKey key = read_private_section(section, *type);
  if (!key || public_blob_of(key.get()) != *blob) return trouble.broken();
  return std::make_shared<FileKey>(std::move(key), std::string(*blob), trouble.origin);
}

int refuse_passphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

Result<std::shared_ptr<SigningKey>> parse_pem(std::string_view text, const Trouble& trouble) {
  BIO* bio = BIO_new_mem_buf(text.data(), static_cast<int>(text.size()));
  bool is_encrypted = false;
  EvpKey key(PEM_read_bio_PrivateKey(bio, nullptr, refuse_passphrase, &is_encrypted));
  BIO_free(bio);
  ERR_clear_error();
  if (is_encrypted) return trouble.encrypted();
  if (!key) return trouble.broken();
  std::string blob = public_blob_of(key.get());
  if (blob.empty()) {
    const char* name = EVP_PKEY_get0_type_name(key.get());
    return trouble.unsupported(name ? name : "unknown");
  }
  return std::make_shared<FileKey>(std::move(key), std::move(blob), trouble.origin);
}

}  // namespace

Result<std::shared_ptr<SigningKey>> parse_private_key(std::string_view text, std::string origin) {
  const Trouble trouble{std::move(origin)};
  const std::size_t start = text.find(openssh_begin);
  if (start == std::string_view::npos) return parse_pem(text, trouble);
  const std::size_t body = start + openssh_begin.size();
  const std::size_t end = text.find(openssh_end, body);
  if (end == std::string_view::npos) return trouble.broken();
  auto bytes = base64_decode(text.substr(body, end - body));
  if (!bytes) return trouble.broken();
  auto key = parse_openssh(*bytes, trouble);
  OPENSSL_cleanse(bytes->data(), bytes->size());
  return key;
}

}  // namespace train
