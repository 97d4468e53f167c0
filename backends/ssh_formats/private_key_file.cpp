// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_formats/private_key_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/posix/files.hpp"
#include "backends/ssh_formats/evp_key.hpp"
#include "backends/ssh_formats/openssl_memory.hpp"
#include "backends/ssh_formats/wire_encoding.hpp"

namespace train {

namespace {

constexpr std::size_t max_key_file = 64u << 10;
constexpr std::string_view openssh_begin = "-----BEGIN OPENSSH PRIVATE KEY-----";
constexpr std::string_view openssh_end = "-----END OPENSSH PRIVATE KEY-----";
constexpr std::string_view openssh_magic{"openssh-key-v1\0", 15};

// Signs, or returns the error of `of`.
Result<std::string> signature_by(EVP_PKEY* key, const SigningKey& of, std::string_view data,
                                 std::string_view algorithm) {
  std::string signature = key == nullptr ? std::string() : sign_with(key, data, algorithm);
  if (signature.empty())
    return fail(ErrorClass::host, fmt::format("{} could not sign with {}", of.origin(), algorithm),
                "try another key");
  return signature;
}

class FileKey final : public SigningKey {
 public:
  FileKey(EvpKey key, std::string public_blob, std::string origin)
      : SigningKey(std::move(public_blob), std::move(origin)), key_(std::move(key)) {}

  Result<std::string> sign(std::string_view data, std::string_view algorithm) override {
    return signature_by(key_.get(), *this, data, algorithm);
  }

 private:
  EvpKey key_;
};

// A key that a passphrase has opened: the file on the disk does not have it in clear text. OpenSSL,
// which wipes its copy, gets it for each signature only.
class OpenedKey final : public SigningKey {
 public:
  using Read = EvpKey (*)(std::string_view kept);
  OpenedKey(LockedBytes kept, Read read, std::string public_blob, std::string origin)
      : SigningKey(std::move(public_blob), std::move(origin)),
        kept_(std::move(kept)),
        read_(read) {}

  Result<std::string> sign(std::string_view data, std::string_view algorithm) override {
    return signature_by(read_(kept_.view()).get(), *this, data, algorithm);
  }

 private:
  LockedBytes kept_;
  Read read_;
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

// Returns the key type of a correctly decrypted section: after a wrong passphrase the two numbers
// at its beginning differ.
std::optional<std::string_view> begin_section(WireReader& section) {
  const auto check = section.number(), check_again = section.number();
  return check && check == check_again ? section.string() : std::nullopt;
}

EvpKey key_of_section(std::string_view bytes) {
  WireReader section(bytes);
  const auto type = begin_section(section);
  return type ? read_private_section(section, *type) : nullptr;
}

using Loaded = Result<std::shared_ptr<SigningKey>>;

// The key of a section; an error when it does not match `blob`.
Result<EvpKey> parse_section(std::string_view bytes, std::string_view blob,
                             const Trouble& trouble) {
  WireReader section(bytes);
  const auto type = begin_section(section);
  if (!type) return trouble.broken();
  if (signature_algorithms(*type).empty()) return trouble.unsupported(*type);
  EvpKey key = read_private_section(section, *type);
  if (!key || public_blob_of(key.get()) != blob) return trouble.broken();
  return key;
}

bool is_opened(std::string_view bytes) {
  WireReader section(bytes);
  const auto check = section.number();
  return check && check == section.number();
}

// The parts of OpenSSH's format (PROTOCOL.key), views into the decoded text.
struct OpensshKey {
  std::string_view cipher, kdf, kdf_options, blob, secrets;
};

std::optional<OpensshKey> read_openssh(std::string_view bytes) {
  if (!bytes.starts_with(openssh_magic)) return std::nullopt;
  WireReader reader(bytes.substr(openssh_magic.size()));
  const auto cipher = reader.string(), kdf = reader.string(), kdf_options = reader.string();
  const auto count = reader.number();
  const auto blob = reader.string(), secrets = reader.string();
  if (!secrets || *count != 1) return std::nullopt;
  return OpensshKey{*cipher, *kdf, *kdf_options, *blob, *secrets};
}

Loaded parse_openssh(std::string_view bytes, const Trouble& trouble, const KeyOpening* opening) {
  const auto key = read_openssh(bytes);
  if (!key) return trouble.broken();
  std::string blob(key->blob);
  if (key->cipher == "none") {
    auto plain = parse_section(key->secrets, key->blob, trouble);
    if (!plain) return tl::make_unexpected(plain.error());
    return std::make_shared<FileKey>(std::move(*plain), std::move(blob), trouble.origin);
  }
  if (!opening || !is_known_cipher(key->cipher)) return trouble.encrypted();
  auto secrets = decrypt_section(key->cipher, key->kdf, key->kdf_options, key->secrets, *opening);
  if (!secrets) return trouble.broken();
  if (!is_opened(secrets->view())) return nullptr;  // a wrong passphrase
  if (const auto parsed = parse_section(secrets->view(), key->blob, trouble); !parsed)
    return tl::make_unexpected(parsed.error());
  return std::make_shared<OpenedKey>(std::move(*secrets), key_of_section, std::move(blob),
                                     trouble.origin);
}

// The decoded text between the marker lines; nothing when the text has another format.
std::optional<std::string> openssh_bytes(std::string_view text) {
  const std::size_t start = text.find(openssh_begin);
  if (start == text.npos) return std::nullopt;
  const std::size_t body = start + openssh_begin.size();
  const std::size_t end = text.find(openssh_end, body);
  return end == text.npos ? std::string()
                          : base64_decode(text.substr(body, end - body)).value_or("");
}

struct PemPassphrase {
  const KeyOpening* opening;
  bool is_asked = false;
};

int give_passphrase(char* buffer, int size, int, void* data) {
  auto& asked = *static_cast<PemPassphrase*>(data);
  asked.is_asked = true;
  if (!asked.opening) return -1;
  const std::string_view text = asked.opening->passphrase.text();
  if (text.size() > static_cast<std::size_t>(size)) return -1;
  return static_cast<int>(text.copy(buffer, text.size()));
}

Loaded parse_pem(std::string_view text, const Trouble& trouble, const KeyOpening* opening) {
  BIO* bio = BIO_new_mem_buf(text.data(), static_cast<int>(text.size()));
  PemPassphrase passphrase{opening};
  EvpKey key(PEM_read_bio_PrivateKey(bio, nullptr, give_passphrase, &passphrase));
  BIO_free(bio);
  ERR_clear_error();
  if (passphrase.is_asked && !opening) return trouble.encrypted();
  if (passphrase.is_asked && !key) return nullptr;
  if (!key) return trouble.broken();
  std::string blob = public_blob_of(key.get());
  if (blob.empty()) {
    const char* name = EVP_PKEY_get0_type_name(key.get());
    return trouble.unsupported(name ? name : "unknown");
  }
  if (!passphrase.is_asked)
    return std::make_shared<FileKey>(std::move(key), std::move(blob), trouble.origin);
  LockedBytes der = der_of(key.get());
  if (der.view().empty()) return trouble.broken();
  return std::make_shared<OpenedKey>(std::move(der), private_key_of_der, std::move(blob),
                                     trouble.origin);
}

struct Wiped {
  std::string text;
  ~Wiped() { OPENSSL_cleanse(text.data(), text.size()); }
};

Descriptor open_to_read(const std::string& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

// Reads into memory that was reserved before, so that no copy remains in freed memory.
bool read_bounded(const Descriptor& file, std::string& text, std::size_t limit) {
  text.resize(limit + 1);
  const ssize_t size = read_whole(file.get(), text.data(), text.size());
  if (size < 0) return false;
  text.resize(static_cast<std::size_t>(size));
  return text.size() <= limit;
}

}  // namespace

Loaded parse_private_key(std::string_view text, std::string origin, const KeyOpening* opening) {
  const Trouble trouble{std::move(origin)};
  auto bytes = openssh_bytes(text);
  if (!bytes) return parse_pem(text, trouble, opening);
  auto key = parse_openssh(*bytes, trouble, opening);
  OPENSSL_cleanse(bytes->data(), bytes->size());
  return key;
}

std::optional<std::string> blob_of_encrypted_key(std::string_view text) {
  auto bytes = openssh_bytes(text);
  if (!bytes) {
    if (text.find("ENCRYPTED") == text.npos) return std::nullopt;
    return std::string();
  }
  std::optional<std::string> blob;
  if (const auto key = read_openssh(*bytes); key && is_known_cipher(key->cipher))
    blob = std::string(key->blob);
  OPENSSL_cleanse(bytes->data(), bytes->size());  // a key that is not encrypted
  return blob;
}

Result<std::shared_ptr<SigningKey>> load_private_key(const std::string& path, std::string origin,
                                                     const KeyOpening* opening) {
  const auto trouble = [&origin](std::string_view what, std::string hint) {
    return fail(ErrorClass::host, fmt::format("{} {}", origin, what), std::move(hint));
  };
  if (!openssl_frees_zeros())
    return fail(ErrorClass::bug, "OpenSSL has taken memory before it was told how to free it");
  const Descriptor file = open_to_read(path);
  if (!file)
    return trouble(fmt::format("cannot be read: {}", system_reason(errno)),
                   "name a private key that this user can read");
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return trouble("is not a file", "name a private key file");
  if (status.st_uid == ::getuid() && (status.st_mode & 077) != 0)
    return trouble("can be read by other users", "protect it: chmod 600 " + path);
  Wiped bytes;
  if (!read_bounded(file, bytes.text, max_key_file))
    return trouble("is not a private key", "name a private key file");
  return parse_private_key(bytes.text, std::move(origin), opening);
}

std::optional<std::string> load_blob_of_encrypted_key(const std::string& path) {
  const Descriptor file = open_to_read(path);
  if (!file) return std::nullopt;
  Wiped bytes;
  if (!read_bounded(file, bytes.text, max_key_file)) return std::nullopt;
  return blob_of_encrypted_key(bytes.text);
}

std::string load_public_blob(const std::string& path) {
  const Descriptor file = open_to_read(path);
  if (!file) return {};
  Wiped bytes;  // it may be a private key nevertheless
  if (!read_bounded(file, bytes.text, max_key_file)) return {};
  const std::string& text = bytes.text;
  const std::size_t start = text.find(' ');
  if (start == std::string::npos) return {};
  const std::size_t end = text.find_first_of(" \r\n", start + 1);
  auto blob = base64_decode(std::string_view(text).substr(start + 1, end - start - 1));
  return blob && key_type(*blob) == std::string_view(text).substr(0, start) ? *blob : "";
}

}  // namespace train
